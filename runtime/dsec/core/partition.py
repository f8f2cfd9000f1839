"""A row of sizes cut into consecutive parts, each of which has a room of its own.

Exact: parts are as few as can be, and of all ways to cut a row into that many parts, the one whose
largest part is smallest is found, whichever part gets which room. Only where rooms are of very many
sizes, more than any machine has, they are filled from the largest to the smallest.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from math import prod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 2_000
"""Ways to have used some of each size of room that are gone through."""

Row = tuple[int, ...]
"""Prefix sums of the sizes, from 0."""


def fewest(sizes: Sequence[int], rooms: Sequence[int]) -> int | None:
    """How many parts the row needs at least, each within a room; None: the rooms do not do."""
    row = _row(sizes)
    largest_first = sorted(rooms, reverse=True)
    low, high = 1, min(len(sizes), len(rooms)) + 1
    while low < high:  # one more room never hurts
        middle = (low + high) // 2
        if _filled(row, largest_first[:middle]) is None:
            low = middle + 1
        else:
            high = middle
    return low if low <= min(len(sizes), len(rooms)) else None


def balanced(sizes: Sequence[int], rooms: Sequence[int], parts: int) -> tuple[int, ...] | None:
    """Where each of at most `parts` parts ends, the largest as small as can be; None: it cannot be done.

    Of cuts that are equally good in this, one is taken in which the parts are much alike. No part is
    empty: there are fewer where a room is too small for what would be left to it. The largest rooms
    are taken, as nothing fits a smaller one better.
    """
    if not 1 <= parts <= min(len(sizes), len(rooms)):
        return None
    row, room = _row(sizes), sorted(rooms, reverse=True)[:parts]
    if _filled(row, room) is None:
        return None
    low, high = max(max(sizes), -(-row[-1] // parts)), min(room[0], row[-1])
    while low < high:
        middle = (low + high) // 2
        if _filled(row, [min(middle, one) for one in room]) is None:
            low = middle + 1
        else:
            high = middle
    order = _filled(row, [min(low, one) for one in room])
    if order is None:
        raise AssertionError("what fits the rooms fits them at the bound that was found")
    return _evened(row, order)


def _row(sizes: Sequence[int]) -> Row:
    return (0, *accumulate(sizes))


def _reach(row: Row, start: int, room: int) -> int:
    """How far a part that begins at `start` can go."""
    return bisect_right(row, row[start] + room) - 1


def _filled(row: Row, rooms: Sequence[int]) -> list[int] | None:
    """The rooms in an order in which greedy parts cover the whole row; None: there is none.

    Rooms of one size are alike, so what counts is how many of each were used: the farthest that any
    order of these can get. Rooms that were not needed come last.
    """
    kinds = sorted(set(rooms), reverse=True)
    have = tuple(rooms.count(kind) for kind in kinds)
    if prod(count + 1 for count in have) > _MOST:
        return _in_order(row, sorted(rooms, reverse=True))
    farthest: dict[Row, tuple[int, Row]] = {(0,) * len(kinds): (0, ())}
    end = len(row) - 1
    for _ in range(len(rooms)):
        following: dict[Row, tuple[int, Row]] = {}
        for used, (reached, order) in farthest.items():
            if reached == end:
                return _with_rest([kinds[at] for at in order], rooms)
            for at, kind in enumerate(kinds):
                if used[at] < have[at]:
                    after = (*used[:at], used[at] + 1, *used[at + 1 :])
                    step = (_reach(row, reached, kind), (*order, at))
                    if after not in following or step[0] > following[after][0]:
                        following[after] = step
        farthest = following
    for reached, order in farthest.values():
        if reached == end:
            return [kinds[at] for at in order]
    return None


def _in_order(row: Row, rooms: list[int]) -> list[int] | None:
    reached = 0
    for room in rooms:
        reached = _reach(row, reached, room)
    return rooms if reached == len(row) - 1 else None


def _with_rest(order: list[int], rooms: Sequence[int]) -> list[int]:
    rest = list(rooms)
    for one in order:
        rest.remove(one)
    return [*order, *rest]


def _evened(row: Row, rooms: Sequence[int]) -> tuple[int, ...]:
    """Ends of the parts in these rooms, each part as near to an equal share of what is left as may be."""
    parts, end = len(rooms), len(row) - 1
    latest = [end] * (parts + 1)
    """Per part, the earliest start from which it and those behind it still cover the row."""
    for at in range(parts - 1, -1, -1):
        start = latest[at + 1]
        while start > 0 and row[latest[at + 1]] - row[start - 1] <= rooms[at]:
            start -= 1
        latest[at] = start
    ends: list[int] = []
    start = 0
    for at, room in enumerate(rooms):
        behind, reach = parts - at - 1, _reach(row, start, room)
        lowest = min(max(latest[at + 1], start + 1), reach)
        highest = max(min(reach, end - behind), lowest)
        share = row[start] - (row[start] - row[-1]) // (behind + 1)  # rounded up
        start = _nearest(row, share, lowest=lowest, highest=highest)
        ends.append(start)
    return tuple(sorted(set(ends) - {0}))


def _nearest(row: Row, total: int, *, lowest: int, highest: int) -> int:
    """The end from `lowest` to `highest` whose prefix sum is nearest to `total`; the earlier on a tie."""
    at = min(max(bisect_right(row, total) - 1, lowest), highest)
    if at < highest and abs(row[at + 1] - total) < abs(row[at] - total):
        return at + 1
    return at
