"""The monitor's looks at elastic Steps, and that the starter does as it is told."""

from types import SimpleNamespace

import pytest

from dsec.core.leases import Ledger
from dsec.core.pace import Span
from dsec.core.scheduler import Scheduler
from dsec.core.starting import Size, Starter, World
from dsec.inventory import Device, Inventory
from dsec.monitor.checks.marks import Check
from dsec.plan import Elastic, Iterations

GIB = 1 << 30


@pytest.fixture
def plan(kit):
    made = kit.plan(kit.step("critic", demand=kit.demand(gpu_count=2)), kit.step("rest"))
    devices = tuple(
        Device(f"GPU-{at}", at, "", "a100", 80 * GIB, None, None, None, (), 1000, "ok") for at in range(8)
    )
    box = Inventory("described:test", 8000, None, None, None, devices, ())
    return made._replace(inventory=box, elastic=(Elastic("critic", 2, 4, 32 * GIB, 20 * GIB),))


def _scene(plan, *, at_s=0, iteration=0, held=None, ended=()):
    watched = SimpleNamespace(step="critic", iteration=iteration, attempt=1, devices=("GPU-0", "GPU-1"))
    uses = () if held is None else (SimpleNamespace(watched=watched, devices={"GPU-0": held, "GPU-1": 1}),)
    return SimpleNamespace(
        at_us=at_s * 1_000_000,
        uses=uses,
        ended={("critic", one): {"cause": "ok"} for one in ended},
        plan=lambda: plan,
    )


def test_five_executions_seen_above_the_mark_are_told_once(plan):
    check, told = Check(), []
    for at in range(6):
        told += check.look(_scene(plan, iteration=at, held=33 * GIB))
        told += check.look(_scene(plan, ended=(at,)))
    (one,) = told
    assert (one["tell"], one["step"], one["firm"], one["most"]) == ("resize", "critic", 3, 4)


def test_ten_minutes_below_the_mark_are_told(plan):
    plan = plan._replace(elastic=(Elastic("critic", 1, 4, 32 * GIB, 20 * GIB),))
    check = Check()
    told = [one for at in range(601) for one in check.look(_scene(plan, at_s=at, held=GIB))]
    assert [(one["firm"], one["most"]) for one in told] == [(1, 1)]


def test_steps_without_marks_are_not_followed(plan):
    check = Check()
    plain = plan._replace(elastic=(Elastic("critic", 2, 4),))
    assert [one for at in range(9) for one in check.look(_scene(plain, held=79 * GIB, ended=(at,)))] == []


def test_a_step_starts_on_what_it_was_given_last(plan):
    ledger = Ledger(plan.inventory)
    demands = [step.demand for step in plan.steps]
    scheduler = Scheduler(plan.steps, Iterations(4, 3, 4), groups=[0, 1])
    world = World(ledger, lambda at: ledger.grant(demands[at]), lambda now: [], lambda at, lease: 1)
    starter = Starter(
        scheduler, demands, world, queues=[True, True], planned=[(), ()], spans={0: Span(1, 4)}, pool=2
    )

    def starts():
        found = []
        while (start := starter.next(0)) is not None:
            found.append(start)
            scheduler.finish(start.at, start.iteration)
        for start in found:
            ledger.release(start.lease)
            starter.ended(start.lease)
        return [len(start.lease.devices) for start in found if start.at == 0][:1]

    starter.resize(0, Size(1, 1))
    assert starter.size(0) == Size(1, 1)
    assert starts() == [1]
