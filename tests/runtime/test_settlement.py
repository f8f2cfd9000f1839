"""Who held what, what it cost, and when a run is ended for it: sums agree with the journal."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.budget import WHOLE, judge, progress
from dsec.core.holdings import Covered, HeldTime, Holding, Holdings, shares, spans
from dsec.core.settlement import HOUR_US, Own, Prices, Reading, Tier, settle
from dsec.events import Exit, RunStart, Spawn, WorkerStart, WorkerStop
from dsec.plan import Budget

DEVICES = ("A", "B", "C")
EURO = 1_000_000
PRICES = Prices("EUR", {"h100": 4 * EURO, "": 2 * EURO}, EURO // 10, ())


def started(at=0, session=1, wall_ms=1_000_000):
    return RunStart(at, session, 1, 1, "boot", wall_ms, False)


def spawn(at, step, devices=(), *, iteration=0, worker=""):
    return Spawn(at, step, iteration, 1, 7, 0, 0, devices, "logs/x", worker)


def end(at, step, *, iteration=0, cause="ok"):
    return Exit(at, step, iteration, 1, cause, 0, None, "", 1, None, None, None, None, None)


def worker(at, devices=("A",)):
    return WorkerStart(at, "w", 9, 0, 0, devices, "logs/w")


def stopped(at):
    return WorkerStop(at, "w", 9, 0, None, "done", None, None)


def folded(*events):
    found = Holdings()
    for event in events:
        found.take(event)
    return found


def cells(holdings):
    return {(step or worker, device): amount for ((step, worker), device), amount in shares(holdings).items()}


def test_a_step_holds_from_spawn_to_exit_and_a_worker_all_its_life():
    found = folded(
        started(),
        spawn(10, "train", ("A", "B")),
        end(40, "train"),
        worker(50),
        spawn(60, "S5", ("A",), worker="w"),
        end(80, "S5"),
        spawn(90, "cpu"),
        stopped(100),
    )
    assert cells(found.all()) == {("train", "A"): 30, ("train", "B"): 30, ("w", "A"): 30, ("S5", "A"): 20}


def test_what_goes_on_is_held_until_now_or_until_the_last_event():
    found = folded(started(), spawn(10, "train", ("A",)), worker(20, ("B",)))
    assert cells(found.all()) == {("train", "A"): 10}
    assert cells(found.all(70)) == {("train", "A"): 60, ("w", "B"): 50}


def test_a_killed_executor_leaves_nothing_held_and_sessions_follow_each_other():
    found = folded(
        started(),
        spawn(10, "train", ("A",)),
        worker(20, ("B",)),
        spawn(50, "cpu"),
        started(0, 2, 1_000_500),  # half a second later
        spawn(5, "train", ("A",)),
        end(25, "train"),
    )
    assert cells(found.all()) == {("train", "A"): 40 + 20, ("w", "B"): 30}
    assert found.time(25) == 500_025 == found.last_us


def test_a_calendar_set_back_makes_no_session_begin_before_the_last_one_ended():
    found = folded(started(), spawn(90, "a", ("A",)), end(100, "a"), started(0, 2, 1), spawn(1, "b", ("A",)))
    assert cells(found.all(200)) == {("a", "A"): 10, ("b", "A"): 99}


def test_a_shared_device_is_split_evenly_and_nothing_is_lost():
    two = [Holding("a", "", ("A",), 0, 10), Holding("b", "", ("A",), 5, 12)]
    assert cells(two) == {("a", "A"): 5 + 3, ("b", "A"): 2 + 2}
    assert spans(two) == {"A": [(0, 12)]}


holding = st.builds(
    lambda step, devices, begin, length: Holding(step, "" if step else "w", devices, begin, begin + length),
    st.sampled_from(("a", "b", "c", "")),
    st.lists(st.sampled_from(DEVICES), unique=True, max_size=3).map(tuple),
    st.integers(0, 40),
    st.integers(0, 20),
)


@given(st.lists(holding, max_size=12))
def test_shares_are_what_counting_every_tick_gives(holdings):
    """Each tick of a device is divided among those that hold it; in all, each held tick counts once."""
    found = shares(holdings)
    for device in DEVICES:
        ticks = {
            tick: [one for one in holdings if device in one.devices and one.from_us <= tick < one.to_us]
            for tick in range(60)
        }
        held = sum(bool(some) for some in ticks.values())
        assert sum(amount for (_, other), amount in found.items() if other == device) == held
        assert sum(high - low for low, high in spans(holdings).get(device, ())) == held
        for owner in {(one.step, one.worker) for one in holdings}:
            fair = sum(
                sum((one.step, one.worker) == owner for one in some) / len(some)
                for some in ticks.values()
                if some
            )
            assert abs(found.get((owner, device), 0) - fair) < 2 * len(holdings) + 1


@st.composite
def journals(draw):
    """Steps begin and end on devices, in any order, over up to three sessions."""
    events, clock, wall, open_, serial = [], 0, 1_000_000, [], 0
    for session in range(1, draw(st.integers(1, 3)) + 1):
        clock, open_ = 0, []
        events.append(started(0, session, wall))
        for _ in range(draw(st.integers(0, 10))):
            clock += draw(st.integers(0, 9))
            if open_ and draw(st.booleans()):
                events.append(end(clock, *[open_.pop(draw(st.integers(0, len(open_) - 1)))]))
            else:
                serial += 1
                devices = tuple(draw(st.lists(st.sampled_from(DEVICES), unique=True, max_size=3)))
                events.append(spawn(clock, f"s{serial}", devices))
                open_.append(f"s{serial}")
        wall += draw(st.integers(-5, 5))
    return events


@given(journals(), st.integers(0, 3))
def test_the_account_agrees_with_the_journal(events, price):
    """By Step, by device and in all it is the device time between spawns and exits."""
    found = folded(*events)
    holdings = found.all()
    account = settle(
        holdings, kinds={"A": "h100"}, budget=None, prices=Prices("EUR", {"": price * EURO}, None, ())
    )
    assert account.used_us == sum(high - low for parts in spans(holdings).values() for low, high in parts)
    assert account.used_us == sum(cell.held_us for cell in account.cells)
    assert account.cost == sum(cell.cost for cell in account.cells)
    assert abs(account.cost - account.used_us * price * EURO / HOUR_US) <= len(account.cells)
    begun = {event.step for event in events if isinstance(event, Spawn) and event.devices}
    assert {cell.step for cell in account.cells} <= begun


def held(hours, *, device="A", step="train"):
    return Holding(step, "" if step else "w", (device,), 0, round(hours * HOUR_US))


def account(*holdings, least=None, most=None, prices=PRICES, **more):
    hours = [None if bound is None else bound * 3_600_000 for bound in (least, most)]
    budget = None if least is most is None else Budget(*hours)
    return settle(holdings, kinds={"A": "h100", "B": "a100"}, budget=budget, prices=prices, **more)


def test_types_have_their_prices():
    found = account(held(2), held(1, device="B"))
    assert (found.cost, found.surcharge, found.shortfall, found.bill) == (10 * EURO, 0, 0, 10 * EURO)
    assert [cell.cost for cell in found.cells] == [8 * EURO, 2 * EURO]


def test_what_has_no_price_has_no_cost_and_neither_has_the_whole():
    only = PRICES._replace(gpu={"h100": EURO})
    found = account(held(1), held(1, device="B"), prices=only)
    assert [cell.cost for cell in found.cells] == [EURO, None]
    assert (found.cost, found.bill, found.used_us) == (None, None, 2 * HOUR_US)
    bare = account(held(1), most=1, prices=None)
    assert (bare.cost, bare.surcharge, bare.bill, bare.currency) == (None, None, None, "")


@pytest.mark.parametrize(
    ("used", "over"),
    [
        (10, 0),
        (11, 4 * EURO // 2),  # one hour at one and a half
        (14, 2.5 * 4 * EURO // 2 + 1.5 * 4 * EURO * 2),  # 2.5 hours at 1.5, 1.5 hours at 3
    ],
)
def test_each_tier_adds_its_own(used, over):
    tiers = PRICES._replace(tiers=(Tier(0, 1500), Tier(250, 3000)))
    found = account(held(used), most=10, prices=tiers)
    assert found.surcharge == over
    assert found.bill == found.cost + found.surcharge
    assert found.over_us == (used - 10) * HOUR_US


def test_less_than_the_least_is_charged_up_to_it():
    found = account(held(1), held(1, device="B"), least=8)
    assert (found.short_us, found.shortfall) == (6 * HOUR_US, 6 * 3 * EURO)  # at the mean of 4 and 2
    nothing = account(least=8)
    assert (nothing.used_us, nothing.cost, nothing.shortfall) == (0, 0, 16 * EURO)
    unknown = account(least=8, prices=PRICES._replace(gpu={"h100": EURO}))
    assert (unknown.shortfall, unknown.bill) == (None, None)


def test_hidden_cost_is_what_workers_held_for_nothing_and_our_own_processors():
    found = account(held(1), held(2, device="B", step=""), own=Own(36_000_000, 36_000_000))
    assert (found.between_us, found.between_cost) == (2 * HOUR_US, 4 * EURO)
    assert found.own_cost == 2000  # 0.02 hours at 0.1
    assert account(held(1), own=Own(36_000_000, None)).own_cost is None
    assert account(held(1)).own_cost is None


def test_opportunity_is_the_idle_share_of_what_was_held():
    minute = 60_000_000
    told = [Reading(at * minute, "A", busy) for at, busy in ((1, 1000), (2, 250), (3, None), (4, 0))]
    found = account(Holding("train", "", ("A",), 0, 2 * minute), readings=told)
    assert found.idle == (2 * minute, 45_000_000, 4 * EURO * 45 // 3600)
    assert account(held(1)).idle is None
    assert account(held(1), readings=[Reading(minute, "A", None)]).idle is None
    assert account(held(1), readings=[Reading(minute, "B", 0)]).idle is None


def test_a_reading_does_not_speak_for_long_ago():
    found = account(held(1), readings=[Reading(HOUR_US, "A", 0)])
    assert found.idle.measured_us == 90_000_000


@given(
    st.lists(holding, max_size=6),
    st.lists(st.builds(Reading, st.integers(0, 80), st.sampled_from(DEVICES), st.integers(0, 1000))),
)
def test_nothing_is_idle_that_was_not_held(holdings, readings):
    found = settle(holdings, kinds={}, budget=None, prices=None, readings=readings)
    if found.idle is not None:
        assert 0 <= found.idle.idle_us <= found.idle.measured_us <= found.used_us


@pytest.mark.parametrize(
    ("used", "done", "word"),
    [
        (500, 100_000, "fine"),
        (800, 900_000, "fine"),
        (800, 790_000, "warn"),
        (800, None, "fine"),
        (1000, 990_000, "nearly"),
        (1000, 960_000, "nearly"),
        (1000, 900_000, "stop"),
        (1050, 999_000, "stop"),
        (1049, 1_000_000, "nearly"),
        (1000, None, "unknown"),
        (5000, None, "unknown"),
        (1000, 0, "unknown"),
    ],
)
def test_a_run_is_ended_by_its_progress(used, done, word):
    assert judge(used, 1000, done).word == word


@given(st.integers(1, 10**15), st.integers(0, 2 * 10**15), st.none() | st.integers(0, WHOLE))
def test_nothing_ends_within_its_budget_and_more_progress_never_harms(most, used, done):
    word = judge(used, most, done).word
    assert used >= most or word in ("fine", "warn")
    if done is not None and done < WHOLE and word in ("fine", "nearly"):
        assert judge(used, most, min(WHOLE, done + 1)).word in ("fine", "nearly")


def test_progress_is_weighed_by_estimates_and_by_what_steps_say(make_plan):
    plan = make_plan({"long": 9000, "short": 1000}, rounds=2)
    assert progress(plan, [], {}) is None
    assert progress(plan, [("short", 0)], {}) == 50_000
    assert progress(plan, [("short", 0)], {("long", 0): WHOLE // 2}) == 275_000
    assert progress(plan, [(step, at) for step in ("long", "short") for at in (0, 1)], {}) == WHOLE
    assert progress(plan, [], {("long", 0): 5 * WHOLE}) == 450_000


@pytest.fixture
def make_plan():
    """A plan of Steps with estimates; only what progress looks at is there."""

    class Some:
        def __init__(self, **values):
            self.__dict__.update(values)

    return lambda estimates, rounds: Some(
        steps=[Some(id=name, estimate_ms=ms) for name, ms in estimates.items()],
        iterations=Some(count=rounds),
    )


@given(journals(), st.integers(0, 30))
def test_held_time_is_the_same_whether_it_is_kept_or_counted(events, later):
    found = Holdings()
    kept = HeldTime(found)
    for event in events:
        found.take(event)
        kept.until(found.last_us)
    now = found.last_us + later
    assert kept.until(now) == sum(
        high - low for parts in spans(found.all(now)).values() for low, high in parts
    )


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9))))
def test_what_is_covered_is_a_set_of_ticks(parts):
    covered = Covered()
    for begin, length in parts:
        covered.add(begin, begin + length)
    ticks = {tick for begin, length in parts for tick in range(begin, begin + length)}
    assert covered.total == len(ticks)
    assert {tick for low, high in covered.parts for tick in range(low, high)} == ticks
    assert all(one[1] < two[0] for one, two in pairwise(covered.parts))
