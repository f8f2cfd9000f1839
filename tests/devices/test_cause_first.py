"""What keeps GPUs from being used comes before the demand, and measured free memory before the plan."""

from __future__ import annotations

import pytest

from dsec.core.leases import Ledger
from dsec.core.placement import feasible
from dsec.core.scheduler import Scheduler
from dsec.core.starting import Starter, World
from dsec.devices.door import INIT
from dsec.devices.reading import Reading
from dsec.devices.visible import restrict
from dsec.errors import PlanProblem
from dsec.inventory import Device, Inventory
from dsec.monitor.checks.occupancy import Check
from dsec.monitor.processes import Usage
from dsec.monitor.running import Watched
from dsec.monitor.scene import Host, Scene, Use
from dsec.plan import Demand, Iterations
from dsec_cli.commands.carrying import check_feasible, warn_of_others
from dsec_cli.dag.settling import _way_out
from tests.runtime.conftest import make_plan, make_step

GIB = 1 << 30
ONE = Demand(1000, 0, 1, 0, (), 0, 0)
TWO = ONE._replace(gpu_count=2)


def box(*used_gib, notes=(), origin="nvml"):
    devices = tuple(
        Device(f"GPU-{at}", at, "", "h100", 80 * GIB, (80 - used) * GIB, None, None, (), 1000, "ok", "")
        for at, used in enumerate(used_gib)
    )
    return Inventory(origin, 64_000, None, None, None, devices, notes)


@pytest.mark.parametrize(
    "note",
    [
        *INIT.values(),
        "the NVIDIA driver runs but has no GPU",
        "the number of GPUs could not be read (NVML error 999)",
    ],
)
def test_a_driver_that_shows_no_gpu_is_the_cause(note):
    machine = box(notes=("memory is limited to 4 GiB by the cgroup", note), origin="os")
    refusal = feasible(ONE, machine)
    assert refusal.cause == note
    plan = make_plan(make_step("S1", demand=ONE))
    with pytest.raises(PlanProblem) as caught:
        check_feasible(plan, machine)
    assert str(caught.value).startswith(f"{note}; Step S1 cannot run here: needs 1 GPU (any type)")
    assert "lower" not in str(caught.value)


def test_gpus_that_are_all_lost_are_for_doctor():
    machine = box(0, 0)
    machine = machine._replace(devices=tuple(one._replace(health="lost", type="") for one in machine.devices))
    demand = ONE._replace(gpu_types=("h100",))
    assert "dsec doctor" in _way_out(demand, machine, "")
    assert "pasted" in _way_out(demand, box(0)._replace(devices=(box(0).devices[0]._replace(type=""),)), "")


def test_a_run_names_the_mask_to_change():
    machine = restrict(box(0, 0), {"CUDA_VISIBLE_DEVICES": "7"})
    with pytest.raises(PlanProblem) as caught:
        check_feasible(make_plan(make_step("S1", demand=ONE)), machine)
    assert caught.value.hint.startswith("change or unset CUDA_VISIBLE_DEVICES")


def scene(at, used, *uses, state="ok"):
    reading = Reading("GPU-0", 0, "h100", state, memory_used_bytes=used, memory_total_bytes=80 * GIB)
    host = Host(GIB, GIB, GIB, 0)
    return Scene(at, 1, "/x", (reading,), {}, (), "", uses, host, {}, lambda: None)


def use(held):
    """Of an attempt on the GPU; None: the driver names none of its processes."""
    watched = Watched("S", 0, 1, "", 7, 0, ("GPU-0",), 0, "")
    return Use(watched, Usage((7,), 0, 0, "S"), (), 0, 0, {} if held is None else {"GPU-0": held})


