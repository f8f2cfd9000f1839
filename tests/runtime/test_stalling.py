"""Attempts that stop making progress, with real processes: seen, stacks saved, then the level decides."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from simulated import Machine

from dsec import journal as journals
from dsec.core.stall import FACTOR, FLOOR_US, Bounds
from dsec.monitor.checks.progress import bounds_of, rank_of
from dsec.monitor.running import Running
from dsec.simgpu.scenario import box, of_box

RANKS = """
import os, subprocess, sys, time
from dsec.sdk import context, metric, publish

ctx = context()

def launcher():
    children = [subprocess.Popen([sys.executable, __file__], env={**os.environ, "RANK": str(rank)})
                for rank in range(3)]
    sys.exit(max(child.wait() for child in children))

def waits_for_the_disk():
    time.sleep(600)

def waits_for_the_others(turn):
    open(f"{ctx.run_dir}/{ctx.attempt}-{turn}-{os.environ['RANK']}", "w").close()
    while not all(os.path.exists(f"{ctx.run_dir}/{ctx.attempt}-{turn}-{rank}") for rank in range(3)):
        time.sleep(0.05)

def train(rank):
    checkpoint = f"{ctx.run_dir}/checkpoint"
    first = int(open(checkpoint).read()) if os.path.exists(checkpoint) else 0
    print("rank", rank, "starts at", first, os.environ.get("NCCL_P2P_DISABLE"), flush=True)
    for turn in range(first, 24):
        until = time.process_time() + 0.03
        while time.process_time() < until:
            pass
        time.sleep(0.1)
        if (rank, turn, ctx.attempt) == (1, 18, 1):
            waits_for_the_disk()
        metric(turn=turn)
        waits_for_the_others(turn)
        if rank == 0:
            publish(checkpoint, str(turn + 1).encode())

train(int(os.environ["RANK"])) if "RANK" in os.environ else launcher()
"""
QUICK = (("DSEC_STALL_FACTOR", "2"), ("DSEC_STALL_FLOOR_S", "1"))


def notices(job: Any) -> list[str]:
    return [event["detail"] for event in job.events("notice") if event["kind"] == "stalled"]


@pytest.mark.battery
@pytest.mark.usefixtures("no_py_spy")
def test_a_hanging_rank_is_named_its_stack_saved_and_the_step_restarted_from_its_checkpoint(
    job: Any, kit: SimpleNamespace
) -> None:
    (job.folder / "ranks.py").write_text(RANKS)
    step = kit.step(
        "T",
        argv=(sys.executable, "ranks.py"),
        env=(*QUICK, ("DSEC_STALL_REMEDY", "NCCL_P2P_DISABLE=1")),
        retries=kit.retries(1, 0, 1),
        estimate_ms=500,
        estimate_source="declared",
    )
    job.env["DSEC_AUDIT_S"] = "0.2"
    out = job.run(kit.plan(step))
    first, again = job.events("exit")
    assert (first["cause"], again["cause"]) == ("stalled", "ok")
    assert first["detail"] == "rank 1 of 3 stopped first, its stacks are in stacks/T@0.1"
    assert "rank 1 of 3 stopped first" in out
    silence, who, what, remedy = notices(job)
    assert re.fullmatch(
        r"no sign of progress for \d+s, \d+s is allowed, and nothing works: stacks are in stacks/T@0\.1",
        silence,
    )
    assert who == "rank 1 of 3 stopped first"
    assert what == "it is ended and starts again"
    assert remedy == "it starts again with NCCL_P2P_DISABLE=1, as the contract asks"
    saved = {path.name.split("-")[0]: path.read_text() for path in (job.run_dir / "stacks/T@0.1").iterdir()}
    assert sorted(saved) == ["0", "1", "2", "none"]
    assert "in waits_for_the_disk" in saved["1"]
    assert "in waits_for_the_others" in saved["0"]
    assert "in waits_for_the_others" in saved["2"]
    log = (job.run_dir / "logs/T@0.2.log").read_text()
    assert "rank 1 starts at 18 1\n" in log
    for words in (("status", "j"), ("report", "j")):
        shown = " ".join(job.dsec(*words).split())
        assert "rank 1 of 3 stopped first" in shown


@pytest.mark.usefixtures("no_py_spy")
@pytest.mark.parametrize(
    ("given", "known", "said", "expect"),
    [
        ({"level": "critical"}, True, "it is critical, so it is left alone", 0),
        ({"level": "pauseable"}, True, "it has no retries left, so it is left alone", 0),
        ({"level": "discardable"}, True, "it is ended: the run can do without it", 0),
    ],
)
def test_the_tolerance_level_decides(
    given: dict[str, Any], known: bool, said: str, expect: int, job: Any, kit: SimpleNamespace
) -> None:
    stated = {"estimate_ms": 100, "estimate_source": "declared"} if known else {}
    # It waits at a pipe, which takes no processor, until it was told of.
    os.mkfifo(job.folder / "go")
    step = kit.step("T", shell="read line < go || true", env=QUICK, **stated, **given)
    job.save(kit.plan(step))
    job.env["DSEC_AUDIT_S"] = "0.2"
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: said in notices(job))
    if given["level"] != "discardable":
        (job.folder / "go").write_text("on\n")
    assert process.wait(60) == expect
    assert notices(job)[-1] == said
    assert (job.run_dir / "stacks/T@0.1").is_dir()
    ended = given["level"] == "discardable"
    assert [cause for _, cause in job.ends()] == (["stalled"] if ended else ["ok"])


MODULE = """
import time

