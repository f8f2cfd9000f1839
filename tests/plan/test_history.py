"""Which durations of earlier runs a plan counts: those of the same command on like devices."""

from __future__ import annotations

import pytest

from dsec.core.experience import devices_text
from dsec.core.lessons import walls_by_devices
from dsec.durations import Learned, contract_key, work_of
from dsec.errors import RunProblem
from dsec.events import Exit, Spawn
from dsec.inventory import Device, Inventory, is_simulated
from dsec_cli.commands.history import matching
from dsec_cli.dag.compile import _far_off
from dsec_cli.fast import run

TEXT = """
name: one
baseline: {gpu: {count: 2, type: "any"}}
steps:
  - {id: train, run: python train.py, resources: {gpu: {count: 2}}, timeout: 1h, expected_duration: 30m}
  - {id: eval, run: python eval.py, resources: {gpu: {count: 1}}, timeout: 1h}
  - {id: load, run: python load.py, timeout: 1h, expected_duration: 9h}
"""
OLD = "python old.py"
PLAIN = """
name: plain
baseline: {cpu: 1}
elasticity: {}
fault_tolerance: {level: pauseable}
dependencies: []
steps: [{id: a, run: "true", timeout: 9s}]
"""


def box(*cards: tuple[str, int]) -> Inventory:
    devices = tuple(
        Device(f"GPU-{at}", at, "", kind, 2**34, None, None, None, (), speed, "ok")
        for at, (kind, speed) in enumerate(cards)
    )
    return Inventory("described:x", 8000, None, None, None, devices, ())


def took(command: str, ms: int, devices: str = "") -> Learned:
    return Learned(ms, 1, work_of(tuple(command.split()), "", "", ""), devices)


def counted(make, known, inventory):
    text = TEXT.replace(', type: "any"', "")
    return matching(make.read(text, "dsandbox.yaml"), known, inventory)


L4, H100 = ("l4", 300), ("h100", 1000)


@pytest.mark.parametrize(
    ("every", "inventory", "ms"),
    [
        ([took("python train.py", 5, "2 x l4")], box(L4, L4), 5),
        ([took("python train.py", 5, "2 x l4")], box(H100, H100), None),
        ([took("python train.py", 5, "1 x l4")], box(L4, L4), None),
        ([took("python train.py", 5, "1 x h100 + 1 x l4")], box(L4, H100), None),
        ([took("python train.py", 5)], box(L4, L4), None),
        ([took(OLD, 5, "2 x l4")], box(L4, L4), None),
        ([took(OLD, 5, "2 x l4"), took("python train.py", 7, "2 x l4")], box(L4, L4), 7),
        ([took("python train.py", 5, "2 x l4"), took("python train.py", 2, "2 x h100")], box(L4, H100), 2),
        ([took("python train.py", 5, "2 x l4")], None, 5),
        ([Learned(5, 1)], box(L4, L4), None),
    ],
)
def test_a_duration_counts_for_the_same_command_on_like_devices(make, every, inventory, ms):
    """With another command, another type or another number of GPUs the declared duration counts."""
    assert counted(make, {"train": every}, inventory) == ({} if ms is None else {"train": ms})


def test_where_nothing_is_declared_other_devices_are_better_than_no_number(make):
    known = {"eval": [took("python eval.py", 5, "1 x l4")]}
    assert counted(make, known, box(H100)) == {"eval": 5}
    assert counted(make, {"eval": [took(OLD, 5, "1 x l4")]}, box(H100)) == {}


def test_a_step_without_gpus_counts_on_every_machine(make):
    assert counted(make, {"load": [took("python load.py", 9)]}, box(H100)) == {"load": 9}
    assert counted(make, {"gone": [took("python load.py", 9)]}, box(H100)) == {}


def test_parts_of_a_step_count_as_it_does(make):
    known = {
        "train.0": [took("python train.py", 5, "2 x l4")],
        "train.1": [took(OLD, 5, "2 x l4")],
    }
    assert counted(make, known, box(L4, L4)) == {"train.0": 5}


def test_simulated_gpus_are_told_from_real_ones():
    real = box(L4).devices
    simulated = tuple(one._replace(uuid="GPU-000000a0-0000-4000-8000-000000000000") for one in real)
    assert not is_simulated(real)
    assert is_simulated(simulated)
    assert contract_key("a.yaml", "a", simulated=True) != contract_key("a.yaml", "a")


def test_times_are_told_apart_by_what_each_attempt_had():
    def pair(devices, wall, cause="ok"):
        values = dict.fromkeys(Spawn._fields, 0) | {"step": "S", "iteration": 0, "devices": devices}
        ended = dict.fromkeys(Exit._fields, 0) | {
            "step": "S",
            "iteration": 0,
            "cause": cause,
            "wall_us": wall,
        }
        return [Spawn(**values), Exit(**ended)]

    told = [
        *pair(("a", "b"), 10),
        *pair(("a",), 20),
        *pair(("a",), 30),
        *pair(("a",), 1, "failed"),
        *pair((), 4),
    ]
    found = walls_by_devices(told, {"a": "l4", "b": "t4"})
    assert found == {"S": {"1 x l4 + 1 x t4": [10], "1 x l4": [20, 30], "": [4]}}
    assert devices_text(["l4", ""]) == ""


def test_what_is_far_from_declared_is_said(make):
    steps = make.read(TEXT.replace(', type: "any"', ""), "dsandbox.yaml").steps
    [note] = _far_off(steps, {"load": 9, "train": 1_500_000, "eval": 1})
    assert note.startswith("Step load took 9ms in earlier runs, expected_duration is 9h")
    assert "--durations declared" in note
    assert _far_off(steps, {"train": 30 * 60_000 * 4}) == []
    assert len(_far_off(steps, {"train": 30 * 60_000 * 6})) == 1


@pytest.mark.parametrize("name", ["durations.json", "devices.json"])
def test_a_plan_does_without_what_it_may_not_read(tmp_path, monkeypatch, capfd, name):
    """As root may read everything, a link stands for a file of somebody else's; both give an OSError."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dsandbox.yaml").write_text(PLAIN)
    assert run("dsec", ["plan", "--json"]) == 0
    plan = capfd.readouterr().out
    (tmp_path / ".dsec").mkdir(mode=0o700)
    (tmp_path / ".dsec" / name).symlink_to("/etc/hostname")
    assert run("dsec", ["plan", "--json"]) == 0
    out, err = capfd.readouterr()
    assert out == plan
    (line,) = err.splitlines()
    assert "planned without what earlier runs taught, which cannot be read" in line
    assert f".dsec/{name}: " in line
    assert run("dsec", ["dag"]) == 0
    assert capfd.readouterr().err.count("\n") == (name == "durations.json")
    assert run("dsec", ["run", "-q", "--job-id", "one"]) == 0
    told = capfd.readouterr()
    assert ("what the run taught could not be kept" in told.out + told.err) == (name == "durations.json")
    assert (tmp_path / ".dsec/runs/one/report.json").exists()


def test_a_plan_in_a_folder_whose_state_is_another_users(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dsec.ownership.foreign", lambda path, *_, **__: "it belongs to guest")
    (tmp_path / "dsandbox.yaml").write_text(PLAIN)
    assert run("dsec", ["plan"]) == 0
    assert "cannot be read: " in capfd.readouterr().err
    with pytest.raises(RunProblem):
        run("dsec", ["run"])
