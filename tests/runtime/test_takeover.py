"""A run that is taken over: nothing of the new executor is ended by what the old one left behind."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import types
import uuid

import pytest

from dsec import orphans, sweep, warden, wardship
from dsec.broker.desk import Who
from dsec.broker.leftovers import Leftovers
from dsec.errors import RunProblem
from dsec.journal import Journal, record
from dsec.resume import locked_by, past_of
from dsec.rundir import RunDir

DELAYS = (0.0, 0.3, 1.0)
SHAPES = {
    "plain": "sleep 0.8; sleep 0.1",
    "deaf": "trap '' TERM; sleep 0.8; sleep 0.1",
    "background": "sleep 0.9 & sleep 0.8; wait",
    "setsid": "setsid -w sleep 0.8; sleep 0.1",
    "scrubbed": "env -i sh -c 'sleep 0.8'; sleep 0.1",
    "daemon": "env -i setsid sh -c '(setsid sleep 5 &)'; sleep 0.8",
}


def started(pid, ticks, session=1, boot=None):
    boot = boot or sweep.boot_id()
    return {"event": "run-start", "at_us": 0, "session": session, "pid": pid, "ticks": ticks, "boot": boot}


def spawned(pid, ticks):
    fields = {"step": "A", "iteration": 0, "attempt": 1, "worker": ""}
    return {"event": "spawn", **fields, "pid": pid, "ticks": ticks, "ticks_by": ticks}


def journal(folder, *events):
    path = folder / "journal"
    path.write_bytes(b"".join(record(json.dumps(one)) for one in ({"job": "j"}, *events)))
    return str(path)


def test_only_what_an_executor_began_is_its(tmp_path):
    path = journal(tmp_path, started(1, 10), spawned(5, 11), started(2, 20), spawned(6, 21))
    assert warden.pids_in(path) == {6: (21, 21)}
    assert warden.pids_in(path, last="1-10") == {5: (11, 11)}
    assert warden.pids_in(path, last="2-20") == {6: (21, 21)}
    assert warden.pids_in(path, last="3-30") == {}
    assert warden.successors(path, "1-10") == warden.Successors(frozenset({"2-20"}), 20)
    assert warden.successors(path, "2-20") is None
    # The folder was made anew under the same name: all of it came later.
    assert warden.successors(path, "3-30") == warden.Successors(frozenset({"1-10", "2-20"}), 10)
    assert warden.successors(str(tmp_path / "none"), "1-10") is None


@pytest.mark.parametrize(
    "last", [b"{", b'{"event":"run-start"}', b'{"event":"run-start","boot":[],"pid":{}}']
)
def test_a_record_that_nobody_knows_is_no_executor(tmp_path, last):
    path = journal(tmp_path, started(1, 10), spawned(5, 11))
    with open(path, "ab") as file:
        file.write(b"0" * 18 + last + b"\n" + b"\xff\0 run-start\n")
    assert warden.successors(path, "1-10") is None
    assert warden.pids_in(path, last="1-10") == {5: (11, 11)}


def test_of_another_boot_nobody_is_a_successor(tmp_path):
    path = journal(tmp_path, started(1, 10), started(2, 20, boot="other"))
    assert warden.successors(path, "1-10") is None


@contextlib.contextmanager
def sleeper(folder, *, executor="", mark=True, log=True):
    """A process of the run, by its environment, its log or both; `executor`: which one it names."""
    env = {"DSEC_RUN": "j", "DSEC_RUN_DIR": f"{folder}/work"} if mark else {}
    env |= {"DSEC_EXECUTOR": executor} if executor else {}
    (folder / "logs").mkdir(exist_ok=True)
    out = open(folder / "logs" / "A@0.1.log", "ab") if log else subprocess.DEVNULL  # noqa: SIM115
    process = subprocess.Popen(["sleep", "600"], env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if log:
            out.close()


def next_tick():
    """Wait until the clock that start times are taken from has moved on."""
    began = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 10_000_000
    while time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 10_000_000 <= began:
        time.sleep(0.001)


@pytest.fixture
def taken_over(tmp_path):
    """Processes of a killed executor and of the one that has taken its run over."""
    with contextlib.ExitStack() as stack:

        def begin(**given):
            return stack.enter_context(sleeper(tmp_path, **given))

        first = "4194000-10"
        old = [
            begin(executor=first),
            begin(),
            begin(mark=False),
            begin(executor=first, log=False),
        ]
        next_tick()
        later = begin(mark=False, log=False)  # stands for the executor
        ticks = sweep.look(later.pid).ticks
        late = begin(executor=first, log=False)
        name = warden.name_of(later.pid, ticks)
        new = [begin(executor=name), begin(mark=False), begin(executor=name, log=False), begin()]
        begun = [spawned(one.pid, sweep.look(one.pid).ticks) for one in new[:2]]
        journal(tmp_path, started(4194000, 10), started(later.pid, ticks), *begun)
        yield types.SimpleNamespace(folder=tmp_path, first=first, old=[*old, late], new=new, name=name)


def of_run(made, last):
    found = warden.living("j", str(made.folder), last=last, sessions=(), spare=())
    return {one.pid for one in found}


def test_the_old_wardens_processes_are_not_the_new_executors(taken_over):
    old, new = ({one.pid for one in group} for group in (taken_over.old, taken_over.new))
    assert of_run(taken_over, taken_over.first) == old
    assert of_run(taken_over, "") == of_run(taken_over, taken_over.name) == old | new


def test_a_warden_that_comes_late_ends_only_what_is_its(taken_over):
    argv = [sys.executable, "-c", "import sys; from dsec.warden import main; sys.exit(main(sys.argv[1:]))"]
    assert subprocess.run([*argv, taken_over.first, "j", str(taken_over.folder)], check=False).returncode == 0
    assert [one.poll() for one in taken_over.new] == [None] * len(taken_over.new)
    assert [one.wait() for one in taken_over.old] == [-signal.SIGTERM] * len(taken_over.old)


def test_doctor_and_broker_tell_them_apart(taken_over):
    """Somebody took the run over since it was looked at."""
    run = RunDir("j", str(taken_over.folder))
    left = orphans.Left(run, "dead", (), frozenset(), taken_over.first)
    found = orphans.processes_of(run, left.spared, last=left.last)
    assert {one.pid for one in found} == {one.pid for one in taken_over.old}
    look = Leftovers(Who("j", run.path, 4194000, 10), 0.0).look
    assert not any(look(at) for at in range(5))
    for one in taken_over.old:
        one.kill()
        one.wait()
    assert [look(at) for at in range(3)] == [False, False, True]


def fake_warden(folder, *, deaf=False, executor="1-10"):
    script = f"{'trap : TERM INT;' * deaf} sleep 600 & echo here; wait; sleep 600"
    argv = ["sh", "-c", script, "dsec-warden", "python", "-c", "code", executor, "j", str(folder)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    return process


@pytest.fixture
def hasty(monkeypatch):
    for name, value in (("_SOON_S", 0.01), ("_PATIENCE_S", 0.05), ("_KILL_S", 0.3)):
        monkeypatch.setattr(wardship, name, value)


@pytest.mark.parametrize("stopped", [False, True])
def test_a_warden_that_comes_to_no_end_is_ended(tmp_path, hasty, stopped):
    process = fake_warden(tmp_path, deaf=True)
    other = fake_warden(tmp_path / "other")
    told = []
    try:
        if stopped:
            process.send_signal(signal.SIGSTOP)
        wardship.await_last(RunDir("j", str(tmp_path)), tell=told.append)
        assert process.wait() == -signal.SIGKILL
        assert told == [
            f"waiting for process {process.pid}, which ends what the earlier executor left",
        ]
        assert other.poll() is None
        assert [one.pid for one in warden.wardens("j", f"{tmp_path}/other", executor="1-10")] == [other.pid]
        assert warden.wardens("j", f"{tmp_path}/other", executor="1-11") == []
    finally:
        for one in (process, other):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()
            one.stdout.close()


def test_a_warden_that_no_list_shows_is_waited_for_by_its_lock(tmp_path, hasty):
    run = RunDir("j", str(tmp_path))
    wardship.await_last(run, tell=print)
    lock = wardship._locked(run)
    assert lock >= 0 > wardship._locked(run)
    with pytest.raises(RunProblem, match="the warden of the earlier executor cannot be ended"):
        wardship.await_last(run, tell=print)
    os.close(lock)
    wardship.await_last(run, tell=print)


def test_resume_waits_for_the_warden_of_the_killed_executor(job, kit):
    """It is held up, so that it would come to its work while the resumed Step runs."""
    number = str(uuid.uuid4().int % 10**12)
    shell = f"if [ $DSEC_ATTEMPT = 1 ]; then sleep 600.{number}; fi; exec sleep 0.5"
    job.save(kit.plan(kit.step("A", shell=shell, level="critical")))
    first = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: [one for one in kit.alive(f"600.{number}") if "sleep 600" in one])
    [held] = warden.wardens("j", str(job.run_dir))
    os.kill(held.pid, signal.SIGSTOP)
    first.kill()
    first.wait()
    second = job.start("resume", "j")
    kit.wait_for(lambda: second.poll() is not None or len(job.events("spawn")) > 1)
    with contextlib.suppress(ProcessLookupError):
        os.kill(held.pid, signal.SIGCONT)
    out = second.communicate(timeout=60)[0].decode()
    assert second.returncode == 0, out
    assert job.ends() == [("A", "ok")]
    assert (now := sweep.look(held.pid)) is None or now.zombie


def test_resume_leaves_its_caller_alone(job, kit):
    """A shell with the variables of a Step, as one has that looks into why it failed."""
    job.run(kit.plan(kit.step("A", argv=["false"])), expect=1)
    marks = {"DSEC_RUN": "j", "DSEC_RUN_DIR": str(job.run_dir / "work")}
    command = f"{sys.executable} -c '{kit.dsec}' resume j; echo went on"
    shell = subprocess.run(
        ["sh", "-c", command], cwd=job.folder, env=job.env | marks, capture_output=True, check=False
    )
    assert shell.stdout.endswith(b"went on\n"), shell


def test_two_resumes_at_once(job, kit):
    """One carries the run out, the other says so; nobody ends anything of the other's."""
    job.save(
        kit.plan(kit.step("A", shell="test $DSEC_ATTEMPT = 2 || sleep 600; sleep 0.5", level="critical"))
    )
    first = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: job.run_dir.exists() and job.events("spawn"))
    first.kill()
    first.wait()
    both = [job.start("resume", "j") for _ in range(2)]
    texts = [one.communicate(timeout=60)[0].decode() for one in both]
    assert sorted(one.returncode for one in both) == [0, 3], texts
    assert job.ends() == [("A", "ok")]


