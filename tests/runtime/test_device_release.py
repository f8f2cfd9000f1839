"""A Step shares no device while one is about to come back: what left it is looked at for a moment."""

from types import SimpleNamespace

import pytest

from dsec.cards import GIB
from dsec.core.leases import Ledger
from dsec.core.scheduler import Scheduler
from dsec.core.starting import Starter, World
from dsec.inventory import Device, Inventory
from dsec.plan import Iterations


@pytest.fixture
def made(kit):
    """A starter for Steps that take `counts` GPUs each, on three of which two are held."""

    def build(*counts):
        devices = tuple(
            Device(f"GPU-{at}", at, "", "l4", 24 * GIB, None, None, None, (), 1000, "ok") for at in range(3)
        )
        demands = [kit.demand(gpu_count=count, gpu_memory_bytes=10 * GIB, cpu_m=1) for count in counts]
        steps = [kit.step(f"s{at}", demand=one, rank_ms=9 - at) for at, one in enumerate(demands)]
        ledger, leaving = Ledger(Inventory("os", 64_000, None, None, None, devices, ())), []
        held = kit.demand(gpu_count=1, gpu_memory_bytes=10 * GIB, cpu_m=1)
        stays, left = ledger.grant(held), ledger.grant(held)
        scheduler = Scheduler(steps, Iterations(1, 0, 1), groups=range(len(steps)))
        world = World(
            ledger,
            lambda at: ledger.grant(demands[at]),
            lambda now: [],
            lambda at, lease: 1,
            lambda: leaving,
        )
        starter = Starter(
            scheduler, demands, world, queues=[True] * len(steps), planned=[()] * len(steps), spans={}, pool=0
        )
        return SimpleNamespace(ledger=ledger, leaving=leaving, starter=starter, stays=stays, left=left)

    return build


def test_it_waits_for_a_device_that_is_being_left(made):
    now = made(2)
    now.leaving.append(now.left)
    assert now.starter.next(0) is None
    now.leaving.clear()
    now.ledger.release(now.left)
    assert now.starter.next(1).lease.devices == ("GPU-1", "GPU-2")


def test_it_shares_where_nothing_comes_back(made):
    now = made(2)
    lease = now.starter.next(0).lease
    assert now.ledger.shared(lease) == 1


def test_it_shares_where_what_comes_back_is_not_enough(made):
    now = made(3)
    now.leaving.append(now.left)
    assert now.starter.next(0) is None, "one device less is shared in a moment"
    now.leaving.clear()
    now.ledger.release(now.left)
    assert now.ledger.shared(now.starter.next(1).lease) == 1


def test_who_needs_no_more_than_is_idle_begins_at_once(made):
    now = made(1, 2)
    now.leaving.append(now.left)
    assert now.starter.next(0).lease.devices == ("GPU-2",)
    assert now.starter.next(0) is None
    now.leaving.clear()  # it was not left in time
    now.starter.forget()
    assert now.ledger.shared(now.starter.next(1).lease) == 2
