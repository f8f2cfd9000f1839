"""What a run asks the broker for: no more than it could start on, in groups that would do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.asking import MOST, Asking, Want
from dsec.core.leases import Ledger
from dsec.inventory import Device, Inventory
from dsec.plan import Demand, Terms

GIB = 2**30
NAMES = tuple(f"g{at}" for at in range(8))


def device(at: int) -> Device:
    """One of two groups of four that NVLink joins."""
    group = range(at // 4 * 4, at // 4 * 4 + 4)
    links = tuple((f"g{other}", "NV12") for other in group if other != at)
    return Device(f"g{at}", at, "H100", "h100-sxm-80gb", 80 * GIB, None, at // 4, None, links, 1000, "ok")


BOX = Inventory("nvml", 8000, 64 * GIB, None, None, tuple(map(device, range(8))), ())


def demand(gpus: int = 1, *, cpu_m: int = 0, gib: int = 0, **terms: object) -> Demand:
    return Demand(cpu_m, 0, gpus, gib * GIB, (), 0, 0, Terms(**terms) if terms else None)  # type: ignore[arg-type]


def want(one: Demand, many: int = 1, planned: tuple[str, ...] = ()) -> Want:
    return Want(0, one, many, planned, 5, 0, urgent=False)


@pytest.fixture
def ledger() -> Ledger:
    """Of a run that has nothing at present."""
    made = Ledger(BOX)
    made.withhold(NAMES)
    return made


def ask(ledger: Ledger, *wants: Want):
    return Asking(BOX).requests(wants, ledger)


def test_any_gpu_of_the_type_will_do_the_planned_one_first(ledger):
    (one,) = ask(ledger, want(demand(), planned=("g3",)))
    assert (one.many, one.since_us) == (1, 5)
    assert one.sets == (("g3", "g0", "g1", "g2", "g4", "g5", "g6", "g7"),)


def test_several_are_better_had_from_one_group_and_strictly_only_from_one(ledger):
    (loose,) = ask(ledger, want(demand(2)))
    assert loose.sets[:2] == (NAMES[:4], NAMES[4:])
    assert set(loose.sets[-1]) == set(NAMES)
    (strict,) = ask(ledger, want(demand(2, within="nvlink", strict=True)))
    assert strict.sets == (NAMES[:4], NAMES[4:])
    (wide,) = ask(ledger, want(demand(5)))
    assert wide.sets == (NAMES,)


def test_what_packs_onto_one_gpu_asks_for_it_once(ledger):
    found = ask(ledger, want(demand(gib=20), 40))
    assert len(found) == 8, "an idle GPU is taken before a shared one"
    ledger.allow(["g0"])
    held = ledger.grant(demand(gib=20))
    assert held is not None
    assert len(ask(ledger, want(demand(gib=20), 40))) == 7


def test_what_waits_for_processors_asks_for_no_gpu(ledger):
    assert len(ask(ledger, want(demand(cpu_m=3000), 8))) == 2
    ledger.grant(Demand(8000, 0, 0, 0, (), 0, 0))
    assert ask(ledger, want(demand(cpu_m=3000))) == []


def test_what_does_not_fit_beside_ones_own_steps_asks_all_the_same(ledger):
    ledger.allow(["g0"])
    assert ledger.grant(demand()) is not None
    (all_of_them,) = ask(ledger, want(demand(8), 3))
    assert (all_of_them.many, set(all_of_them.sets[0])) == (8, set(NAMES))


def test_what_the_machine_lacks_is_not_asked_for(ledger):
    assert ask(ledger, want(demand(9)), want(demand(gib=90))) == []
    ledger.lose("g7")
    assert ask(ledger, want(demand(8))) == []
    (one,) = ask(ledger, want(demand(7)))
    assert "g7" not in one.sets[-1]


_DEMANDS = st.builds(
    demand,
    st.integers(1, 9),
    cpu_m=st.integers(0, 5000),
    gib=st.sampled_from((0, 20, 50, 90)),
    within=st.sampled_from(("", "nvlink", "numa")),
    strict=st.booleans(),
)


@given(
    st.lists(st.tuples(_DEMANDS, st.integers(1, 50)), max_size=6),
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from(NAMES)),
)
def test_each_request_can_be_met_by_devices_that_work(wants, mine, lost):
    ledger = Ledger(BOX)
    ledger.withhold(set(NAMES) - mine)
    for uuid in lost:
        ledger.lose(uuid)
    before = ledger.in_use(), ledger.cpu_free_m
    found = ask(ledger, *(want(one, many) for one, many in wants))
    assert len(found) <= MOST
    for one in found:
        assert one.sets
        for some in one.sets:
            assert len(set(some)) == len(some) >= one.many
            assert lost.isdisjoint(some)
    assert (ledger.in_use(), ledger.cpu_free_m) == before, "asking takes nothing"


def test_a_device_is_had_again_only_when_it_is_neither_lost_nor_another_runs():
    ledger = Ledger(BOX)
    ledger.withhold(["g0"])
    ledger.lose("g0")
    ledger.allow(["g0"])
    assert ledger.grant(demand(8)) is None
    ledger.withhold(["g0"])
    ledger.find("g0")
    assert ledger.grant(demand(8)) is None
    ledger.allow(["g0"])
    lease = ledger.grant(demand(8))
    assert lease is not None
    ledger.withhold(["g0"])
    assert ledger.copy().grant(demand(1)) is None
    ledger.release(lease)
    assert ledger.usable() == list(NAMES)
    assert ledger.grant(demand(8)) is None


def test_what_was_lent_stays_in_use_and_goes_on_where_it_was():
    ledger = Ledger(BOX)
    lease = ledger.grant(demand())
    assert lease is not None
    ledger.park(lease, devices=True)
    assert ledger.in_use() == {"g0"}
    borrowed = ledger.grant(demand(), ("g0",))
    assert borrowed is not None
    ledger.withhold(["g0"])
    assert not ledger.unpark(lease)
    ledger.release(borrowed)
    assert ledger.grant(demand(), ("g0",)) != borrowed
    assert ledger.unpark(lease), "another run has it next, and waits for the end of what runs there"
    ledger.release(lease)
    assert "g0" not in ledger.in_use()
    assert ledger.grant(demand(8)) is None
