"""The example through the installed command: workers, processes, faults and a killed executor."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import examples

ITERATIONS = 3
BIN = Path(sys.executable).parent


@pytest.fixture
def folder(example_folder: Path, tmp_path: Path) -> Path:
    return copied(example_folder, tmp_path)


def copied(example_folder: Path, to: Path) -> Path:
    """A copy of the example with fewer iterations."""
    copy = examples.copied("grpo-addition", to / "grpo-addition")
    for name in ("dsandbox.yaml", "process.yaml"):
        edit(copy / name, "count: 20", f"count: {ITERATIONS}")
    return copy


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, f"{file} does not hold {old!r}"
    file.write_text(text.replace(old, new))


def environment() -> dict[str, str]:
    return os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}


def dsec(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / "dsec"), *args],
        cwd=folder,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )


def run(folder: Path, contract: str, job: str) -> Path:
    """Run a contract to a good end; return its work folder."""
    done = dsec(folder, "run", contract, "--job-id", job)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / ".dsec" / "runs" / job / "work"


def final_hash(work: Path) -> str:
    return (work / "policy.sha256").read_text().split()[0]


def metrics(work: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (work / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def in_process(example_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Hash of the policy that one process without DSec ends with."""
    folder = copied(example_folder, tmp_path_factory.mktemp("one"))
    shown = subprocess.run(
        [sys.executable, "run_in_process.py", "--iterations", str(ITERATIONS)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.search(r"policy ([0-9a-f]{64})", shown)
    assert found, shown
    return found[1]


@pytest.fixture(scope="module")
def warm(example_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of an undisturbed run by resident workers."""
    return run(copied(example_folder, tmp_path_factory.mktemp("warm")), "dsandbox.yaml", "loop")


@pytest.mark.battery
def test_workers_and_one_process_agree(warm: Path, in_process: str) -> None:
    assert final_hash(warm) == in_process
    assert [line["iteration"] for line in metrics(warm)] == list(range(ITERATIONS))


@pytest.mark.battery
def test_workers_and_processes_agree(folder: Path, warm: Path) -> None:
    """The ordinary suite has it of a run of processes that was killed and resumed."""
    cold = run(folder, "process.yaml", "cold")
    assert final_hash(cold) == final_hash(warm)
    assert metrics(cold) == metrics(warm)


@pytest.mark.battery
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "args: {seed: 0}\n    worker: learner\n    needs: [S4]",
            "args: {seed: 0, memory_error_at: 1}\n    worker: learner\n    needs: [S4]",
        ),
        ("call: steps:checkpoint\n", "call: steps:checkpoint\n    args: {kill_at: 1}\n"),
    ],
    ids=["out-of-memory", "killed-in-checkpoint"],
)
def test_a_step_that_dies_is_tried_again(folder: Path, in_process: str, old: str, new: str) -> None:
    edit(folder / "dsandbox.yaml", old, new)
    work = run(folder, "dsandbox.yaml", "hurt")
    assert final_hash(work) == in_process
    journal = (work.parent / "journal").read_text()
    assert journal.count('"event":"retry"') == 1


@pytest.mark.battery
def test_without_retries_the_run_says_which_step_failed(folder: Path) -> None:
    edit(
        folder / "process.yaml",
        "run: python3 steps.py S5 seed=0",
        "run: python3 steps.py S5 seed=0 memory_error_at=1",
    )
    edit(folder / "process.yaml", "    retries: 1\n", "")
    done = dsec(folder, "run", "process.yaml", "--job-id", "hurt")
    assert done.returncode == 1
    assert "S5" in done.stdout + done.stderr
    logs = "".join(path.read_text() for path in (folder / ".dsec/runs/hurt/logs").iterdir())
    assert "MemoryError" in logs


@pytest.mark.battery
@pytest.mark.parametrize("contract", ["dsandbox.yaml", "process.yaml"])
def test_a_killed_run_resumes_to_the_same_policy(
    folder: Path, warm: Path, in_process: str, contract: str
) -> None:
    journal = folder / ".dsec/runs/night/journal"
    with subprocess.Popen(
        [BIN / "dsec", "run", contract, "--job-id", "night"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 200
        seen = ""
        while '"event":"exit","step":"S5","iteration":1' not in seen:
            assert time.monotonic() < deadline, f"no second update in the journal: {seen[-2000:]}"
            assert process.poll() is None, "the run ended before it was killed"
            time.sleep(0.002)
            seen = journal.read_text() if journal.exists() else ""
        process.send_signal(signal.SIGKILL)
    done = dsec(folder, "resume", "night")
    assert done.returncode == 0, done.stdout + done.stderr
    work = journal.parent / "work"
    assert final_hash(work) == in_process
    assert metrics(work) == metrics(warm)
    ends = re.findall(
        r'"event":"exit","step":"(S\d)","iteration":(\d+),"attempt":\d+,"cause":"ok"', journal.read_text()
    )
    assert sorted(ends) == sorted((f"S{s}", str(i)) for s in range(1, 8) for i in range(ITERATIONS))


def rewind(run: Path, whole: Path, kept: int) -> None:
    """Lay a run's folder as it was when the journal held `kept` records and half of the next."""
    shutil.rmtree(run)
    shutil.copytree(whole, run)
    lines = (whole / "journal").read_bytes().splitlines(keepends=True)
    torn = lines[kept][: len(lines[kept]) // 2] if kept < len(lines) else b""
    (run / "journal").write_bytes(b"".join(lines[:kept]) + torn)
    done = {
        (event["step"], event["iteration"])
        for event in (json.loads(line[18:]) for line in lines[:kept])
        if event.get("event") == "exit"
    }
    writes = {
        "S1": ["prompts.npy"],
        "S2": ["rollouts.npy"],
        "S3": ["rewards.npy"],
        "S4": ["groups.json", "batch.npy"],
        "S5": ["optimizer.npy", "update.json", "policy.npy"],
        "S6": ["checkpoint.npy"],
    }
    for step, names in writes.items():
        for iteration in range(ITERATIONS):
            if (step, iteration) not in done:
                for stem, suffix in (name.split(".") for name in names):
                    (run / "work" / f"{stem}-{iteration}.{suffix}").unlink()
    if ("S6", 0) not in done:
        (run / "work" / "policy.sha256").unlink()
    if ("S7", 0) not in done:
        (run / "work" / "metrics.jsonl").unlink()


def resume_from(warm: Path, boundaries: Callable[[int], Iterable[int]]) -> None:
    folder = warm.parents[3]
    work = warm
    want, lines = final_hash(work), metrics(work)
    whole = folder / "whole"
    shutil.copytree(work.parent, whole)
    records = len((whole / "journal").read_bytes().splitlines())
    for kept in boundaries(records):
        rewind(work.parent, whole, kept)
        done = dsec(folder, "resume", "loop")
        assert done.returncode == 0, f"from record {kept}: {done.stdout}{done.stderr}"
        assert final_hash(work) == want, f"from record {kept}"
        assert metrics(work) == lines, f"from record {kept}"


@pytest.mark.battery
def test_resume_from_a_few_record_boundaries(warm: Path) -> None:
    resume_from(warm, lambda records: (2, records // 2))


@pytest.mark.battery
def test_resume_from_every_record_boundary(warm: Path) -> None:
    resume_from(warm, lambda records: range(1, records + 1))


@pytest.mark.battery
def test_a_stale_run_overlaps_and_is_repeatable(folder: Path, in_process: str) -> None:
    edit(folder / "dsandbox.yaml", "max_staleness: 0", "max_staleness: 1")
    first, second = run(folder, "dsandbox.yaml", "one"), run(folder, "dsandbox.yaml", "two")
    assert final_hash(first) == final_hash(second) != in_process
    assert [line["policy_iteration"] for line in metrics(first)] == [-1, -1, 0]


def test_shipped_contracts_keep_more_files_than_iterations_in_flight(
    job: SimpleNamespace, example_folder: Path
) -> None:
    """CheckpointSave may only drop files of iterations that are complete."""
    keep = job.steps.checkpoint.__kwdefaults__["keep"]
    for name in ("dsandbox.yaml", "process.yaml"):
        text = (example_folder / name).read_text()
        assert "in_flight" not in text
        assert "keep" not in text
        staleness = re.search(r"^  max_staleness: (\d+)$", text, re.MULTILINE)
        assert staleness
        assert keep >= int(staleness[1]) + 2


@pytest.mark.battery
def test_a_hanging_rollout_is_seen_its_stack_saved_and_the_policy_unharmed(folder: Path, warm: Path) -> None:
    edit(
        folder / "dsandbox.yaml",
        """    call: steps:forward
    args: {seed: 0}
""",
        """    call: steps:forward
    args: {seed: 0, hang_at: 1}
    retries: 1
    env: {DSEC_STALL_FACTOR: "2", DSEC_STALL_FLOOR_S: "2"}
""",
    )
    work = run(folder, "dsandbox.yaml", "hung")
    for name in ("policy.sha256", "metrics.jsonl"):
        assert (work / name).read_bytes() == (warm / name).read_bytes()
    (saved,) = (work.parent / "stacks" / "S2@1.1").iterdir()
    assert "faults.py" in saved.read_text()
    told = dsec(folder, "report", "hung").stdout
    assert "no sign of progress for" in told
    assert (work.parent / "metrics" / "S7@2.1.jsonl").is_file()
