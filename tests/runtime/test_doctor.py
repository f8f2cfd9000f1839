"""`dsec doctor` finds what runs left behind, and ends nothing else."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import uuid

import pytest

from dsec import orphans
from dsec.orphans import Left, Orphan
from dsec.rundir import RunDir
from dsec.sweep import Process, look
from dsec_cli.doctor.check import find_checks
from dsec_cli.doctor.checks.orphans import told


def warden_of(pid):
    """The warden of the executor `pid`."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        one = look(int(name))
        if one is not None and one.parent == pid and b"dsec-warden" in cmdline(one.pid):
            return one.pid
    return 0


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


@pytest.fixture
def left(job, kit):
    """A run whose executor and warden were both killed, its Steps alive."""
    number = str(uuid.uuid4().int % 10**12)
    script = f"setsid sleep 600.{number} &\ntrap '' TERM\nsleep 601.{number}; sleep 602.{number}"
    job.save(kit.plan(kit.step("A", shell=script, timeout_ms=0)))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: len(kit.alive(number)) >= 2 and warden_of(process.pid))
    os.kill(warden_of(process.pid), signal.SIGKILL)
    process.kill()
    process.wait()
    yield number
    for name in filter(str.isdigit, os.listdir("/proc")):
        if number.encode() in cmdline(int(name)):
            os.kill(int(name), signal.SIGKILL)


def found_by(job, out):
    return str(job.run_dir) in out


@pytest.mark.battery
def test_both_killed_and_doctor_ends_what_is_left(job, kit, left):
    bystander = subprocess.Popen(["sleep", f"700.{left}"], env={"DSEC_RUN": "j"})
    try:
        told = job.dsec("doctor", expect=1)
        assert found_by(job, told)
        assert f"sleep 600.{left}" in told
        assert f"700.{left}" not in told
        document = json.loads(job.dsec("doctor", "--json", expect=1))
        assert {one["name"]: one["status"] for one in document["checks"]}["orphans"] == "problem"
        refused = job.dsec("doctor", "--reap", stdin=subprocess.DEVNULL, expect=1)
        assert "--yes" in refused
        assert kit.alive(f"600.{left}")
        ended = orphans_of(job)
        assert {one.command for one in ended.orphans} >= {f"sleep 600.{left}", f"sleep 601.{left}"}
        assert orphans.end([ended], grace_s=0.2) == []
        assert [one for one in kit.alive(left) if "700." not in one] == []
        assert bystander.poll() is None
        assert not found_by(job, job.dsec("doctor", expect=None))
    finally:
        bystander.kill()
        bystander.wait()


def orphans_of(job):
    return next(left for left in orphans.find() if left.run.path == str(job.run_dir))


@pytest.mark.parametrize("answer", ["n", "y"])
def test_it_asks(job, kit, left, answer, monkeypatch):
    """Only this run is shown to the question, so that no other test's is ended."""
    mine = f"left.run.path == {str(job.run_dir)!r}"
    code = (
        "import sys; from dsec import orphans; from dsec_cli.fast import dsec\n"
        f"find = orphans.find; orphans.find = lambda: [left for left in find() if {mine}]\n"
        "orphans.empty_cgroups = lambda environ: []\n"
        "sys.exit(dsec())"
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code, "doctor", "--reap"],
        stdin=theirs, stdout=subprocess.PIPE, cwd=job.folder, env=job.env,
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    out = process.communicate(timeout=60)[0].decode()
    os.close(ours)
    assert "End them? [y/N]" in out
    assert process.returncode == (0 if answer == "y" else 1)
    assert bool(kit.alive(f"600.{left}")) == (answer == "n")


def test_a_run_whose_folder_is_gone(job, left):
    path = str(job.run_dir)
    shutil.rmtree(job.folder / ".dsec")
    found = [one for one in orphans.find() if one.run.path == path]
    assert [one.why for one in found] == ["lost"]
    assert orphans.end(found, grace_s=0.2) == []


def test_a_run_that_goes_on_without_its_folder_is_left_alone(job, kit):
    number = str(uuid.uuid4().int % 10**12)
    job.save(kit.plan(kit.step("A", argv=["sleep", f"600.{number}"])))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: kit.alive(f"600.{number}") and warden_of(process.pid))
    path = str(job.run_dir)
    (job.folder / ".dsec").rename(job.folder / "moved")
    assert [one for one in orphans.find() if one.run.path == path] == []
    (job.folder / "moved").rename(job.folder / ".dsec")
    process.terminate()
    process.communicate(timeout=30)


def test_a_run_that_goes_on_is_left_alone(job, kit):
    number = str(uuid.uuid4().int % 10**12)
    inner = type(job)(job.folder / "inner")
    inner.folder.mkdir()
    job.save(kit.plan(kit.step("A", argv=["sleep", f"600.{number}"])))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: kit.alive(f"600.{number}"))
    assert not found_by(job, job.dsec("doctor", expect=None))
    process.terminate()
    process.communicate(timeout=30)


def test_a_run_started_from_a_step_of_a_dead_one_is_left_alone(job, kit, left):
    """Its executor carries the dead run's name, and so do its warden and monitor."""
    number = str(uuid.uuid4().int % 10**12)
    inner = type(job)(job.folder / "inner")
    inner.folder.mkdir()
    inner.env |= {"DSEC_RUN": "j", "DSEC_RUN_DIR": f"{job.run_dir}/work"}
    inner.save(kit.plan(kit.step("A", argv=["sleep", f"600.{number}"])))
    process = inner.start("run", "plan.json", "--job-id", "inner")
    try:
        kit.wait_for(lambda: kit.alive(f"600.{number}") and warden_of(process.pid))
        pids = {one.process.pid for one in orphans_of(job).orphans}
        assert pids
        assert not pids & {process.pid, warden_of(process.pid)}
        assert number not in " ".join(one.command for one in orphans_of(job).orphans)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_what_is_left_is_told_with_what_it_holds():
    process = Process(12, 5, 1, 12, False)
    run = RunDir("nightly", "/x/.dsec/runs/nightly")
    some = Left(run, "dead", (Orphan(process, "python train.py", 3 << 30),), frozenset())
    mute = Left(run, "dead", (Orphan(process._replace(pid=13), "sh", None),), frozenset())
    held = {12: {"GPU-a": 73 << 30, "GPU-b": None}}
    answer = told([some, mute], ["/sys/dsec-1-2"], held=lambda: (held, [("GPU-c", "it does not say")]))
    assert answer.status == "problem"
    assert answer.lines == (
        "2 processes of earlier runs are left",
        "  run nightly: its executor is gone (/x/.dsec/runs/nightly)",
        "    12 python train.py (3072 MiB, 74752 MiB of GPU-a, an unknown part of GPU-b)",
        "  run nightly: its executor is gone (/x/.dsec/runs/nightly)",
        "    13 sh (memory unknown)",
        "  who has memory of GPU-c is unknown: it does not say",
        "  a cgroup of an executor that is gone: /sys/dsec-1-2",
    )
    assert told([], [], held=lambda: ({}, [])).status == "ok"


def test_checks_are_found_by_being_there():
    assert "orphans" in [check.name for check in find_checks()]


def test_yes_belongs_to_reap(job):
    assert "--reap" in job.dsec("doctor", "--yes", expect=2)
