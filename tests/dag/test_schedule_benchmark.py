"""The benchmark of schedules reads WfFormat and counts what it should."""

import json
import runpy
from pathlib import Path

import pytest

from dsec.core.placement import feasible

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "schedule.py"
BENCH = runpy.run_path(str(BENCHMARK))


def instance(folder, needs, seconds):
    tasks = [
        {"id": f"t_{name}", "name": f"{name}_ID000001", "children": [f"t_{child}" for child in children]}
        for name, children in needs.items()
    ]
    ran = [{"id": f"t_{name}", "runtimeInSeconds": seconds[name]} for name in reversed(needs)]
    workflow = {"specification": {"tasks": tasks}, "execution": {"tasks": ran}}
    path = folder / "small.json"
    path.write_text(json.dumps({"schemaVersion": "1.5", "workflow": workflow}))
    return path


def test_an_instance_is_read(tmp_path):
    path = instance(tmp_path, {"a": ["c", "b"], "b": [], "c": []}, {"a": 1.5, "b": 0.0004, "c": 2})
    assert BENCH["read_instance"](path) == (
        ["a_ID000001", "b_ID000001", "c_ID000001"],
        [[1, 2], [], []],
        [1500, 0, 2000],
    )


def test_a_folder_is_compared_and_the_targets_are_judged(tmp_path, capsys):
    instance(tmp_path, {"a": ["b"], "b": []}, {"a": 1, "b": 2})
    assert BENCH["main"](tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines if line.startswith("P=8")] == [
        ["P=8", "simple", "1.0000"],
        ["P=8", "highest", "1.0000"],
    ]


def test_a_folder_without_instances_is_skipped_with_a_sentence(tmp_path, capsys):
    assert BENCH["main"](tmp_path) == 0
    assert "no WfFormat instances" in capsys.readouterr().out


def test_the_workstation_can_meet_every_made_up_demand():
    names = [f"step{at}" for at in range(200)]
    demands = [BENCH["made_up"](name) for name in names]
    assert all(feasible(demand, BENCH["workstation"]()) is None for demand in demands)
    assert demands == [BENCH["made_up"](f"{name}_ID0000007") for name in names]
    assert 0.75 < sum(demand.gpu_count > 0 for demand in demands) / len(demands) < 0.92


def test_ratios_are_over_the_highest_bound(tmp_path):
    path = instance(tmp_path, {"a": [], "b": [], "c": []}, {"a": 1, "b": 1, "c": 1})
    found = BENCH["found"](BENCH["read_instance"](path), BENCH["slots"](2), lambda _: BENCH["ONE_CORE"])
    assert BENCH["ratios"](found)["best", "highest"] == 1
    assert BENCH["ratios"](found)["best", "simple"] == pytest.approx(2000 / 1500)
