"""What may start behind a Step that does not fit: whatever does not keep it waiting longer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.leases import Ledger
from dsec.core.reservation import Held, beside, reserve
from dsec.inventory import Device, Inventory
from dsec.plan import Demand

GIB = 2**30


def need(cores=1, *, gpus=0, size=0, memory=0):
    return Demand(cores * 1000, memory * GIB, gpus, size * GIB, (), 0, 0)


def box(cores=4, gpus=2):
    devices = tuple(
        Device(f"GPU-{at}", at, "", "a", 80 * GIB, None, None, None, (), 1000, "ok") for at in range(gpus)
    )
    return Inventory("described:test", cores * 1000, 64 * GIB, None, None, devices, ())


@pytest.mark.parametrize(
    ("running", "waiting", "started", "delayed"),
    [
        pytest.param([(need(3), 10)], need(2), (need(1), 10), False, id="ends in time"),
        pytest.param([(need(3), 10)], need(2), (need(1), 11), False, id="leaves enough"),
        pytest.param([(need(3), 10)], need(4), (need(1), 11), True, id="takes what is needed"),
        pytest.param([(need(1), 5), (need(2), 9)], need(3), (need(1), 6), False, id="ends in time of two"),
        pytest.param([(need(2), 5), (need(1), 9)], need(3), (need(1), 6), True, id="the first is enough"),
        pytest.param([(need(1, gpus=1), 10)], need(1, gpus=2), (need(1), 99), False, id="no device"),
        pytest.param([(need(1, gpus=1), 10)], need(1, gpus=2), (need(1, gpus=1), 11), True, id="its device"),
        pytest.param(
            [(need(1, gpus=1), 10)], need(1, gpus=2), (need(1, gpus=1), 10), False, id="back in time"
        ),
        pytest.param(
            [(need(1, memory=60), 10)], need(1, memory=60), (need(1, memory=4), 99), False, id="memory left"
        ),
        pytest.param(
            [(need(1, memory=40), 10)], need(1, memory=60), (need(1, memory=24), 99), True, id="memory taken"
        ),
        pytest.param(
            [(need(1, gpus=2, size=40), 10)],
            need(1, gpus=2, size=60),
            (need(1, gpus=1, size=20), 99),
            False,
            id="shared",
        ),
        pytest.param(
            [(need(1, gpus=2, size=40), 10)],
            need(1, gpus=2, size=60),
            (need(1, gpus=1, size=30), 99),
            True,
            id="too much of it",
        ),
    ],
)
def test_a_step_behind_delays_the_one_before_it(running, waiting, started, delayed):
    ledger = Ledger(box())
    held = [Held(end, ledger.grant(demand)) for demand, end in running]
    assert ledger.grant(waiting) is None
    before = ledger.held
    promised = reserve(ledger, waiting, held)
    assert ledger.held == before, "asking grants nothing"
    small, end = started
    in_time = end <= promised.time and ledger.grant(small) is not None
    assert (not in_time and beside(ledger, small, promised) is None) is delayed
    assert len(ledger.held) == len(before) + (not delayed)


def test_what_no_attempt_gives_back_is_not_waited_for():
    ledger = Ledger(box())
    ledger.grant(need(1, gpus=2))  # a resident worker's
    assert reserve(ledger, need(4, gpus=2), []) is None


def test_one_that_would_take_what_is_reserved_gets_other_devices():
    ledger = Ledger(box())
    busy = ledger.grant(need(1, gpus=1))
    promised = reserve(ledger, need(1, gpus=1, size=60), [Held(5, busy)], preferred=("GPU-1",))
    assert promised.devices == ("GPU-1",)
    assert beside(ledger, need(1, gpus=1), promised) is None, "the other one is not free now"
    ledger.release(busy)
    lease = beside(ledger, need(1, gpus=1), promised)
    assert lease is not None
    assert lease.devices == ("GPU-0",)


DEMANDS = st.builds(
    need,
    st.integers(0, 4),
    gpus=st.integers(0, 2),
    size=st.sampled_from([0, 20, 40]),
    memory=st.integers(0, 40),
)


@given(data=st.data())
def test_once_it_is_let_pass_the_waiting_step_starts_as_early_as_before(data):
    ledger = Ledger(box())
    held = []
    for demand in data.draw(st.lists(DEMANDS, min_size=1, max_size=5)):
        lease = ledger.grant(demand)
        if lease is not None:
            held.append(Held(data.draw(st.integers(1, 9)), lease))
    waiting, small = data.draw(DEMANDS), data.draw(DEMANDS)
    alone = ledger.copy()
    if alone.grant(waiting) is not None:
        return
    promised = reserve(ledger, waiting, held)
    end = data.draw(st.integers(1, 12))
    lease = ledger.grant(small) if end <= promised.time else beside(ledger, small, promised)
    if lease is None:
        return
    assert first_fit(ledger.copy(), waiting, [*held, Held(end, lease)]) <= first_fit(alone, waiting, held)


def first_fit(ledger, waiting, held):
    """When the demand fits, as leases come back."""
    for end in sorted({one.end for one in held}):
        for one in held:
            if one.end == end:
                ledger.release(one.lease)
        if ledger.grant(waiting) is not None:
            return end
    raise AssertionError("every demand here fits the empty machine")