def hangs(ctx):
    if ctx.attempt == 1:
        waits_for_a_lock()

def waits_for_a_lock():
    time.sleep(600)
"""


@pytest.mark.usefixtures("no_py_spy")
def test_a_call_that_hangs_shows_its_stack_and_is_called_again(job: Any, kit: SimpleNamespace) -> None:
    (job.folder / "mine.py").write_text(MODULE)
    step = kit.step(
        "C",
        call="mine:hangs",
        env=QUICK,
        retries=kit.retries(1, 0, 1),
        estimate_ms=100,
        estimate_source="declared",
    )
    job.env["DSEC_AUDIT_S"] = "0.2"
    job.run(kit.plan(step))
    assert job.ends() == [("C", "stalled"), ("C", "ok")]
    (saved,) = (job.run_dir / "stacks/C@0.1").iterdir()
    assert "in waits_for_a_lock" in saved.read_text()


CONTRACT = """
version: "1.0.0"
name: idle
base: python:3.11
baseline: {gpu: {count: 2, type: h100-sxm-80gb, memory: 40GiB}, cpu: 1, memory: 2GiB}
elasticity: {gpu: {min_count: 2, max_count: 2}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 10s, resume_strategy: step_resume}
dependencies: []
steps:
  - id: train
    run: |
      if [ $DSEC_ATTEMPT = 1 ]; then sleep 4; fi
    env: {DSEC_STALL_FACTOR: "2", DSEC_STALL_FLOOR_S: "1"}
    resources: {gpu: {count: 2, memory: 40GiB}}
    retries: 1
    expected_duration: 100ms
    timeout: 60s
