"""The wall clock jumps by days while a run goes on: no time-out, retry or resume heeds it."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dsec.core.calendar import apart_us
from dsec.events import RunStart

DAY = 86_400.0
JUMPS = (DAY, -300 * DAY, -30.0, 0.0)


def test_the_clock_of_the_test_jumps(clock: Any) -> None:
    code = "import time as t; a = t.monotonic(); print(t.time()); input(); print(t.time(), t.monotonic() - a)"
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=clock.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    first = float(process.stdout.readline())
    clock.jump(-DAY)
    later, went = map(float, process.communicate("\n", timeout=30)[0].split())
    assert first - DAY - 60 < later < first - DAY + 60
    assert 0 <= went < 60


@pytest.mark.battery
def test_nothing_is_late_and_nothing_runs_twice(job: Any, kit: SimpleNamespace, clock: Any) -> None:
    job.env |= clock.env
    waits = "while ! [ -e $DSEC_CONTRACT_DIR/go-$DSEC_STEP ]; do sleep 0.05; done"
    fails_once = "echo $DSEC_ATTEMPT; [ $DSEC_ATTEMPT = 2 ]"
    job.save(
        kit.plan(
            kit.step("A", shell=waits, timeout_ms=20_000),
            kit.step("F", "A", shell=fails_once, retries=kit.retries(1, 200, 1)),
            kit.step("B", "F", shell=waits, timeout_ms=20_000),
        )
    )
    process = job.start("run", "plan.json", "--job-id", "j", "--quiet")
    kit.wait_for(lambda: (job.run_dir / "journal").exists() and job.events("spawn"))
    for jump in JUMPS:
        clock.jump(jump)
        seen = json.loads(job.dsec("top", "j", "--json"))
        assert 0 <= seen["elapsed_ms"] < 60_000
        assert all((row["elapsed_ms"] or 0) >= 0 for row in seen["steps"])
    clock.jump(DAY)
    (job.folder / "go-A").touch()
    kit.wait_for(lambda: any(one["step"] == "B" for one in job.events("spawn")))
    process.kill()
    process.wait()
    clock.jump(-DAY)
    resumed = job.start("resume", "j", "--quiet")
    kit.wait_for(lambda: len([one for one in job.events("spawn") if one["step"] == "B"]) == 2)
    clock.jump(DAY)
    (job.folder / "go-B").touch()
    out = resumed.communicate(timeout=60)[0].decode()
    assert resumed.returncode == 0, out
    assert job.ends() == [("A", "ok"), ("F", "exit"), ("F", "ok"), ("B", "ok")]
    assert all(0 <= one["wall_us"] < 20_000_000 for one in job.events("exit"))
    told = json.loads(job.dsec("report", "j", "--json"))
    assert all(value >= 0 for name, value in told.items() if name.endswith("_s") and value is not None)


@pytest.mark.parametrize("jump", [-DAY, DAY])
def test_what_the_monitor_says_of_now_does_not_depend_on_it(
    job: Any, kit: SimpleNamespace, clock: Any, jump: float
) -> None:
    """A Step that prints all the time makes progress, whatever day it is."""
    job.env |= {**clock.env, "DSEC_AUDIT_S": "0.1"}
    shell = "i=0; while ! [ -e $DSEC_CONTRACT_DIR/go ]; do echo $i; sleep 0.05; done"
    env = (("DSEC_STALL_FACTOR", "1"), ("DSEC_STALL_FLOOR_S", "1"))
    job.save(kit.plan(kit.step("A", shell=shell, env=env, estimate_ms=100, estimate_source="declared")))
    process = job.start("run", "plan.json", "--job-id", "j", "--quiet")
    audit = job.run_dir / "audit"
    kit.wait_for(lambda: audit.exists() and audit.read_bytes().count(b"\n") > 5)
    clock.jump(jump)
    before = audit.read_bytes().count(b"\n")
    kit.wait_for(lambda: audit.read_bytes().count(b"\n") > before + 25)
    (job.folder / "go").touch()
    out = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0, out
    assert job.events("notice") == []
    assert job.ends() == [("A", "ok")]


def test_what_is_between_two_executors_is_measured_where_the_calendar_was_set() -> None:
    first = RunStart(0, 1, 10, 500, "boot", 1_000_000, False)
    assert apart_us(first, first._replace(ticks=6_500, wall_ms=1_060_123)) == 60_123_000
    assert apart_us(first, first._replace(ticks=6_500, wall_ms=900_000)) == 60_000_000
    assert apart_us(first, first._replace(boot="another", ticks=100, wall_ms=1_900_000)) == 900_000_000
