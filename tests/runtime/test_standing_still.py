"""Ctrl-Z: the Steps stand still with dsec, and go on with it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


@pytest.fixture
def standing(job, kit):
    """A run with a Step in its process and one in a worker, both stopped; its process and all pids."""
    (job.folder / "mod.py").write_text("import time\ndef nap(ctx):\n    time.sleep(1.5)\n")
    steps = [
        kit.step("A", argv=["sleep", "1.5"], timeout_ms=3000),
        kit.step("B", call="mod:nap", timeout_ms=3000),
    ]
    job.save(kit.plan(*steps))
    # In a process group of its own, as a shell makes it; in this session, or nobody could continue it.
    process = job.start("run", "plan.json", "--job-id", "j", start_new_session=False, process_group=0)
    kit.wait_for(lambda: (job.run_dir / "journal").exists() and len(job.events("spawn")) == 2)
    pids = [process.pid, *(event["pid"] for event in job.events("spawn"))]
    process.send_signal(signal.SIGTSTP)
    kit.wait_for(lambda: [state(pid) for pid in pids] == ["T"] * 3)
    return process, pids


@pytest.mark.battery
def test_steps_stand_still_and_the_time_does_not_count(job, kit, standing):
    process, pids = standing
    until = time.monotonic() + 3.5  # longer than the timeouts
    kit.wait_for(lambda: time.monotonic() > until)
    assert [state(pid) for pid in pids] == ["T"] * 3
    assert [event["event"] for event in job.events() if event["event"] in ("exit", "cancel")] == []
    process.send_signal(signal.SIGCONT)
    out = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0, out
    assert sorted(job.ends()) == [("A", "ok"), ("B", "ok")]


def test_a_run_that_stands_still_can_be_cancelled(job, standing):
    process, pids = standing
    assert job.dsec("cancel", "j") == "j cancelled\n"
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


def test_a_run_that_nobody_could_continue_goes_on(job, kit):
    """Without job control (a container's first shell) Ctrl-Z stops nothing, so it must not stop Steps."""
    job.save(kit.plan(kit.step("A", argv=["sleep", "1"])))
    process = job.start("run", "plan.json", "--job-id", "j")  # a session of its own
    kit.wait_for(lambda: (job.run_dir / "journal").exists() and job.events("spawn"))
    process.send_signal(signal.SIGTSTP)
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.battery
def test_what_ended_in_time_while_the_executor_was_stopped_is_not_late(job, kit):
    step = kit.step("A", shell="until [ -e $DSEC_RUN_DIR/go ]; do sleep 0.02; done", timeout_ms=2000)
    job.save(kit.plan(step))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: job.run_dir.exists() and job.events("spawn"))
    begun = time.monotonic()
    os.kill(process.pid, signal.SIGSTOP)
    (job.run_dir / "work/go").touch()
    pid = job.events("spawn")[0]["pid"]
    kit.wait_for(lambda: state(pid) == "Z")
    kit.wait_for(lambda: time.monotonic() > begun + 3)
    os.kill(process.pid, signal.SIGCONT)
    out = process.communicate(timeout=60)[0].decode()
    assert job.ends() == [("A", "ok")], out
