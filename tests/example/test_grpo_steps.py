"""The Steps through their files: same policy as in one process, also when run again or hurt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsec.sdk import StepContext

SEEDED = {"S1": {"seed": 0}, "S2": {"seed": 0}, "S5": {"seed": 0}}


def context_of(folder: Path, step: str, iteration: int, *, attempt: int = 1) -> StepContext:
    return StepContext(
        run="test",
        step=step,
        iteration=iteration,
        attempt=attempt,
        run_dir=str(folder),
        contract_dir=str(folder),
        carried={"S5": iteration - 1} if step == "S2" else {},
    )


def run_steps(job: Any, folder: Path, iterations: range, **extra: dict[str, Any]) -> None:
    """Run all Steps; a Step's id as keyword gives it further arguments."""
    for iteration in iterations:
        for step, function in job.steps.STEPS.items():
            args = SEEDED.get(step, {}) | extra.get(step, {})
            function(context_of(folder, step, iteration), **args)


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def final_hash(folder: Path) -> str:
    return (folder / "policy.sha256").read_text().split()[0]


@pytest.mark.battery
def test_steps_equal_the_one_process(job: SimpleNamespace, tmp_path: Path) -> None:
    run_steps(job, tmp_path, range(3))
    want = list(job.run_in_process.train(0, iterations=3))
    assert final_hash(tmp_path) == job.grpo.policy_hash(want[-1][0])
    assert metrics(tmp_path) == [line for _, line in want]


@pytest.mark.battery
def test_the_hash_file_is_one_that_sha256sum_checks(job: SimpleNamespace, tmp_path: Path) -> None:
    run_steps(job, tmp_path, range(1))
    subprocess.run(["sha256sum", "-c", "--quiet", "policy.sha256"], cwd=tmp_path, check=True)


@pytest.mark.battery
def test_running_a_step_again_changes_nothing(job: SimpleNamespace, tmp_path: Path) -> None:
    for iteration in range(2):
        for step, function in job.steps.STEPS.items():
            args = SEEDED.get(step, {})
            function(context_of(tmp_path, step, iteration), **args)
            before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
            function(context_of(tmp_path, step, iteration, attempt=2), **args)
            assert before == {p.name: p.read_bytes() for p in tmp_path.iterdir()}, step


@pytest.mark.battery
def test_old_files_go_and_training_goes_on(job: SimpleNamespace, tmp_path: Path) -> None:
    run_steps(job, tmp_path, range(5), S6={"keep": 2})
    left = {p.name.split("-")[-1].split(".")[0] for p in tmp_path.glob("*-*")}
    assert left == {"3", "4"}
    assert [line["iteration"] for line in metrics(tmp_path)] == list(range(5))
    want = list(job.run_in_process.train(0, iterations=5))
    assert final_hash(tmp_path) == job.grpo.policy_hash(want[-1][0])


@pytest.mark.battery
def test_a_stale_policy_is_read_where_the_runtime_says(job: SimpleNamespace, tmp_path: Path) -> None:
    run_steps(job, tmp_path, range(2))
    stale = context_of(tmp_path, "S2", 2)
    stale.carried["S5"] = 0
    job.steps.load(context_of(tmp_path, "S1", 2), seed=0)
    job.steps.forward(stale, seed=0)
    job.steps.reward(context_of(tmp_path, "S3", 2))
    job.steps.sampling(context_of(tmp_path, "S4", 2))
    job.steps.update(context_of(tmp_path, "S5", 2), seed=0)
    written = json.loads((tmp_path / "update-2.json").read_text())
    assert written["policy_iteration"] == 0
    assert written["kl"] > metrics(tmp_path)[1]["kl"]


@pytest.mark.battery
def test_nan_spreads_and_the_metrics_stay_json(job: SimpleNamespace, tmp_path: Path) -> None:
    run_steps(job, tmp_path, range(3), S5={"nan_at": 1})
    lines = metrics(tmp_path)
    assert lines[0]["kl"] > 0
    assert lines[1]["kl"] == "nan"
    assert lines[1]["grad_norm"] == "nan"
    assert lines[2]["exact_match"] == 0.0
    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.mark.battery
def test_memory_runs_out_once(job: SimpleNamespace, tmp_path: Path) -> None:
    run_steps(job, tmp_path, range(1))
    for step in ("S1", "S2", "S3", "S4"):
        job.steps.STEPS[step](context_of(tmp_path, step, 1), **SEEDED.get(step, {}))
    with pytest.raises(MemoryError):
        job.steps.update(context_of(tmp_path, "S5", 1), seed=0, memory_error_at=1)
    assert not (tmp_path / "policy-1.npy").exists()
    job.steps.update(context_of(tmp_path, "S5", 1, attempt=2), seed=0, memory_error_at=1)
    want = list(job.run_in_process.train(0, iterations=2))
    assert (tmp_path / "policy-1.npy").read_bytes() == job.grpo.pack(want[-1][0])


@pytest.mark.battery
def test_straggler_sleeps_in_its_iteration_only(job: SimpleNamespace, tmp_path: Path) -> None:
    run_steps(job, tmp_path, range(2))

    def seconds(iteration: int) -> float:
        start = time.monotonic()
        job.steps.reward(context_of(tmp_path, "S3", iteration), sleep_s=0.5, sleep_at=1)
        return time.monotonic() - start

    assert seconds(1) >= 0.5
    assert seconds(0) < 0.5


@pytest.mark.battery
def test_death_during_the_checkpoint_leaves_no_half_of_it(
    job: SimpleNamespace, tmp_path: Path, example_folder: Path
) -> None:
    run_steps(job, tmp_path, range(1))
    (tmp_path / "checkpoint-0.npy").unlink()

    def save(attempt: int) -> int:
        environment = os.environ | {
            "DSEC_RUN": "test",
            "DSEC_STEP": "S6",
            "DSEC_ATTEMPT": str(attempt),
            "DSEC_ITERATION": "0",
            "DSEC_RUN_DIR": str(tmp_path),
            "DSEC_CONTRACT_DIR": str(example_folder),
            "DSEC_CARRIED": "",
        }
        argv = [sys.executable, "steps.py", "S6", "kill_at=0"]
        return subprocess.run(argv, cwd=example_folder, env=environment, check=False).returncode

    assert save(1) == -signal.SIGKILL
    assert not (tmp_path / "checkpoint-0.npy").exists()
    assert (tmp_path / "checkpoint-0.npy.half").exists()
    assert save(2) == 0
    whole = (tmp_path / "policy-0.npy").read_bytes() + (tmp_path / "optimizer-0.npy").read_bytes()
    assert (tmp_path / "checkpoint-0.npy").read_bytes() == whole


def test_an_unknown_step_is_refused(example_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "steps.py", "S9"], cwd=example_folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "usage: steps.py S1|S2" in done.stderr
