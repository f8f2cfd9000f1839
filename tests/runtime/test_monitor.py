"""The monitor: it sees what runs, survives nothing for the run's sake, and says when devices are clear."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import uuid

from dsec import auditfile
from dsec.core.fold import fold
from dsec.events import Exit, RunStart, Spawn, WorkerStart, WorkerStop, encode
from dsec.inventory import Device
from dsec.journal import Header, header_payload, record
from dsec.monitor import processes
from dsec.monitor.clearing import DIRTY_AFTER_S, Clearing, Question
from dsec.monitor.running import Running, Watched


def story(choices: random.Random, length: int) -> list:
    """Events of attempts, calls and workers, in an order in which they could happen."""
    events: list = [RunStart(0, 1, 10, 5, "boot", 1000, False)]
    running: dict[tuple[str, int], Spawn] = {}
    live: set[str] = set()
    for at in range(length):
        key = (choices.choice(["a", "b.c", "d-1"]), choices.randrange(2))
        if key in running:
            begun = running.pop(key)
            fields = (at, *key, begun.attempt, "ok", 0, None, "", at, 7, None, None, None, None)
            events.append(Exit._make(fields))
        elif choices.random() < 0.1:
            events.append(RunStart(at, 2, 11, 6, "boot", 2000, False))
            running.clear()
            live.clear()
        else:
            worker = choices.choice(["", "w"])
            if worker and worker not in live:
                events.append(WorkerStart(at, worker, 900, 1, 2, ("GPU-0",), "logs/worker-w.log"))
                live.add(worker)
            running[key] = Spawn(at, *key, at + 1, 100 + at, 1, 2, ("GPU-1",), "logs/x", worker)
            events.append(running[key])
        if live and choices.random() < 0.1 and not any(one.worker for one in running.values()):
            events.append(WorkerStop(at, "w", 900, 0, None, "done", 1, 1))
            live.clear()
    return events


@pytest.mark.battery
@given(st.randoms(use_true_random=False), st.integers(0, 40), st.integers(1, 400))
def test_the_tail_knows_what_the_journal_says(tmp_path_factory, choices, length, step):
    events = story(choices, length)
    head = record(header_payload(Header("j", "hash", "/x", 0, "boot")))
    data = head + b"".join(record(encode(event)) for event in events)
    path = tmp_path_factory.mktemp("tail") / "journal"
    tail = Running(str(path))
    with open(path, "wb") as file:
        for at in range(0, len(data), step):
            file.write(data[at : at + step])
            file.flush()
            tail.read()
            tail.running()
    state = fold(events)
    attempts = {(one.step, one.iteration, one.attempt, one.pid) for one in tail.running() if one.step}
    assert attempts == {(*key, one.attempt, one.pid) for key, one in state.running.items()}
    idle = {one.worker for one in tail.running() if not one.step}
    assert idle == set(state.workers) - {one.worker for one in state.running.values()}


def test_ends_of_what_was_seen_are_kept_once(tmp_path):
    begun = Spawn(1, "a", 0, 1, 11, 1, 2, (), "logs/x", "")
    other = begun._replace(step="b", pid=12)
    ends = [Exit._make((5, key, 0, 1, "ok", 0, None, "", 4, 7, None, None, None, None)) for key in "ab"]
    path = tmp_path / "journal"
    tail = Running(str(path))
    path.write_bytes(record(header_payload(Header("j", "hash", "/x", 0, "boot"))) + record(encode(begun)))
    tail.read()
    assert [one.step for one in tail.running()] == ["a"]
    with open(path, "ab") as file:
        file.write(b"".join(record(encode(one)) for one in (other, *ends)))
    tail.read()
    assert tail.running() == []
    assert list(tail.ended) == [("a", 0)], "b came and went unseen"


def listed(pid: int, parent: int, session: int, state: str = "S") -> processes.Listed:
    return processes.Listed(pid, parent, session, pid, 0, state)


def watched(step: str, pid: int) -> Watched:
    return Watched(step, 0, 1, "", pid, 0, (), 0, "logs/x")


def test_descendants_are_found_by_session_and_by_ancestor():
    every = {
        one.pid: one
        for one in (
            listed(1, 0, 1),
            listed(50, 1, 50),
            listed(100, 50, 100),
            listed(101, 100, 100),
            listed(102, 101, 102),  # left the session
            listed(103, 102, 102),
            listed(200, 50, 200),
            listed(201, 200, 200, state="Z"),
        )
    }
    found = processes.Kin("j").members([watched("a", 100), watched("b", 200)], every)
    assert [[one.pid for one in members] for members in found] == [[100, 101, 102, 103], [200]]
    used = processes.usage(processes.Seen(pid, 1, 1, 1, 0, 10, 4, "S") for pid in (100, 101, 102, 103))
    assert (used.pids, used.rss_bytes, used.states) == ((100, 101, 102, 103), 4 * 6 + 4, "SSSS")


def test_a_daemon_is_found_by_what_its_environment_says(tmp_path):
    env = {
        **os.environ,
        "DSEC_RUN_DIR": f"{tmp_path}/work",
        "DSEC_STEP": "a",
        "DSEC_ITERATION": "0",
        "DSEC_ATTEMPT": "1",
    }
    read, write = os.pipe()
    shell = "setsid sh -c 'echo $$; exec sleep 60' </dev/null & exit 0"
    subprocess.run(["sh", "-c", shell], env=env, stdout=write, check=True)
    pid = int(os.read(read, 20))
    os.close(read)
    os.close(write)
    try:
        (members,) = processes.Kin(str(tmp_path)).members([watched("a", 999_999_999)], processes.table())
        assert [one.pid for one in members] == [pid]
        (own,) = processes.weighed(members)
        assert own.rss_bytes > own.shared_bytes > 0
        assert processes.weighed([members[0]._replace(pid=999_999_999)]) == ()
        (none,) = processes.Kin("other").members([watched("a", 999_999_999)], processes.table())
        assert none == []
        leader = watched("a", os.getpid())._replace(ticks_by=1 << 60)
        (later,) = processes.Kin(str(tmp_path)).members([leader], processes.table())
        assert pid in [one.pid for one in later], "it is younger than the attempt"
        first = watched("a", pid)._replace(ticks_by=1 << 60)
        (own,) = processes.Kin(str(tmp_path)).members([first], processes.table())
        assert [one.pid for one in own] == [pid]
    finally:
        os.kill(pid, signal.SIGKILL)


def test_devices_are_clear_when_nobody_of_the_attempt_holds_them():
    holders: dict[str, dict[int, int | None] | None] = {"GPU-0": {7: 100, 8: None}, "GPU-1": None}
    clearing = Clearing()
    clearing.ask(Question(1, ("GPU-0", "GPU-1"), frozenset({7, 9}), 100.0))
    clearing.ask(Question(2, ("GPU-1",), frozenset({7}), 100.0))
    assert clearing.look(100.0, holders.get) == [{"tell": "clear", "token": 2}]
    assert clearing.look(100.0 + DIRTY_AFTER_S - 0.1, holders.get) == []
    dirty = {"tell": "dirty", "token": 1, "device": "GPU-0", "pid": 7}
    assert clearing.look(100.0 + DIRTY_AFTER_S, holders.get) == [dirty]
    assert clearing.look(200.0, holders.get) == [], "it is said once"
    holders["GPU-0"] = {8: None}
    assert clearing.look(201.0, holders.get) == [{"tell": "clear", "token": 1}]
    assert not clearing.pending


def test_an_audit_file_keeps_whole_samples_only(tmp_path):
    path = str(tmp_path / "audit")
    assert auditfile.samples(path) == []
    for at in range(3):
        assert auditfile.append(path, "j", {"at_us": at, "steps": []})
    whole = Path(path).read_bytes()
    for cut in range(len(whole)):
        Path(path).write_bytes(whole[:cut])
        assert [one["at_us"] for one in auditfile.samples(path)] == list(
            range(whole[:cut].count(b'"steps":[]}'))
        )
    Path(path).write_bytes(whole.replace(b"audit/1", b"audit/2"))
    assert auditfile.samples(path) == []
    assert not auditfile.append(str(tmp_path / "no" / "audit"), "j", {"at_us": 1})


def monitors(job, kit) -> list[int]:
    """Pids of the run's monitor."""
    return kit.writing_to(job.run_dir / "monitor.log")