def test_an_attempt_without_a_record_keeps_its_number(kit, tmp_path):
    """Its executor was killed between its start and its record: it has left a log."""
    (tmp_path / "logs").mkdir()
    for name in (
        "A@0.1.log",
        "A@0.3.log",
        "B@2.1.log",
        "worker-A.log",
        "A@0.x.log",
        "a@b@1.2.log",
        "A@1.9.txt",
    ):
        (tmp_path / "logs" / name).touch()
    plan = kit.plan(kit.step("A"), kit.step("B"), count=3)
    state = types.SimpleNamespace(finished=(), dropped=(), attempts={("A", 0): 2, ("B", 1): 5})
    told = types.SimpleNamespace(header=types.SimpleNamespace(plan=plan.hash, job="j"), state=state)
    past = past_of(plan, told, logs=str(tmp_path / "logs"), missing_output=lambda step, iteration: "")
    assert past.attempts == {("A", 0): 3, ("B", 1): 5, ("B", 2): 1, ("a@b", 1): 2}
    past = past_of(plan, told, logs=str(tmp_path / "none"), missing_output=lambda step, iteration: "")
    assert past.attempts == {("A", 0): 2, ("B", 1): 5}


def test_a_lost_record_costs_no_log(job, kit):
    """The second attempt has a number and a log of its own, though the journal does not know the first."""
    job.run(kit.plan(kit.step("A", shell="echo attempt $DSEC_ATTEMPT")))
    path = job.run_dir / "journal"
    kept = [one for one in path.read_bytes().splitlines(keepends=True) if _before(one)]
    path.write_bytes(b"".join(kept))
    job.dsec("resume", "j")
    assert [one["attempt"] for one in job.events("spawn")] == [2]
    logs = job.run_dir / "logs"
    assert [(logs / f"A@0.{at}.log").read_text() for at in (1, 2)] == ["attempt 1\n", "attempt 2\n"]


