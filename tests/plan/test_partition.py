"""Rows cut into parts: as few as can be and the largest as small as can be, against trying everything."""

from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from dsec.core.partition import balanced, fewest

ROWS = st.lists(st.integers(0, 9), min_size=1, max_size=7)
ROOMS = st.lists(st.integers(0, 20), min_size=1, max_size=4)


def parts_of(sizes, ends):
    return [sum(sizes[start:end]) for start, end in zip((0, *ends), ends, strict=False)]


def housed(parts, rooms):
    """Whether every part can have a room of its own."""
    return any(
        all(part <= room for part, room in zip(parts, some, strict=True))
        for some in permutations(rooms, len(parts))
    )


def every_cut(sizes, parts):
    last = len(sizes)
    return [(*inner, last) for inner in combinations(range(1, last), parts - 1)]


def best_by_trying(sizes, rooms, parts):
    """The least largest part over all cuts into at most so many parts that the rooms take."""
    return min(
        (
            max(parts_of(sizes, ends))
            for count in range(1, min(parts, len(sizes), len(rooms)) + 1)
            for ends in every_cut(sizes, count)
            if housed(parts_of(sizes, ends), rooms)
        ),
        default=None,
    )


def fewest_by_trying(sizes, rooms):
    for count in range(1, min(len(sizes), len(rooms)) + 1):
        if any(housed(parts_of(sizes, ends), rooms) for ends in every_cut(sizes, count)):
            return count
    return None


@given(ROWS, ROOMS)
def test_the_fewest_parts_are_found(sizes, rooms):
    assert fewest(sizes, rooms) == fewest_by_trying(sizes, rooms)


@given(ROWS, ROOMS, st.integers(1, 4))
def test_the_largest_part_is_as_small_as_any_cut_has_it(sizes, rooms, parts):
    found = balanced(sizes, rooms, parts)
    if parts > min(len(sizes), len(rooms)):
        assert found is None
        return
    best = best_by_trying(sizes, rooms, parts)
    assert (found is None) == (best is None)
    if found is not None:
        assert max(parts_of(sizes, found)) == best
        assert housed(parts_of(sizes, found), rooms)
        assert list(found) == sorted(set(found))
        assert found[0] > 0
        assert found[-1] == len(sizes)
        assert len(found) <= parts


@given(ROWS, ROOMS)
def test_as_few_parts_as_can_be_are_all_used(sizes, rooms):
    parts = fewest(sizes, rooms)
    if parts is not None:
        found = balanced(sizes, rooms, parts)
        assert found is not None
        assert len(found) == parts


@given(ROWS, st.integers(0, 30), st.integers(1, 4))
def test_equal_rooms_are_all_used(sizes, room, parts):
    found = balanced(sizes, [room] * parts, parts)
    if found is not None:
        assert len(found) == parts


def test_parts_are_much_alike():
    assert balanced([1] * 11, [10] * 4, 2) == (6, 11)
    assert balanced([1] * 10, [10] * 4, 4) == (3, 6, 8, 10)
    assert balanced([3, 3, 3], [5, 9, 2], 2) == (2, 3)


def test_rooms_may_be_taken_in_any_order():
    """The small room must come first here: the last size fits only the large one."""
    assert balanced([4, 4, 9], [9, 8], 2) == (2, 3)
    assert balanced([9, 4, 4], [9, 8], 2) == (1, 3)


def test_a_room_that_takes_nothing_that_is_left_has_no_part():
    assert balanced([5, 5, 1], [10, 3, 3], 3) == (2, 3)


def test_many_sizes_and_rooms_of_several_kinds_take_no_time():
    sizes = [7 + at % 5 for at in range(3000)]
    found = balanced(sizes, [4000] * 4 + [3000] * 4 + [2500] * 2, 9)
    assert found is not None
    assert max(parts_of(sizes, found)) <= 4000


def test_rooms_of_very_many_sizes_are_filled_in_order():
    rooms = [100 + at for at in range(30)]
    sizes = [10] * 250
    parts = fewest(sizes, rooms)
    found = balanced(sizes, rooms, parts)
    assert parts == 22, "ten rooms take 12 of them, ten take 11, and two more the last 20"
    assert housed_in_order(parts_of(sizes, found), sorted(rooms, reverse=True))


def housed_in_order(parts, rooms):
    return all(part <= room for part, room in zip(parts, rooms, strict=False))
