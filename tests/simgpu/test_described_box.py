"""A described machine is planned for and simulated, never run on; a simulated box has its host, too."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from dsec.devices import host
from dsec.errors import PlanProblem
from dsec.inventory import AMPLE_CPU_M, Device, Inventory, within
from dsec.simgpu.scenario import box
from dsec_cli.commands import carrying
from dsec_cli.commands.sim_gpu import _environment
from dsec_cli.fast import run

CONTRACT = """
name: described
baseline: {gpu: {count: 1, type: h100-sxm-80gb}, cpu: 1, memory: 512MiB}
elasticity: {gpu: {min_count: 1, max_count: 1}}
fault_tolerance: {level: critical}
dependencies: []
steps:
  - {id: train, run: "true", resources: {gpu: {count: 1}}, timeout: 1m}
"""
BUILTIN = "builtin:8xh100-sxm-80gb"
DESCRIBED = "gpus: [{type: h100-sxm-80gb, count: 2}]\ncpu: 64\n"


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("inventory", [BUILTIN, "box.yaml"])
def test_a_run_never_takes_gpus_of_a_described_machine(tmp_path, monkeypatch, planned, inventory):
    """Whether the contract is named or its plan: it runs on what is here, or not at all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    (tmp_path / "box.yaml").write_text(DESCRIBED)
    asked: list[object] = []

    def here(plan, path):
        asked.append(path)
        raise PlanProblem("no GPU here")

    name = "dsandbox.yaml"
    if planned:
        assert run("dsec", ["plan", name, "--inventory", inventory, "-o", "plan.json"]) == 0
        name = "plan.json"
    real = carrying.inventory_for
    monkeypatch.setattr(carrying, "inventory_for", here)
    if planned:
        with pytest.raises(PlanProblem):
            real(carrying_plan(tmp_path), inventory)
    else:
        with pytest.raises(PlanProblem):
            run("dsec", ["run", name, "--inventory", inventory])
    assert asked == [None]
    assert not (tmp_path / ".dsec" / "runs").exists()


A_DRIVERS = "GPU-0f1c2d3e-0000-4111-8222-123456789abc"


def device(uuid):
    return Device(uuid, 0, "H100", "h100-sxm-80gb", 80 << 30, None, None, None, (), 1000, "ok")


@pytest.mark.parametrize(
    ("here", "described", "taken"),
    [
        ("abc", "bc", "bc"),  # a description of this machine may leave some out
        ("ab", "bcd", "b"),  # or be older than it
        ("ab", "xy", "ab"),  # kinds alone: all that is here, if it is fit
        ("ab", [A_DRIVERS], ""),  # those GPUs, and no others
        (["a", A_DRIVERS], ["x", A_DRIVERS], [A_DRIVERS]),
        ("ab", "", ""),  # described as without GPUs
        ("", "xy", ""),
    ],
)
def test_a_run_takes_of_this_machine_what_is_described(here, described, taken):
    machine = Inventory("nvml", 8000, 1 << 36, 1 << 40, 1, tuple(map(device, here)), ("a note",))
    other = Inventory("described:x", 64_000, None, None, 2, tuple(map(device, described)), ())
    found = within(machine, other)
    assert found == machine._replace(devices=tuple(map(device, taken)))
    small = within(machine, other._replace(cpu_m=2000, memory_bytes=1 << 30))
    assert (small.cpu_m, small.memory_bytes) == (2000, 1 << 30)


def test_what_is_not_here_is_said(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dsec.devices.nvml.read", lambda: here)
    here = Inventory("nvml", 8000, None, None, None, (device("GPU-a"),), ())
    (tmp_path / "box.yaml").write_text(DESCRIBED)
    plan = SimpleNamespace(steps=[SimpleNamespace(demand=SimpleNamespace(gpu_count=1))])
    assert carrying.inventory_for(plan, "box.yaml").devices == here.devices
    told = "dsec: note: 2 of the 2 GPUs of box.yaml are not on this machine; the run takes only GPUs"
    assert told in capfd.readouterr().err


def carrying_plan(folder):
    from dsec.planfile import load_plan

    return load_plan(str(folder / "plan.json"))


@pytest.mark.parametrize(
    ("name", "cores", "gib"),
    [("8xh100-sxm-80gb", 192, 2048), ("2xrtx-4090", 16, 128), ("3xl4", None, None)],
)
def test_a_simulated_box_has_the_processors_and_memory_of_the_described_one(monkeypatch, name, cores, gib):
    found = _environment("lib", "rules", box(name))
    assert found["SIM_GPU_SCENARIO"] == "rules"
    real = host.read()
    monkeypatch.setenv(host.SIMULATED, found[host.SIMULATED])
    seen = host.read()
    assert seen.cpu_m == (real.cpu_m if cores is None else cores * 1000) != AMPLE_CPU_M
    assert seen.memory_bytes == (real.memory_bytes if gib is None else gib * 2**30)
    assert any("this machine has" in note for note in seen.notes) == (cores is not None)


@pytest.mark.parametrize("text", ["", ",", "x,y", "-1,5.5", "9" * 40, "0,0"])
def test_what_states_nothing_changes_nothing(monkeypatch, text):
    real = host.read()._replace(disk_bytes=0)
    monkeypatch.setenv(host.SIMULATED, text)
    assert host.read()._replace(disk_bytes=0) == real
    assert os.environ[host.SIMULATED] == text