def test_a_run_of_some_length_is_audited(job, kit):
    job.env["DSEC_AUDIT_S"] = "0.2"
    out = job.run(kit.plan(kit.step("a", shell="sleep 4; echo end")))
    assert "succeeded" in out
    samples = auditfile.samples(str(job.run_dir / "audit"))
    (step,) = samples[0]["steps"]
    assert (step["step"], step["pids"]) == ("a", 2)
    assert step["rss_bytes"] > 0
    assert samples[0]["devices"] == []
    assert 2_000_000 < samples[0]["at_us"] < 60_000_000
    assert monitors(job, kit) == []
    assert (job.run_dir / "monitor.log").read_bytes() == b""


def test_the_run_goes_on_without_its_monitor(job, kit):
    job.save(kit.plan(kit.step("a", shell="until [ -e go ]; do sleep 0.1; done")))
    running = job.start("run", "plan.json", "--job-id", "j")
    killed: set[int] = set()
    for _ in range(3):
        (pid,) = kit.wait_for(lambda: [one for one in monitors(job, kit) if one not in killed])
        killed.add(pid)
        os.kill(pid, signal.SIGKILL)
    (notice,) = kit.wait_for(lambda: job.events("notice"))
    assert notice["kind"] == "unwatched"
    assert "signal 9" in notice["detail"]
    (job.folder / "go").touch()
    out = running.communicate(timeout=60)[0].decode()
    assert running.returncode == 0, out
    assert "this run goes on without a monitor: it was killed by signal 9" in out


