"""Runs that share GPUs while parts of them are killed, or stand in the way: what is left of the sharing."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import time
from collections import Counter
from pathlib import Path

import pytest
from sharedbox import GPUS, WAITS, alive, begun, finish, queue

from dsec.broker import place
from dsec.events import Exit, decode
from dsec.journal import read


@pytest.mark.battery
@pytest.mark.parametrize("times", [3, 25])
def test_a_broker_that_is_killed_again_and_again_costs_nobody_anything(gpu_box, kit, times):
    jobs = [queue(gpu_box, name, 16 * times, shell="sleep 0.1") for name in ("one", "two")]
    runs = [gpu_box.start(job) for job in jobs]
    for _ in range(times):
        pid = kit.wait_for(gpu_box.broker)
        kit.wait_for(lambda: gpu_box.held("one") >= 0 and gpu_box.held("two") >= 0)
        os.kill(pid, signal.SIGKILL)
        kit.wait_for(lambda pid=pid: gpu_box.broker() not in (0, pid))
    for run in runs:
        finish(run)
    assert not gpu_box.twice()
    for job in jobs:
        assert {cause for _, cause in job.ends()} == {"ok"}
        assert not job.events("notice")


@pytest.mark.battery
def test_what_a_killed_run_held_comes_back_when_nothing_of_it_is_left(gpu_box, kit):
    # The Step resists TERM, so its warden needs its grace of two seconds to end it.
    one = queue(gpu_box, "one", 1, shell="trap '' TERM\n" + WAITS + WAITS, gpus=GPUS)
    two = queue(gpu_box, "two", 2)
    first = gpu_box.start(one)
    kit.wait_for(lambda: begun(one))
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    second = gpu_box.start(two)
    kit.wait_for(lambda: (gpu_box.state() or {}).get("two", {}).get("waiting"))
    assert gpu_box.held("one") == GPUS
    finish(second)
    assert gpu_box.held("one") == -1
    assert not gpu_box.twice()


@pytest.mark.battery
def test_leases_outlive_the_broker_and_the_run_that_are_killed_together(gpu_box, kit):
    one = queue(gpu_box, "one", 1, shell="trap '' TERM\n" + WAITS, gpus=GPUS)
    two = queue(gpu_box, "two", 2)
    first = gpu_box.start(one)
    kit.wait_for(lambda: begun(one))
    for pid in (kit.wait_for(gpu_box.broker), first.pid):
        os.kill(pid, signal.SIGKILL)
    first.wait()
    finish(gpu_box.start(two))
    assert not gpu_box.twice()
    lease = json.loads((Path(gpu_box.folder) / "leases.json").read_text())
    assert [Path(run["path"]).parents[2].name for run in lease["runs"]] in ([], ["two"])


@pytest.mark.battery
def test_a_run_that_is_resumed_has_its_gpus_back_at_once(gpu_box, kit):
    one = queue(gpu_box, "one", 1, shell=WAITS, gpus=GPUS)
    first = gpu_box.start(one)
    kit.wait_for(lambda: begun(one))
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    (gpu_box.root / "go").touch()
    finish(one.start("resume", "j", "--quiet"))
    assert not gpu_box.twice()


def test_a_run_goes_on_where_no_broker_can_be(gpu_box, kit):
    folder = Path(gpu_box.folder)
    folder.rmdir()
    folder.write_text("in the way")
    try:
        job = queue(gpu_box, "one", 2)
        finish(gpu_box.start(job))
        notices = [one["detail"] for one in job.events("notice") if one["kind"] == "sharing"]
        assert len(notices) == 1
        assert notices[0].startswith("this run does not share its GPUs with the other runs of this machine: ")
        assert str(folder) in notices[0]
    finally:
        folder.unlink()


@pytest.mark.battery
def test_a_broker_that_does_not_answer_is_ended_and_replaced(gpu_box, kit):
    one, two = queue(gpu_box, "one", 1, shell=WAITS, gpus=GPUS), queue(gpu_box, "two", 2)
    first = gpu_box.start(one)
    pid = kit.wait_for(gpu_box.broker)
    kit.wait_for(lambda: gpu_box.held("one") == GPUS)
    os.kill(pid, signal.SIGSTOP)
    second = gpu_box.start(two)
    kit.wait_for(lambda: gpu_box.broker() not in (0, pid))
    kit.wait_for(lambda: (gpu_box.state() or {}).get("two", {}).get("waiting"))
    assert gpu_box.held("one") == GPUS, "what it had granted is known"
    (gpu_box.root / "go").touch()
    finish(second)
    finish(first)
    notices = [event["detail"] for event in two.events("notice") if event["kind"] == "sharing"]
    assert notices == [f"the broker (process {pid}) did not answer and was ended: another one takes over"]
    assert not gpu_box.twice()


def test_a_stranger_s_words_harm_nobody(gpu_box, kit):
    run = gpu_box.start(queue(gpu_box, "one", 1, shell=WAITS))
    kit.wait_for(lambda: gpu_box.held("one") == GPUS)
    pid = kit.wait_for(gpu_box.broker)
    for packet in (
        b"\xff" * 70_000,
        b"{",
        b"[]",
        b'{"say":"now"}',
        b'{"say":"hello","format":9}',
        b"0" * 65_536,
    ):
        sock = place.connect(gpu_box.folder)
        assert isinstance(sock, socket.socket)
        with sock:
            sock.settimeout(10)
            sock.send(packet)
            assert json.loads(sock.recv(65536))["tell"] == "refused"
    assert gpu_box.broker() == pid
    assert gpu_box.held("one") == GPUS
    (gpu_box.root / "go").touch()
    finish(run)


@pytest.mark.battery
def test_leases_that_cannot_be_kept_stop_nobody(gpu_box, kit):
    (Path(gpu_box.folder) / "leases.json").mkdir()
    jobs = [queue(gpu_box, name, 12, shell="sleep 0.05") for name in ("one", "two")]
    for run in [gpu_box.start(job) for job in jobs]:
        finish(run)
    assert not gpu_box.twice()
    assert "leases.json cannot be written: Is a directory" in (Path(gpu_box.folder) / "log").read_text()


def test_a_folder_that_is_a_link_is_not_used(gpu_box, kit):
    folder = Path(gpu_box.folder)
    folder.rmdir()
    folder.symlink_to(gpu_box.root, target_is_directory=True)
    job = queue(gpu_box, "one", 1)
    finish(gpu_box.start(job))
    assert f"{folder}: Not a directory" in job.events("notice")[0]["detail"]
    assert f"{folder}: Not a directory" in job.dsec("daemon", expect=3)
    folder.unlink()


@pytest.mark.battery
def test_whatever_is_killed_whenever_no_gpu_is_used_twice_and_nothing_is_lost(gpu_box, kit):
    """For `DSEC_CHAOS_S` seconds (60); `DSEC_CHAOS_SEED` sets what happens."""
    chance = random.Random(os.environ.get("DSEC_CHAOS_SEED", "1"))
    levels = ("pauseable", "critical", "discardable", "elastic")
    jobs = []
    for name in ("one", "two", "three"):
        steps = [
            gpu_box.step(
                f"s{at}",
                f"sleep {chance.uniform(0.02, 0.4):.2f}",
                chance.choice((1, 1, 1, 2, 4, GPUS)),
                level=chance.choice(levels),
                retries=kit.retries(9, 0, 1),
            )
            for at in range(40)
        ]
        jobs.append(gpu_box.job(name, *steps))
    numbers = dict.fromkeys(range(3), 0)
    processes = {}
    kills: Counter[str] = Counter()
    until = time.monotonic() + float(os.environ.get("DSEC_CHAOS_S", "60"))
    while time.monotonic() < until or processes:
        calm = time.monotonic() >= until
        for at, job in enumerate(jobs):
            carry_on(job, at, processes, numbers, calm=calm)
        time.sleep(chance.uniform(0.05, 1.5) if not calm else 0.1)
        if not calm:
            what = chance.choice(("broker", "run", "both", "none"))
            pids = [gpu_box.broker()] if what in ("broker", "both") else []
            if what in ("run", "both"):
                pids.append(chance.choice([one.pid for one in processes.values()]))
            for pid in filter(alive, filter(None, pids)):
                os.kill(pid, signal.SIGKILL)
                kills[what] += 1
        assert not gpu_box.twice()
    print(dict(kills), numbers)
    assert sum(numbers.values()) >= 3


def exits(job, name: str) -> list[Exit]:
    path = job.folder / ".dsec" / "runs" / name / "journal"
    events = map(decode, read(path.read_bytes(), name=name).payloads[1:])
    return [one for one in events if isinstance(one, Exit)]


def carry_on(job, at: int, processes, numbers, *, calm: bool) -> None:
    """Begin the job's next run, or resume the one that was killed."""
    process, name = processes.get(at), f"j{numbers[at]}"
    if (process is None and calm) or (process is not None and process.poll() is None):
        return
    if process is not None and process.returncode == 0:
        done = Counter(one.step for one in exits(job, name) if one.cause == "ok")
        assert len(done) == 40
        assert set(done.values()) == {1}
        numbers[at] += 1
        name = f"j{numbers[at]}"
        del processes[at]
        if calm:
            return
    elif process is not None:
        assert process.returncode == -signal.SIGKILL, process.stdout.read().decode()
    begun = (job.folder / ".dsec" / "runs" / name / "journal").exists()
    words = ("resume", name) if begun else ("run", "plan.json", "--job-id", name)
    processes[at] = job.start(*words, "--quiet")
