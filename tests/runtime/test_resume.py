"""A run that was killed anywhere goes on to the same result, and no finished Step runs again."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

MODULE = """
import os
from dsec.sdk import publish

def add(ctx, *, n):
    earlier = ctx.carried["mix"]
    total = 0
    if earlier >= 0:
        with open(os.path.join(ctx.run_dir, f"mix-{earlier}")) as file:
            total = int(file.read())
    publish(os.path.join(ctx.run_dir, f"add-{ctx.iteration}"), str(total + n + ctx.iteration).encode())
    return total + n
"""
MIX = """
cd "$DSEC_RUN_DIR"
if [ "$DSEC_ITERATION" = 1 ] && [ ! -e failed-once ]; then touch failed-once; exit 1; fi
a=$(cat "add-$DSEC_ITERATION")
echo $((a * 3 % 1000003)) > "tmp.$$"
mv "tmp.$$" "mix-$DSEC_ITERATION"
"""


def small_job(job, kit, count=3):
    """A worker, a process, a carried edge, a retry, a discardable Step that fails."""
    (job.folder / "mod.py").write_text(MODULE)
    steps = [
        kit.step(
            "add", call="mod:add", args={"n": 5}, carried=[("mix", 0)], outputs=("{run}/add-{iteration}",)
        ),
        kit.step("mix", "add", shell=MIX, retries=kit.retries(1, 0, 1), outputs=("{run}/mix-{iteration}",)),
        kit.step("plot", "mix", shell="exit 3", level="discardable"),
    ]
    job.save(kit.plan(*steps, count=count))


def results(job, count=3):
    work = job.run_dir / "work"
    return {name: (work / name).read_text() for at in range(count) for name in (f"add-{at}", f"mix-{at}")}


def successes(job):
    return [(one["step"], one["iteration"]) for one in job.events("exit") if one["cause"] == "ok"]


@pytest.mark.battery
def test_resume_from_every_record_boundary(job, kit, tmp_path):
    small_job(job, kit)
    job.dsec("run", "plan.json", "--job-id", "j")
    wanted = results(job)
    whole = (job.run_dir / "journal").read_bytes()
    lines = whole.splitlines(keepends=True)
    # What was on disk when the executor died: everything that later records say was done is undone.
    for kept in range(1, len(lines)):
        again = type(job)(tmp_path / f"at-{kept}")
        shutil.copytree(job.folder, again.folder, ignore=shutil.ignore_patterns("at-*"))
        torn = lines[kept][: len(lines[kept]) // 2] if kept % 2 else b""
        done = [json.loads(line[18:]) for line in lines[1:kept]]
        ok = {
            (one["step"], one["iteration"]) for one in done if one["event"] == "exit" and one["cause"] == "ok"
        }
        rewind(again, b"".join(lines[:kept]) + torn, ok)
        before = successes(again)
        again.dsec("resume", "j", "--quiet")
        assert results(again) == wanted, f"after record {kept}"
        after = successes(again)
        assert sorted(after) == sorted({*after}), f"a finished Step ran again after record {kept}"
        assert after[: len(before)] == before
        assert len(after) == 6


def rewind(job, journal, ok):
    """The run's folder as it was when the journal held these bytes."""
    header = journal.split(b"\n", 1)[0]
    old = json.loads(header[18:])["folder"].encode()
    assert old != str(job.folder).encode()
    # The contract's folder moved with the copy: the header is written anew.
    from dsec.journal import record

    payload = header[18:].decode().replace(old.decode(), str(job.folder))
    (job.run_dir / "journal").write_bytes(record(payload) + journal.split(b"\n", 1)[1])
    for step, iteration in [(step, at) for step in ("add", "mix") for at in range(3)]:
        if (step, iteration) not in ok:
            (job.run_dir / "work" / f"{step}-{iteration}").unlink(missing_ok=True)


@pytest.mark.battery
def test_random_kills_converge(job, kit):
    chance = random.Random(7)
    small_job(job, kit, count=6)
    whole = type(job)(job.folder / "whole")
    whole.folder.mkdir()
    small_job(whole, kit, count=6)
    whole.dsec("run", "plan.json", "--job-id", "j", "--quiet")
    words = ("run", "plan.json", "--job-id", "j")
    journal = job.run_dir / "journal"

    def size() -> int:
        return journal.stat().st_size if journal.exists() else 0

    kills = 0
    for _ in range(60):
        process = job.start(*words)
        if kills < 8:
            past = size() + chance.randrange(600)
            kit.wait_for(lambda process=process, past=past: process.poll() is not None or size() > past)
        if kills < 8 and process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate(timeout=60)
        if process.returncode == 0:
            break
        if size():
            words = ("resume", "j", "--quiet")
    assert process.returncode == 0, process.communicate()
    assert kills >= 3
    assert results(job, 6) == results(whole, 6)
    done = successes(job)
    assert len(done) == len(set(done)) == 12