def test_no_monitor_outlives_its_executor(job, kit):
    job.save(kit.plan(kit.step("a", argv=("sleep", "60"))))
    running = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: monitors(job, kit))
    running.kill()
    kit.wait_for(lambda: not monitors(job, kit))


RULES = "count 1\ngpu 0 name NVIDIA L4\ngpu 0 total 23034\n"


@pytest.fixture
def gpu(job, nvml_library):
    """One simulated GPU whose holders a file names."""
    scenario = job.folder / "scenario"
    scenario.write_text(RULES)
    job.env |= {"LD_LIBRARY_PATH": nvml_library(), "SIM_GPU_SCENARIO": str(scenario)}
    return uuid(0)


def gpu_plan(kit, uuid: str, **shells: str):
    steps = [kit.step(name, shell=shell, demand=kit.demand(gpu_count=1)) for name, shell in shells.items()]
    plan = kit.plan(*steps)
    device = Device(uuid, 0, "NVIDIA L4", "l4", 23034 * 2**20, None, None, None, (), 1000, "ok")
    return plan._replace(inventory=plan.inventory._replace(origin="nvml", devices=(device,)))


@pytest.mark.battery
def test_a_device_is_given_away_only_when_the_driver_let_go(job, kit, gpu):
    from dsec.planfile import seal

    holds = 'sleep 1.5; echo "gpu 0 pid $$ 100" >> scenario'
    plan = gpu_plan(kit, gpu, a=holds, b="date +%s.%N > began")
    job.save(seal(plan))
    running = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: job.run_dir.exists() and job.events("exit"))
    time.sleep(1.0)
    assert [one["step"] for one in job.events("spawn")] == ["a"], "the driver says that a still holds it"
    (job.folder / "scenario").write_text(RULES)
    out = running.communicate(timeout=60)[0].decode()
    assert running.returncode == 0, out
    assert [one["step"] for one in job.events("exit")] == ["a", "b"]


@pytest.mark.battery
def test_a_device_that_is_not_let_go_is_dirty(job, kit, gpu):
    from dsec.planfile import seal

    job.save(seal(gpu_plan(kit, gpu, a='sleep 1.5; echo "gpu 0 pid $$ 100" >> scenario', b="true")))
    running = job.start("run", "plan.json", "--job-id", "j", "--json")
    (dirty,) = kit.wait_for(lambda: job.run_dir.exists() and job.events("device"))
    assert (dirty["device"], dirty["state"]) == (gpu, "dirty")
    (job.folder / "scenario").write_text(RULES)
    out = running.communicate(timeout=60)[0].decode()
    assert running.returncode == 0, out
    assert [one["state"] for one in job.events("device")] == ["dirty", "ok"]
    told = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert [one["state"] for one in told if one.get("event") == "device"] == ["dirty", "ok"]
