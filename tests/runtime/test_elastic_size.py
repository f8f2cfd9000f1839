"""An elastic Step keeps the size that it was given, as long as its marks and the pool allow."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dsec.core.leases import Ledger
from dsec.core.pace import Span
from dsec.core.scheduler import Scheduler
from dsec.core.starting import Size, Starter, World
from dsec.inventory import Device, Inventory
from dsec.plan import Iterations

COUNT = 6


def box(many):
    devices = tuple(_device(at) for at in range(many))
    return Inventory("os", 64_000, None, None, None, devices, ())


def _device(at):
    return Device(f"GPU-{at}", at, "", "l4", 24 << 30, None, None, "", (), 1000, "ok", "")


@pytest.fixture
def made(kit):
    """Builds a starter over so many GPUs; `sizes` says what each instance of `roll` starts with."""

    def build(gpus, *, base=1, span=(1, 4), pool=2, others=()):
        roll = kit.step("roll", demand=kit.demand(gpu_count=base, cpu_m=100), rank_ms=9)
        steps = [roll, *others]
        ledger, leaving = Ledger(box(gpus)), []
        scheduler = Scheduler(steps, Iterations(COUNT, 0, 1), groups=range(len(steps)))
        demands = [step.demand for step in steps]
        world = World(
            ledger, lambda at: ledger.grant(demands[at]), lambda now: [], lambda at, lease: 1, lambda: leaving
        )
        starter = Starter(
            scheduler,
            demands,
            world,
            queues=[True] * len(steps),
            planned=[()] * len(steps),
            spans={0: Span(*span)},
            pool=pool,
        )
        return SimpleNamespace(ledger=ledger, leaving=leaving, scheduler=scheduler, starter=starter)

    return build


def begin(one):
    return one.starter.next(0)


def leaves(one, start):
    """Its processes are gone, its devices are not back yet."""
    one.leaving.append(start.lease)
    one.starter.ended(start.lease)
    one.scheduler.finish(start.at, start.iteration)


def back(one):
    while one.leaving:
        one.ledger.release(one.leaving.pop())


@pytest.mark.parametrize(
    ("gpus", "base", "span", "pool"), [(8, 1, (1, 4), 2), (4, 4, (1, 4), 0), (4, 2, (1, 4), 2)]
)
def test_it_does_not_start_smaller_while_its_own_devices_come_back(made, gpus, base, span, pool):
    one = made(gpus, base=base, span=span, pool=pool)
    sizes = []
    for _ in range(COUNT):
        start = begin(one)
        if start is None:
            back(one)
            start = begin(one)
        sizes.append(len(start.lease.devices))
        leaves(one, start)
    assert sizes == [max(base, min(span[1], base + pool))] * COUNT


def test_devices_that_come_back_one_after_another_make_it_no_smaller(made):
    one = made(4, base=4, pool=0)
    start = begin(one)
    leaves(one, start)
    one.ledger.shrink(start.lease, less := start.lease._replace(devices=start.lease.devices[:1]))
    one.leaving[:] = [less]
    assert begin(one) is None
    back(one)
    assert len(begin(one).lease.devices) == 4


def test_it_waits_for_nothing_that_does_not_come_back(made):
    one = made(4, base=4, pool=0)
    leaves(one, begin(one))
    one.ledger.shrink(one.leaving[0], one.leaving[0]._replace(devices=one.leaving[0].devices[:1]))
    one.leaving.clear()  # what holds it is not clear
    one.starter.forget()
    assert len(begin(one).lease.devices) == 3


def test_a_lost_device_makes_it_smaller(made):
    one = made(4, base=4, pool=0)
    leaves(one, begin(one))
    one.ledger.lose("GPU-2")
    back(one)
    one.starter.forget()
    assert len(begin(one).lease.devices) == 3


def test_what_is_ready_beside_it_changes_no_size_once_given(made, kit):
    """Three others are ready in each iteration; they wait as long as it needs what it had."""
    others = [kit.step(f"o{at}", "roll", demand=kit.demand(gpu_count=2, cpu_m=100)) for at in range(3)]
    one = made(6, others=others)
    first = begin(one)
    assert len(first.lease.devices) == 3
    leaves(one, first)
    back(one)
    held = [begin(one) for _ in range(3)]
    assert [start.at for start in held] == [1, 2, 3]
    for start in held:
        leaves(one, start)
    back(one)
    assert len(begin(one).lease.devices) == 3


def test_marks_change_the_size(made):
    one = made(8)
    leaves(one, begin(one))
    back(one)
    one.starter.resize(0, Size(1, 2))
    start = begin(one)
    assert len(start.lease.devices) == one.starter.asks(0) == 2
    leaves(one, start)
    back(one)
    one.starter.resize(0, Size(1, 4))
    assert one.starter.asks(0) == 2


def test_it_asks_others_for_the_size_that_it_had(made):
    one = made(8)
    assert one.starter.asks(0) == 1
    begin(one)
    assert one.starter.asks(0) == 3
