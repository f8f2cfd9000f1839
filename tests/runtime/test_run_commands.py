"""status, logs, cancel and report: all read the journal, none needs the executor."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from dsec.beginning import begin
from dsec.planfile import plan_bytes
from dsec.rundir import RunDir, never_began
from dsec_cli.commands import logs, run
from dsec_cli.commands.depending import Looked
from dsec_cli.options_args import Args


def begun(job):
    return (job.run_dir / "journal").exists() and job.events("spawn")


@pytest.mark.battery
def test_cancel_ends_a_run_and_says_so(job, kit):
    job.save(kit.plan(kit.step("A", argv=["sleep", "60"])))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: begun(job))
    assert "running" in job.dsec("status", "j")
    found = json.loads(job.dsec("status", "j", "--json"))
    assert found["executor"] == process.pid
    assert found["running"][0]["step"] == "A"
    assert job.dsec("cancel", "j") == "j cancelled\n"
    out = process.communicate()[0].decode()
    assert process.returncode == 143
    assert "dsec resume j" in out
    assert job.events()[-1]["outcome"] == "cancelled"
    assert "is not running: cancelled" in job.dsec("cancel", "j", expect=1)
    assert "cancelled" in job.dsec("status")


def test_a_killed_executor_is_dead_and_not_signalled(job, kit):
    job.save(kit.plan(kit.step("A", argv=["sleep", "60"])))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: begun(job))
    process.kill()
    process.communicate()
    assert job.dsec("status").startswith(
        "j: dead, 0 of 1 done, 1 cut off\n  A attempt 1 was cut off when the executor ended\n"
    )
    assert "0 of 1 done, 1 cut off" in job.dsec("report", "j")
    assert "is not running" in job.dsec("cancel", "j", expect=1)


def test_a_retry_that_waits_is_no_failure(job, kit):
    job.save(kit.plan(kit.step("A", argv=["false"], retries=kit.retries(1, 30_000, 1))))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: begun(job) and job.events("retry"))
    out = job.dsec("status", "j")
    assert out.startswith("j: running, 0 of 1 done, 1 waiting to retry\n")
    assert re.search(r"  A exited with code 1; waiting to retry \(attempt 2 in [123][0-9]\.[0-9]s\)\n", out)
    found = json.loads(job.dsec("status", "j", "--json"))
    assert (found["failed"], found["failures"], found["retrying"][0]["attempt"]) == (0, [], 2)
    process.send_signal(signal.SIGINT)
    process.communicate()
    found = json.loads(job.dsec("status", "j", "--json"))
    assert (found["failed"], found["retrying"]) == (1, [])


def test_logs_of_steps_iterations_and_attempts(job, kit):
    script = (
        'echo "$DSEC_STEP $DSEC_ITERATION $DSEC_ATTEMPT"; test "$DSEC_ATTEMPT" = 2 || test "$DSEC_STEP" = B'
    )
    steps = [kit.step("A", shell=script, retries=kit.retries(1, 0, 1)), kit.step("B", "A", shell=script)]
    job.run(kit.plan(*steps, count=2))
    assert job.dsec("logs", "j", "B", "--iteration", "1") == "B 1 1\n"
    assert job.dsec("logs", "j", "A", "--iteration", "0").splitlines() == [
        "==> A@0 attempt 1 <==",
        "A 0 1",
        "==> A@0 attempt 2 <==",
        "A 0 2",
    ]
    assert job.dsec("logs").count("==>") == 6
    assert "has no Step 'X'; " in job.dsec("logs", "j", "X", expect=2).replace(
        " (hint: Steps", "; (hint: Steps"
    )
    assert "there is no run 'k'" in job.dsec("logs", "k", expect=3)
    assert "has no Step 'X'" in job.dsec("logs", "j", "X", "-f", expect=2)
    assert "iterations: 0 to 1" in job.dsec("logs", "j", "A", "--iteration", "2", expect=2)


@pytest.mark.battery
def test_logs_say_why_nothing_was_printed(job, kit):
    plan = kit.plan(kit.step("A", argv=["no-such-program"]), kit.step("B", "A"))
    job.run(plan, expect=1)
    why = "A could not start: the program was not found: no-such-program"
    assert why in job.dsec("logs", "j", "A", expect=3)
    assert why in job.dsec("logs", "j", expect=3)
    told = job.dsec("logs", "j", "B", expect=3)
    assert "B has not started in run j (hint: dsec status j --why B says why)" in told
    assert job.dsec("status", "j", "--why", "B")


def test_logs_follow_until_the_end(job, kit):
    script = "for i in 1 2 3 4 5; do echo line $i; sleep 0.2; done"
    job.save(kit.plan(kit.step("A", shell=script), kit.step("B", "A", shell="echo done")))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: begun(job))
    out = job.dsec("logs", "j", "-f")
    process.communicate()
    assert [line for line in out.splitlines() if "==>" not in line] == [f"line {n}" for n in range(1, 6)] + [
        "done"
    ]


@pytest.mark.battery
def test_the_report_counts_and_the_durations_are_learned(job, kit):
    steps = [
        kit.step("A", argv=["sleep", "0.2"], estimate_ms=100),
        kit.step("B", "A", shell='test "$DSEC_ATTEMPT" = 2', retries=kit.retries(1, 0, 1)),
        kit.step("side"),
    ]
    job.run(kit.plan(*steps, count=2))
    found = json.loads(job.dsec("report", "--json"))
    rows = {row["id"]: row for row in found["steps"]}
    assert found["outcome"] == "succeeded"
    assert found["instances"] == {
        **dict.fromkeys(("failed", "stopped", "dropped", "running", "cut_off"), 0),
        "total": 6,
        "done": 6,
    }
    assert rows["B"]["retries"] == 2
    assert rows["B"]["failures"] == 2
    assert 150 < rows["A"]["wall_p50_ms"] < 5000
    assert found["critical_path"]["actual"][-2:] == ["A@1", "B@1"]
    assert found["gpu_ms"] is None
    assert 0 <= found["idle_share"]["cpu"] <= 1
    assert found["idle_share"]["gpu"] is None
    learned = json.loads((job.folder / ".dsec" / "durations.json").read_text())
    assert learned["version"] == 3
    (mine,) = learned["contracts"].values()
    assert [one["n"] for one in mine["A"]] == [2]
    assert "| A | 2/2 |" in job.dsec("report")
    assert json.loads((job.run_dir / "report.json").read_text()) == found


def test_a_report_that_cannot_be_kept_is_printed_all_the_same(job, kit):
    job.run(kit.plan(kit.step("A")))
    kept = job.run_dir / "report.json"
    kept.unlink()
    kept.mkdir()
    out = job.dsec("report", "j")
    assert "# Run j: succeeded" in out
    assert "warning: the report is not kept: " in out


def test_a_run_folder_can_be_named_from_anywhere(job, kit, tmp_path):
    job.run(kit.plan(kit.step("A")))
    other = type(job)(tmp_path)
    other.folder = tmp_path.parent
    assert "succeeded" in other.dsec("status", str(job.run_dir))
    inner = job.folder / "sub" / "deeper"
    inner.mkdir(parents=True)
    other.folder = inner
    assert "j: succeeded" in other.dsec("status")


@pytest.mark.battery
def test_an_interrupted_step_is_stopped_and_no_failure(job, kit):
    job.save(kit.plan(kit.step("A", argv=["sleep", "60"])))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: begun(job))
    process.send_signal(signal.SIGINT)
    assert "j: interrupted in" in process.communicate()[0].decode()
    assert job.dsec("status", "j").startswith("j: interrupted, 0 of 1 done, 1 stopped\n")
    found = json.loads(job.dsec("status", "j", "--json"))
    assert (found["failed"], found["stopped"], found["failures"]) == (0, 1, [])
    told = json.loads(job.dsec("report", "j", "--json"))
    assert (told["instances"]["failed"], told["instances"]["stopped"], told["failures"]) == (0, 1, [])
    shown = job.dsec("report", "j")
    assert "0 of 1 done, 1 stopped" in shown
    assert "## Failures" not in shown
    assert "- A was stopped because the run was ending (log: logs/A@0.1.log)" in shown


@pytest.mark.battery
def test_a_report_of_a_run_that_goes_on_is_of_this_moment(job, kit):
    job.save(kit.plan(kit.step("A"), kit.step("B", "A", argv=["sleep", "60"])))
    job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: begun(job) and len(job.events("spawn")) == 2)
    spawned_ms = job.events("spawn")[1]["at_us"] // 1000
    told = kit.wait_for(
        lambda: (found := json.loads(job.dsec("report", "j", "--json")))["running"][0]["for_ms"] and found
    )
    [running] = told["running"]
    assert (told["outcome"], running["step"], running["attempt"]) == ("running", "B", 1)
    assert abs(told["wall_ms"] - spawned_ms - running["for_ms"]) <= 2
    assert told["idle_share"]["cpu"] < 1
    shown = job.dsec("report", "j")
    assert shown.startswith("# Run j: running\n\n1 of 2 done, 1 running")
    assert "## Running\n\n- B for " in shown
    job.dsec("cancel", "j")


def test_what_to_resume_is_a_path_where_the_job_id_is_not_known(job, kit, tmp_path_factory):
    job.save(kit.plan(kit.step("A", argv=["false"])))
    other = type(job)(tmp_path_factory.mktemp("else where"))
    out = other.dsec("run", f"{job.folder}/plan.json", "--job-id", "j", expect=1)
    hint = out.splitlines()[-1].partition("go on with: dsec ")[2]
    assert shlex.split(hint) == ["resume", str(job.run_dir)]
    assert "dsec resume j\n" in job.dsec("resume", "j", expect=1)


@pytest.mark.battery
def test_resume_says_that_a_changed_contract_is_not_taken(job):
    assert job.dsec("init")
    contract = job.folder / "dsandbox.yaml"
    contract.write_text(contract.read_text().replace("seq 1 100 >", "test -e mended && seq 1 100 >"))
    job.dsec("run", "--job-id", "j", expect=1)
    os.utime(contract)
    assert "has changed" not in job.dsec("resume", "j", expect=1)
    contract.write_text(contract.read_text() + "# more\n")
    assert "warning: dsandbox.yaml has changed" in job.dsec("resume", "j", expect=1)
    (job.folder / "mended").touch()
    assert "has changed" not in job.dsec("resume", "j", "--json")
    assert "nothing is left to do" in job.dsec("resume", "j")
    assert not (job.run_dir / "journal.reserve").exists()


def test_no_run_at_all(job):
    assert "there is no run in" in job.dsec("status", expect=3)
    assert "dsec run" in job.dsec("report", expect=3)


@pytest.mark.battery
@pytest.mark.parametrize("left", [b"", b"\0" * 300, b"00000100 12345678 {"])
def test_a_run_that_never_began_is_told_as_that(job, kit, left):
    """Killed before its first record, or the power went before that was on the disk."""
    job.run_dir.mkdir(parents=True)
    (job.run_dir / "journal").write_bytes(left)
    for command in ("resume", "status", "logs", "report", "top"):
        out = job.dsec(command, "j", *(["--once"] if command == "top" else []), expect=3)
        told = "run j never began: it was cut off before its first record (hint: start it with: dsec run"
        assert told in out, out
    assert "never began" in job.dsec("status", expect=3)
    job.save(kit.plan(kit.step("A")))
    job.dsec("run", "plan.json", "--job-id", "other")
    assert job.dsec("status").startswith("other: succeeded")
    job.dsec("run", "plan.json", "--job-id", "j")
    assert job.dsec("status", "j").startswith("j: succeeded")


def test_a_run_that_is_just_beginning_is_told_as_that(job):
    job.run_dir.mkdir(parents=True)
    with (job.run_dir / "journal").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (job.run_dir / "plan.json").write_bytes(b"")
        assert "never began" not in job.dsec("status", "j", expect=3)
        assert str(never_began(RunDir("j", str(job.run_dir)))) == (
            "run j is just beginning (hint: ask again in a moment)"
        )


def test_ctrl_c_before_the_first_record_leaves_nothing(kit, tmp_path, monkeypatch):
    def pressed(*_, **__):
        raise KeyboardInterrupt

    plan = kit.plan(kit.step("A"))
    prepared = run.Prepared(plan, plan_bytes(plan), str(tmp_path), plan.inventory)
    monkeypatch.setattr(run, "header_payload", pressed)
    made, journal = begin(str(tmp_path / ".dsec"), "j", clock=time.monotonic)
    with pytest.raises(KeyboardInterrupt):
        run._write_down(made, journal, prepared, Looked((), 0))
    assert os.listdir(tmp_path / ".dsec" / "runs") == []


def test_a_run_is_left_without_taking_it_apart(job, kit):
    """Collections and the interpreter's own end took 20 us for each Step of a run of 5,000."""
    job.save(kit.plan(kit.step("A")))
    script = (
        "import atexit, gc, sys; from dsec_cli.fast import dsec; from dsec.runner import Runner;"
        " atexit.register(print, 'taken apart'); work = Runner.work;"
        " Runner.work = lambda self: (print('collects:', gc.isenabled()), work(self));"
        " sys.exit(dsec())"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, "run", "plan.json", "--job-id", "j"],
        cwd=job.folder,
        env=job.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "collects: False" in told.stdout
    assert "taken apart" not in told.stdout


