"""The triggers of elasticity, hunger and device health: exactly when, with time as an argument."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.elasticity import IN_A_ROW, LOW_US, Bounds, Elasticity
from dsec.core.health import COOL_US, HOT_C, HOT_LOOKS, MISSED_LOOKS, Health, Measured
from dsec.core.hunger import HUNGRY, LONG_US, Appetite, Hunger, hunger
from dsec.core.starting import Size, elastic_pool

GIB = 1 << 30
SEED = Bounds(least=1, base=2, most=4, high_bytes=32 * GIB, low_bytes=20 * GIB)


def _after(peaks, bounds=SEED, pool=2):
    sizes = Elasticity({0: bounds}, pool)
    return [change.size for peak in peaks if (change := sizes.executed(0, peak)) is not None]


def test_five_in_a_row_above_the_mark_bring_one_more():
    above = 33 * GIB
    assert _after([above] * 4) == []
    assert _after([above] * 5) == [Size(3, 4)]
    assert _after([above] * 4 + [32 * GIB] + [above] * 4) == [], "at the mark is not above it"
    assert _after([above] * 4 + [None] + [above]) == [Size(3, 4)], "what is not known breaks no row"
    assert _after([above] * 10) == [Size(3, 4), Size(4, 4)]
    assert _after([above] * 50) == [Size(3, 4), Size(4, 4)], "never beyond max_count"


def test_never_more_than_the_pool():
    assert elastic_pool(8) == 2
    assert _after([33 * GIB] * 50, pool=1) == [Size(3, 4)]
    both = Elasticity({0: SEED, 1: SEED}, 1)
    for _ in range(IN_A_ROW):
        both.executed(0, 40 * GIB)
    assert [both.executed(1, 40 * GIB) for _ in range(IN_A_ROW)] == [None] * IN_A_ROW


def test_ten_minutes_below_the_mark_give_one_back():
    sizes = Elasticity({0: SEED}, 2)
    assert sizes.held(0, 0, 19 * GIB, 3) is None
    assert sizes.held(0, LOW_US - 1, 19 * GIB, 3) is None
    change = sizes.held(0, LOW_US, 19 * GIB, 3)
    assert change.size == Size(2, 2)
    assert sizes.held(0, LOW_US + 1, 19 * GIB, 3) is None, "one, not one each second"


def test_a_moment_at_the_mark_begins_the_ten_minutes_anew():
    sizes = Elasticity({0: SEED}, 2)
    sizes.held(0, 0, 19 * GIB, 3)
    sizes.held(0, LOW_US // 2, 20 * GIB, 3)
    assert sizes.held(0, LOW_US, 19 * GIB, 3) is None
    assert sizes.held(0, 2 * LOW_US, 19 * GIB, 3) is not None
    assert sizes.held(0, 4 * LOW_US, 19 * GIB, 1) is None, "never below min_count"


@given(st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(0, 50 * GIB)), max_size=120))
def test_sizes_stay_within_bounds_and_pool(history):
    bounds = {0: SEED, 1: SEED._replace(most=8), 2: SEED._replace(base=1, most=2)}
    sizes, current = Elasticity(bounds, 2), {at: one.base for at, one in bounds.items()}
    for now, (at, amount) in enumerate(history):
        for change in (sizes.executed(at, amount), sizes.held(at, now * LOW_US // 4, amount, current[at])):
            if change is not None:
                current[change.at] = change.size.firm
        assert all(bounds[at].least <= firm <= bounds[at].most for at, firm in current.items())
        assert sum(max(0, firm - bounds[at].base) for at, firm in current.items()) <= 2


def test_hunger_of_one_who_waits_alone_and_of_one_who_has_all():
    assert hunger(Appetite(waiting=1, running=0, needs=3, needs_done=3, asked=2, granted=0)) == 1000
    assert hunger(Appetite(waiting=0, running=1, needs=3, needs_done=3, asked=2, granted=2)) == 0
    assert hunger(Appetite(waiting=1, running=1, needs=0, needs_done=0, asked=2, granted=1)) == 500


counts = st.integers(0, 1000)


@given(counts, counts, counts, counts, counts, counts)
def test_hunger_lies_between_0_and_1_and_grows_with_what_is_missing(
    waiting, running, needs, done, asked, got
):
    one = Appetite(waiting, running, needs, min(done, needs), asked, min(got, asked))
    assert 0 <= hunger(one) <= 1000
    assert hunger(one._replace(granted=0)) >= hunger(one)
    assert hunger(one._replace(waiting=waiting + 1)) >= hunger(one)
    assert hunger(one._replace(needs_done=one.needs)) >= hunger(one)


def test_three_minutes_above_the_mark_without_a_break():
    eager = Hunger()
    assert eager.look(0, {7: HUNGRY + 1, 8: HUNGRY}) == []
    assert eager.look(LONG_US - 1, {7: HUNGRY + 1, 8: HUNGRY}) == []
    assert eager.look(LONG_US, {7: HUNGRY + 1, 8: HUNGRY}) == [7]
    eager.look(LONG_US + 1, {})
    assert eager.look(LONG_US + 2, {7: 1000}) == []


def _device(name, celsius=40, state="ok", reason="", ecc=0):
    return Measured(name, state, reason, celsius, ecc)


def _box(**other):
    return [other.get(f"g{at}", _device(f"g{at}")) for at in range(8)]


def _states(health, start, looks, readings):
    return [
        (one.device, one.state)
        for at in range(looks)
        for one in health.look(start + at * 1_000_000, readings)
    ]


def test_gpu_3_of_8_lost_leaves_seven():
    health = Health()
    assert _states(health, 0, 5, _box()) == []
    assert _states(health, 10**7, 5, _box(g3=_device("g3", None, "lost", "fell off the bus", None))) == [
        ("g3", "lost")
    ]
    assert _states(health, 2 * 10**7, 5, _box()) == [], "what was lost does not become well by itself"


def test_a_device_that_is_not_listed_any_more_is_lost():
    health = Health()
    _states(health, 0, 1, _box())
    rest = [one for one in _box() if one.uuid != "g3"]
    assert _states(health, 10**6, MISSED_LOOKS - 1, rest) == []
    assert _states(health, 10**7, 1, rest) == [("g3", "lost")]


def test_a_driver_that_does_not_answer_condemns_nobody():
    health = Health()
    _states(health, 0, 1, _box())
    assert _states(health, 10**6, 50, []) == []
    unknown = [_device(f"g{at}", None, "unknown", "answers nothing", None) for at in range(8)]
    assert _states(health, 10**8, 50, unknown) == []


def test_too_hot_and_cool_again():
    health = Health()
    assert _states(health, 0, 10, _box(g1=_device("g1", HOT_C))) == [], "at the mark is not over it"
    hot = _box(g1=_device("g1", HOT_C + 1))
    assert _states(health, 10**7, HOT_LOOKS - 1, hot) == []
    assert _states(health, 2 * 10**7, 1, hot) == [("g1", "hot")]
    assert _states(health, 3 * 10**7, COOL_US // 10**6, _box()) == []
    assert _states(health, 3 * 10**7 + COOL_US, 1, _box()) == [("g1", "ok")]


@pytest.mark.parametrize(
    ("xid", "state"), [(79, "lost"), (48, "failing"), (13, None), (31, None), (94, None)]
)
def test_an_error_of_the_driver(xid, state):
    found = Health().look(0, _box(), [("g2", xid)])
    assert [one.state for one in found] == ([state] if state else [])


def test_new_memory_errors_count_and_old_ones_do_not():
    health = Health()
    assert _states(health, 0, 3, _box(g4=_device("g4", ecc=7))) == []
    assert _states(health, 10**7, 3, _box(g4=_device("g4", ecc=8))) == [("g4", "failing")]
    assert _states(health, 2 * 10**7, 1, _box(g4=_device("g4", 99, "lost", "", None))) == [("g4", "lost")]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 99), st.sampled_from("okl")), max_size=3))
)
def test_each_device_is_judged_by_its_own_readings(looks):
    words = {"o": "ok", "k": "unknown", "l": "lost"}
    health, touched = Health(), set()
    for at, look in enumerate(looks):
        box = {f"g{one}": _device(f"g{one}") for one in range(3)}
        for one, celsius, state in look:
            box[f"g{one}"] = _device(f"g{one}", celsius, words[state])
            if celsius > HOT_C or state == "l":
                touched.add(f"g{one}")
        found = health.look(at * 10**6, list(box.values()))
        assert {one.device for one in found} <= touched
        assert all(a.device != b.device for a, b in itertools.combinations(found, 2))