def _before(line):
    return not any(f'"event":"{kind}"'.encode() in line for kind in ("spawn", "exit", "run-end"))


@pytest.mark.battery
@pytest.mark.parametrize("delay", DELAYS)
def test_kill_and_resume(job, kit, delay):
    """DSEC_KILLS sets how many of each; 8 by default."""
    kills = int(os.environ.get("DSEC_KILLS", "8"))
    chance = random.Random(7)
    ended = []
    for at in range(kills):
        shape = list(SHAPES)[at % len(SHAPES)]
        shutil.rmtree(job.folder / ".dsec", ignore_errors=True)
        steps = [kit.step(f"A{one}", shell=SHAPES[shape], level="critical") for one in range(2)]
        job.save(kit.plan(*steps, kit.step("B", "A0", shell="sleep 0.05")))
        first = job.start("run", "plan.json", "--job-id", "j")
        kit.wait_for(lambda: job.run_dir.exists() and len(job.events("spawn")) == 2)
        time.sleep(chance.uniform(0, 0.3))
        first.kill()
        first.communicate()
        time.sleep(delay)
        second = job.start("resume", "j")
        out = second.communicate(timeout=90)[0].decode()
        last = max(at for at, one in enumerate(job.events()) if one["event"] == "run-start")
        causes = [one["cause"] for one in job.events()[last:] if one["event"] == "exit"]
        if second.returncode or set(causes) - {"ok"}:
            ended.append((at, shape, causes, out))
    assert not ended, ended


def test_who_holds_a_journal_is_known_before_it_says_so(tmp_path):
    path = str(tmp_path / "journal")
    assert locked_by(path) == 0
    journal = Journal(path, clock=time.monotonic)
    try:
        assert locked_by(path) == os.getpid()
    finally:
        journal.let_go()
    assert locked_by(path) == 0