BESIDE_A_THREAD = """
import sys, threading, time
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
from dsec_cli.fast import dsec
dsec()
"""


def test_another_thread_takes_no_end_of_a_step_away(tmp_path):
    """A library's thread does not block signals, so the kernel may give it one that we wait for."""
    steps = "".join(f"  - {{id: S{at}, run: /bin/true, timeout: 1m}}\n" for at in range(60))
    (tmp_path / "dsandbox.yaml").write_text(
        "name: t\nbaseline: {cpu: 2, memory: 1Gi}\nelasticity: {}\n"
        f"fault_tolerance: {{level: pauseable}}\ndependencies: []\nsteps:\n{steps}"
    )
    done = subprocess.run(
        [sys.executable, "-c", BESIDE_A_THREAD, "run", "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_written_before_it_begins_to_follow_is_not_lost(job, kit, monkeypatch, capfd):
    """A line that comes after the first look, and before the second."""
    job.run(kit.plan(kit.step("A", shell="echo line 1")))
    log = job.run_dir / "logs" / "A@0.1.log"
    copy = logs._copy

    def late(run, part, out, **given):
        at = copy(run, part, out, **given)
        if log.read_text() == "line 1\n":
            log.write_text("line 1\nline 2\n")
        return at

    monkeypatch.setattr(logs, "_copy", late)
    monkeypatch.chdir(job.folder)
    args = Args({"job": "j", "step": None, "iteration": None, "grep": None, "follow": True, "lang": "auto"})
    assert logs.main(args) == 0
    assert capfd.readouterr().out == "line 1\nline 2\n"
