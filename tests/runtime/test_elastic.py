"""An elastic Step of a real run: started with more GPUs than its baseline, and told how many."""

import json

import pytest

from dsec_cli.fast import run

CONTRACT = """\
version: "1.0.0"
name: elastic
baseline: {gpu: {count: 1, memory: 40Gi, type: a100-sxm-80gb}, cpu: 8, memory: 64Gi}
elasticity: {gpu: {min_count: 1, max_count: 2}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s, resume_strategy: step_resume}
dependencies: []
steps:
  - id: own
    run: |
      echo "$DSEC_GPU_COUNT:$CUDA_VISIBLE_DEVICES" > "$DSEC_RUN_DIR/own"
    timeout: 1m
    resources: {gpu: {count: 1, max_count: 8}}
  - id: inherited
    run: |
      echo "$DSEC_GPU_COUNT:$CUDA_VISIBLE_DEVICES" > "$DSEC_RUN_DIR/inherited"
    timeout: 1m
    level: elastic
    needs: [own]
    resources: {gpu: {count: 1}}
  - id: none
    run: |
      echo "$DSEC_GPU_COUNT:$CUDA_VISIBLE_DEVICES" > "$DSEC_RUN_DIR/none"
    timeout: 1m
    needs: [inherited]
"""
BOX = "builtin:8xa100-sxm-80gb"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_plan_has_the_bounds_and_says_them(folder, capfd):
    assert run("dsec", ["plan", "dsandbox.yaml", "--inventory", BOX, "-o", "plan.json"]) == 0
    text = capfd.readouterr().out
    assert "starts on 1 to 8 GPUs" in text
    assert "pool: 2 of 8 GPUs" in text
    assert json.loads((folder / "plan.json").read_text())["elastic"] == [
        {"step": "own", "least": 1, "most": 8},
        {"step": "inherited", "least": 1, "most": 2},
    ]


def test_a_change_of_bounds_is_a_difference_between_plans(folder, capfd):
    argv = ["plan", "dsandbox.yaml", "--inventory", BOX, "-o"]
    assert run("dsec", [*argv, "old.json"]) == 0
    (folder / "dsandbox.yaml").write_text(CONTRACT.replace("max_count: 8", "max_count: 4"))
    assert run("dsec", [*argv, "new.json"]) == 0
    capfd.readouterr()
    assert run("dsec", ["plan", "--diff", "old.json", "new.json"]) == 1
    assert "1 to 8 GPUs -> 1 to 4 GPUs" in capfd.readouterr().out


@pytest.mark.battery
def test_the_run_starts_it_with_more_and_tells_it(folder, job, simulated_box):
    job.env |= simulated_box("8xa100-sxm-80gb")
    job.dsec("run", "dsandbox.yaml", "--job-id", "one", "--quiet")
    work = folder / ".dsec/runs/one/work"
    seen = {name: (work / name).read_text().strip().split(":") for name in ("own", "inherited", "none")}
    assert (seen["own"][0], len(seen["own"][1].split(","))) == ("3", 3), "one, and three tenths of eight"
    assert (seen["inherited"][0], len(seen["inherited"][1].split(","))) == ("2", 2)
    assert seen["none"][0] == "0"