@pytest.mark.parametrize(
    ("scenes", "told"),
    [
        ([scene(1, 70 * GIB), scene(2, 70 * GIB), scene(3, 70 * GIB)], [70]),
        ([scene(1, 70 * GIB), scene(2, 0), scene(3, 0)], [0]),  # it was just ending
        ([scene(1, 70 * GIB, use(69 * GIB)), scene(2, 70 * GIB, use(69 * GIB))], [1]),
        ([scene(1, 70 * GIB, use(None)), scene(2, 70 * GIB, use(None))], []),  # a container's other ids
        ([scene(1, None), scene(2, None)], []),
        ([scene(1, 9 * GIB, state="lost"), scene(2, 9 * GIB, state="lost")], []),
        ([scene(at, (0 if at < 3 else 40) * GIB) for at in range(6)], [0, 40]),
    ],
)
def test_what_others_hold_is_measured_while_a_run_goes_on(scenes, told):
    check = Check()
    assert [one["held"] // GIB for at in scenes for one in check.look(at)] == told


def test_what_others_take_during_a_run_counts_for_the_next_starts():
    ledger = Ledger(box(0, 0))
    assert ledger.grant(ONE, ("GPU-0",)).devices == ("GPU-0",)
    ledger = Ledger(box(0, 0))
    assert ledger.measure("GPU-0", 70 * GIB) == (True, True)
    assert ledger.measure("GPU-0", 70 * GIB) == (False, False)
    assert ledger.copy().grant(ONE, ("GPU-0",)).devices == ("GPU-1",)
    assert ledger.measure("GPU-0", 0) == (True, False)
    assert ledger.grant(ONE, ("GPU-0",)).devices == ("GPU-0",)


def test_a_used_gpu_is_not_taken_while_an_idle_one_comes_back():
    ledger = Ledger(box(70, 0))
    leaving = []
    scheduler = Scheduler([make_step("S", demand=ONE)], Iterations(2, 0, 1), groups=[0])
    world = World(ledger, lambda _: ledger.grant(ONE), lambda _: (), lambda _, __: 1, lambda: leaving)
    starter = Starter(scheduler, [ONE], world, queues=[True], planned=[()])
    first = starter.next(0)
    assert first.lease.devices == ("GPU-1",)
    leaving.append(first.lease)
    scheduler.finish(0, 0)
    assert starter.next(1) is None
    leaving.clear()
    ledger.release(first.lease)
    assert starter.next(2).lease.devices == ("GPU-1",)


@pytest.mark.parametrize("mask", ["", "7", "-1", "GPU-x", "0,0", "NoDevFiles"])
def test_a_mask_that_hides_all_is_named(mask):
    machine = restrict(box(0, 0), {"CUDA_VISIBLE_DEVICES": mask})
    assert feasible(ONE, machine).cause == f"CUDA_VISIBLE_DEVICES={mask} shows 0 of 2 GPUs"


def test_a_mask_that_hides_some_is_named_where_too_few_are_left():
    machine = restrict(box(0, 0), {"CUDA_VISIBLE_DEVICES": "1"})
    assert feasible(ONE, machine) is None
    assert feasible(TWO, machine).cause == "CUDA_VISIBLE_DEVICES=1 shows 1 of 2 GPUs"


def test_where_neither_is_the_cause_none_is_named():
    assert feasible(ONE, box()).cause == ""
    assert feasible(TWO, box(0, notes=("the NVIDIA library is old",))).cause == ""


@pytest.mark.parametrize(
    ("used", "planned", "got"),
    [
        ((73, 0), ("GPU-0",), ("GPU-1",)),
        ((9, 0), ("GPU-0",), ("GPU-1",)),
        ((9, 4), ("GPU-0",), ("GPU-1",)),
        ((4, 9), ("GPU-1",), ("GPU-0",)),
        ((0, 0), ("GPU-1",), ("GPU-1",)),
        ((73, 73), ("GPU-1",), ("GPU-1",)),
        ((9, 0, 0), ("GPU-0", "GPU-1"), ("GPU-1", "GPU-2")),
        ((0, 0, 73, 0), ("GPU-2", "GPU-3"), ("GPU-0", "GPU-1")),
    ],
)
def test_measured_memory_decides_before_the_plan(used, planned, got):
    demand = ONE._replace(gpu_count=len(planned))
    assert Ledger(box(*used)).grant(demand, planned).devices == got


def test_a_word_where_all_are_full(capsys):
    plan = make_plan(make_step("t0", demand=ONE), make_step("t1", demand=ONE), make_step("cpu"))
    warn_of_others(plan, box(73, 0), "en")
    assert capsys.readouterr().err == ""
    warn_of_others(plan, box(73, 74), "en")
    assert capsys.readouterr().err == (
        "dsec: warning: other processes use the GPUs that are there for t0 (GPU 0: 73 of 80 GiB)\n"
    )