def test_survivors_are_ended_before_anything_starts(job, kit):
    """The warden is killed together with the executor; resume does its work."""
    mark = f"survivor{os.getpid()}{time.monotonic_ns()}"
    job.env["MARK"] = mark
    job.save(kit.plan(kit.step("A", shell='if [ "$DSEC_ATTEMPT" = 1 ]; then setsid sleep 600; fi')))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(
        lambda: [one for one in kit.alive(mark) if "sleep 600" in one and "sh" not in one.split()[1]]
    )
    wardens = [int(one.split(":")[0]) for one in kit.alive(mark) if "dsec-warden" in one]
    assert len(wardens) == 1
    os.kill(wardens[0], signal.SIGKILL)
    process.kill()
    process.communicate()
    assert kit.alive(mark), "nobody is there to clear up"
    job.dsec("resume", "j", "--quiet")
    assert not kit.alive(mark)
    assert job.ends() == [("A", "ok")]


@pytest.mark.battery
def test_an_output_that_is_gone_is_made_again(job, kit):
    small_job(job, kit)
    job.dsec("run", "plan.json", "--job-id", "j", "--quiet")
    wanted = results(job)
    (job.run_dir / "work" / "mix-2").unlink()
    (job.run_dir / "work" / "mix-0").unlink()
    before = len(successes(job))
    job.dsec("resume", "j", "--quiet")
    assert successes(job)[before:] == [("mix", 2)], "mix-0 is out of reach of anything unfinished"
    assert {**results_of(job), "mix-0": wanted["mix-0"]} == wanted
    assert "nothing is left to do" in job.dsec("resume", "j")


def results_of(job):
    work = job.run_dir / "work"
    return {name.name: name.read_text() for name in work.glob("*-[0-9]")}


def test_a_failed_run_goes_on_where_it_failed(job, kit):
    steps = [kit.step("A"), kit.step("B", "A", shell="test -e fixed"), kit.step("C", "B")]
    job.run(kit.plan(*steps), expect=1)
    (job.folder / "fixed").touch()
    job.dsec("resume", "j")
    assert job.ends() == [("A", "ok"), ("B", "exit"), ("B", "ok"), ("C", "ok")]
    assert [one["session"] for one in job.events("run-start")] == [1, 2]
    assert (job.run_dir / "logs" / "B@0.2.log").exists()


def test_two_executors_never_share_a_run(job, kit):
    job.save(kit.plan(kit.step("A", argv=["sleep", "30"])))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: (job.run_dir / "journal").exists() and job.events("spawn"))
    out = job.dsec("resume", "j", expect=3)
    assert f"is being carried out by process {process.pid}" in out
    process.terminate()
    process.communicate()
    assert process.returncode == 143


def test_a_damaged_journal_is_refused_with_its_place(job, kit):
    job.run(kit.plan(kit.step("A"), kit.step("B", "A")))
    path = job.run_dir / "journal"
    data = bytearray(path.read_bytes())
    at = data.index(b"\n") + 1
    data[at : at + 40] = bytes(40)
    path.write_bytes(bytes(data))
    out = job.dsec("resume", "j", expect=3)
    assert f"damaged at byte {at}: a block of zeros" in out


def test_a_changed_plan_is_refused(job, kit):
    job.run(kit.plan(kit.step("A", shell="exit 1")), expect=1)
    job.save(kit.plan(kit.step("A")))
    shutil.copy(job.folder / "plan.json", job.run_dir / "plan.json")
    assert "is not the one that it began with" in job.dsec("resume", "j", expect=3)


@pytest.mark.battery
def test_many_random_kills_converge(job, kit):
    chance = random.Random()
    for _ in range(20):
        shutil.rmtree(job.folder / ".dsec", ignore_errors=True)
        small_job(job, kit, count=4)
        words = ("run", "plan.json", "--job-id", "j")
        for kills in range(40):
            process = job.start(*words)
            try:
                process.wait(timeout=chance.uniform(0.05, 1.0) if kills < 10 else 60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            if process.returncode == 0:
                break
            if (job.run_dir / "journal").exists() and (job.run_dir / "journal").stat().st_size:
                words = ("resume", "j", "--quiet")
        assert process.returncode == 0
        done = successes(job)
        assert len(done) == len(set(done)) == 8
