"""What keeps GPUs from being used comes before the demand, and measured free memory before the plan."""

from __future__ import annotations

import pytest

from dsec.core.leases import Ledger
from dsec.core.placement import feasible
from dsec.devices.door import INIT
from dsec.devices.visible import restrict
from dsec.errors import PlanProblem
from dsec.inventory import Device, Inventory
from dsec.plan import Demand
from dsec_cli.commands.carrying import check_feasible, warn_of_others
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