"""


@pytest.mark.battery
@pytest.mark.battery
@pytest.mark.usefixtures("no_py_spy")
@pytest.mark.parametrize("more", ["", "gpu 1 error utilization 3\n", "gpu 0 utilization 900\n"])
def test_gpus_that_work_or_are_not_known_to_idle_are_no_stall(more: str, job: Any, machine: Machine) -> None:
    machine.rules(of_box(box("2xh100-sxm-80gb")) + more)
    environ = machine.environ()
    job.env |= {key: environ[key] for key in ("LD_LIBRARY_PATH", "SIM_GPU_SCENARIO")}
    job.env["DSEC_AUDIT_S"] = "0.5"
    (job.folder / "dsandbox.yaml").write_text(CONTRACT)
    job.dsec("run", "--job-id", "j")
    if more:
        assert notices(job) == []
        assert job.ends() == [("train", "ok")]
        return
    assert job.ends() == [("train", "stalled"), ("train", "ok")]
    assert notices(job)[1:] == [
        "it is ended and starts again",
        "where GPUs wait for each other NCCL_P2P_DISABLE=1 may mend it: "
        "DSEC_STALL_REMEDY in its environment asks for that",
    ]


@pytest.mark.parametrize(
    ("step", "run", "factor", "floor_us"),
    [
        ({}, {}, FACTOR, FLOOR_US),
        ({}, {"DSEC_STALL_FACTOR": "3", "DSEC_STALL_FLOOR_S": "0.5"}, 3, 500_000),
        ({"DSEC_STALL_FACTOR": "5"}, {"DSEC_STALL_FACTOR": "3"}, 5, FLOOR_US),
        ({"DSEC_STALL_FACTOR": "many", "DSEC_STALL_FLOOR_S": "-1"}, {}, FACTOR, FLOOR_US),
        ({"DSEC_STALL_FACTOR": "0", "DSEC_STALL_FLOOR_S": "nan"}, {}, 1, FLOOR_US),
        ({"DSEC_STALL_FLOOR_S": "inf"}, {"DSEC_STALL_FLOOR_S": "7"}, FACTOR, 7_000_000),
    ],
)
def test_how_patient_it_is_stands_in_the_environment_of_step_or_run(
    step: dict[str, str], run: dict[str, str], factor: int, floor_us: int
) -> None:
    assert bounds_of((step, run), 7) == Bounds(factor, floor_us, 7)


def test_an_attempt_that_stands_still_is_known_from_the_journal(tmp_path: Path) -> None:
    def record(**event: object) -> bytes:
        return journals.record(json.dumps(event, separators=(",", ":")))

    journal = tmp_path / "journal"
    named = {"step": "T", "iteration": 3, "attempt": 1}
    journal.write_bytes(
        journals.record(journals.header_payload(journals.Header("j", "hash", "/x", 0, "boot")))
    )
    tail = Running(str(journal))
    for event, frozen in (
        ({"event": "pause", "at_us": 1, **named, "how": "saved", "reason": ""}, set()),
        ({"event": "pause", "at_us": 1, **named, "how": "frozen", "reason": ""}, {("T", 3, 1)}),
        ({"event": "continue", "at_us": 2, **named}, set()),
    ):
        with journal.open("ab") as file:
            file.write(record(**event))
        tail.read()
        assert tail.frozen == frozen


def test_a_rank_is_what_launchers_call_one() -> None:
    assert rank_of({b"RANK": b"12", b"LOCAL_RANK": b"4"}) == 12
    assert rank_of({b"LOCAL_RANK": b"4"}) == 4
    assert rank_of({b"RANK": b"first"}) is None


@pytest.fixture
def no_py_spy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed here must not decide which stacks are seen."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.mark.battery
def test_a_remedy_is_remembered_when_the_run_is_resumed(job: Any, kit: SimpleNamespace) -> None:
    shell = (
        'echo "attempt $DSEC_ATTEMPT with $NCCL_P2P_DISABLE"; [ $DSEC_ATTEMPT = 1 ] && sleep 600; '
        "until [ -e go ]; do echo .; sleep 0.1; done"
    )
    job.env["DSEC_AUDIT_S"] = "0.2"
    step = kit.step(
        "T",
        shell=shell,
        env=(*QUICK, ("DSEC_STALL_REMEDY", "NCCL_P2P_DISABLE=1")),
        retries=kit.retries(1, 0, 1),
        estimate_ms=500,
        estimate_source="declared",
    )
    job.save(kit.plan(step))
    process = job.start("run", "plan.json", "--job-id", "j", "--quiet")
    kit.wait_for(lambda: (job.run_dir / "journal").exists() and len(job.events("spawn")) == 2)
    process.kill()
    process.wait()
    (job.folder / "go").touch()
    job.dsec("resume", "j", "--quiet")
    said = [(job.run_dir / f"logs/T@0.{at}.log").read_text().splitlines()[0] for at in (1, 2, 3)]
    assert said == ["attempt 1 with ", "attempt 2 with 1", "attempt 3 with 1"]
