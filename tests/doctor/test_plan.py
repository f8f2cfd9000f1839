"""What a plan names of the machine, and that `dsec run` looks at it first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from simulated import Machine

from dsec.errors import PlanProblem
from dsec.inventory import Device, Inventory
from dsec.plan import HostNeed, Plan
from dsec.planfile import load_plan
from dsec.quickplan import parse_plan
from dsec_cli.commands.hosting import check_host, facts
from tests.cli.conftest import Ran, command, ds

__all__ = ["ds"]

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = """\
version: "1.0.0"
name: job
baseline: {gpu: {count: 1, memory: 8Gi, type: h100-sxm-80gb}, cpu: 1, memory: 1Gi}
elasticity: {gpu: {min_count: 1, max_count: 2}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s}
dependencies: []
MODE
steps:
  - {id: prepare, run: "true", timeout: 1m, resources: {gpu: {count: 0}}}
  - {id: train, run: "true", timeout: 1m, resources: {gpu: {count: 1}, disk: 1Gi}, needs: [prepare]}
"""
H100 = "count 1\ngpu * name NVIDIA H100 80GB HBM3\ngpu * total 85899345920\n"


def plan_of(ds: Callable[..., Ran], folder: Path, mode: str = "") -> Plan:
    (folder / "dsandbox.yaml").write_text(CONTRACT.replace("MODE\n", mode))
    made = ds("dsec", "plan", "--inventory", "builtin:8xh100-sxm-80gb", "-o", "plan.json")
    assert made.returncode == 0, made.stdout + made.stderr
    return load_plan(str(folder / "plan.json"))


def test_a_plan_names_what_it_needs(ds: Callable[..., Ran], tmp_path: Path) -> None:
    plan = plan_of(ds, tmp_path, "nvlink_mode: p2p\n")
    assert plan.host == (
        HostNeed("driver", "Step train asks for GPUs"),
        HostNeed("nvlink", "nvlink_mode is p2p"),
        HostNeed("space", "Step train asks for disk"),
    )
    quick = parse_plan((tmp_path / "plan.json").read_bytes(), name="plan.json")
    assert quick.host == plan.host
    shown = ds("dsec", "plan", "--inventory", "builtin:8xh100-sxm-80gb").stdout.decode()
    assert "driver: Step train asks for GPUs" in shown


def test_a_plan_without_gpus_names_nothing(ds: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text("steps: [{id: a, run: 'true', timeout: 1m}]\n")
    made = ds("dsec", "plan", "-o", "plan.json")
    assert "host" not in json.loads((tmp_path / "plan.json").read_text() if made.returncode == 0 else "{}")


def run(machine: Machine, folder: Path, rules: str) -> subprocess.CompletedProcess[str]:
    machine.rules(rules)
    environ = machine.environ(PYTHONPATH=f"{ROOT}:{ROOT / 'runtime'}", DSEC_HOME=str(folder / "state"))
    words = command("dsec", "run", "plan.json")
    return subprocess.run(
        words, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.skipif(
    Path("/sys/module/nvidia/version").exists(), reason="this machine has a driver of its own"
)
@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (H100 + "driver 525.60.13\n", "driver 525.60.13 is older than 535.104.05"),
        ("init 18\n", "differ in version"),
        ("init 9\n", "the driver is not loaded"),
    ],
)
def test_a_run_says_why_it_refuses(
    ds: Callable[..., Ran], machine: Machine, tmp_path: Path, rules: str, said: str
) -> None:
    plan_of(ds, tmp_path)
    ran = run(machine, tmp_path, rules)
    assert ran.returncode == 3
    assert said in ran.stderr
    assert "Step train asks for GPUs" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "state" / "runs").exists()


@pytest.mark.battery
def test_a_fit_machine_runs_the_plan(ds: Callable[..., Ran], machine: Machine, tmp_path: Path) -> None:
    plan_of(ds, tmp_path)
    ran = run(machine, tmp_path, H100)
    assert ran.returncode == 0, ran.stderr


GPU = Device("GPU-0", 0, "NVIDIA H100", "h100", 1, None, 0, "0:1:0", (("GPU-1", "NV18"),), 1000, "ok")
HERE = Inventory("nvml", 1000, 1, 1, 1, (GPU, GPU._replace(uuid="GPU-1", index=1, links=())), ())


def test_facts_come_from_the_inventory() -> None:
    found = facts(HERE)
    assert (found.code, found.devices[0].links, found.devices[1].links) == (0, (True,) * 18, None)
    cut = facts(HERE._replace(devices=(GPU._replace(uuid="MIG-0", links=()),)))
    assert (cut.devices[0].mig, cut.devices[0].mig_instances) == (True, 1)


def test_what_this_version_cannot_look_at_is_refused(ds: Callable[..., Ran], tmp_path: Path) -> None:
    plan = plan_of(ds, tmp_path)
    later = plan._replace(host=(HostNeed("quantum", "Step x"),))
    with pytest.raises(PlanProblem, match="quantum"):
        check_host(later, HERE, state=str(tmp_path))
    check_host(later, HERE._replace(origin="described:x"), state=str(tmp_path))  # another machine's affair
    check_host(plan._replace(host=None), HERE, state=str(tmp_path))
    alone = HERE._replace(devices=(GPU._replace(links=()),))
    with pytest.raises(PlanProblem, match="no GPU here has NVLink"):
        check_host(plan._replace(host=(HostNeed("nvlink", "y"),)), alone, state=str(tmp_path))


def test_a_plan_without_needs_imports_nothing_for_them() -> None:
    code = (
        "import sys; from dsec_cli.commands import run\n"
        "sys.exit(any(name.startswith('dsec_cli.doctor') for name in sys.modules))"
    )
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}
    assert subprocess.run([sys.executable, "-c", code], env=environ, check=False).returncode == 0
