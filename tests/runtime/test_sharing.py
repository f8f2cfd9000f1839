"""Two runs on one box of simulated GPUs: who gets which, and what kill -9 of any part leaves of that."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from dsec.broker import place
from dsec.events import Exit, decode
from dsec.journal import read
from dsec.simgpu.scenario import box, of_box

DSEC = "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"
GPUS = 8
USES = """\
n=9
for gpu in $(echo $CUDA_VISIBLE_DEVICES | tr , ' '); do
  eval "exec $n>>$LOCKS/$gpu"
  flock -n $n || echo "$DSEC_RUN_DIR $DSEC_STEP $gpu" >> $LOCKS/twice
  n=$((n - 1))
done
"""
"""Holds a lock for each GPU that the Step may use as long as any process of it lives."""


class Box:
    """A machine with simulated GPUs and folders of jobs that share it."""

    def __init__(self, job, folder: str, kit, gpus: int = GPUS) -> None:
        self.kit, self._job = kit, job
        self.root = job.folder
        self.locks = self.root / "locks"
        self.locks.mkdir()
        rules = self.root / "rules"
        rules.write_text(of_box(box(f"{gpus}xh100")))
        runtime = self.root / "run"
        runtime.mkdir(mode=0o700)
        job.env |= {
            "LD_LIBRARY_PATH": folder,
            "SIM_GPU_SCENARIO": str(rules),
            "XDG_RUNTIME_DIR": str(runtime),
            "LOCKS": str(self.locks),
            "GO": str(self.root / "go"),
        }
        self.job_env = job.env
        self.folder = place.folder({name.encode(): value.encode() for name, value in job.env.items()})

    def job(self, name: str, *steps, **options):
        """A job of its own with that plan."""
        folder = self.root / name
        folder.mkdir()
        one = type(self._job)(folder)
        one.env = self._job.env
        one.processes = self._job.processes  # ended with the others
        one.save(self.kit.plan(*steps, **options))
        return one

    def start(self, job, *words: str):
        return job.start("run", "plan.json", "--job-id", "j", "--quiet", *words)

    def step(self, name: str, shell: str, gpus: int = 1, **given):
        demand = self.kit.demand(cpu_m=0, gpu_count=gpus)
        return self.kit.step(name, shell=USES + shell, demand=demand, **given)

    def twice(self) -> str:
        path = self.locks / "twice"
        return path.read_text() if path.exists() else ""

    def broker(self) -> int:
        """Its pid, as soon as there is one."""
        pid = place.holder(self.folder)
        return pid if pid and alive(pid) else 0

    def state(self):
        """What the broker says of itself."""
        sock = place.connect(self.folder)
        if sock is None:
            return None
        with sock:
            sock.setblocking(True)
            sock.settimeout(10)
            sock.send(b'{"say":"ask"}')
            return {Path(one["path"]).parents[2].name: one for one in json.loads(sock.recv(65536))["runs"]}

    def held(self, name: str) -> int:
        state = self.state() or {}
        return len(state[name]["devices"]) if name in state else -1


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0] != b"Z"
    except OSError:
        return False


@pytest.fixture
def shared(job, nvml_library, kit):
    made = Box(job, nvml_library(), kit)
    yield made
    if pid := made.broker():
        os.kill(pid, signal.SIGTERM)
        kit.wait_for(lambda: not alive(pid))


def finish(process, expect: int = 0) -> str:
    out = process.communicate(timeout=120)[0].decode()
    assert process.returncode == expect, out
    return out


WAITS = "while [ ! -e $GO ]; do sleep 0.02; done\n"


def test_a_second_run_gets_what_the_first_gives_back(shared, kit):
    one = shared.job("one", *(shared.step(f"a{at}", WAITS) for at in range(GPUS)))
    two = shared.job("two", *(shared.step(f"b{at}", "true") for at in range(4)))
    first = shared.start(one)
    kit.wait_for(lambda: shared.held("one") == GPUS)
    second = shared.start(two)
    kit.wait_for(lambda: shared.held("two") == 0 and shared.state()["two"]["waiting"])
    (shared.root / "go").touch()
    finish(second)
    finish(first)
    assert not shared.twice()
    kit.wait_for(lambda: shared.state() == {})


def queue(shared, name: str, many: int, *, shell: str = "true", gpus: int = 1, **given):
    """A job of so many Steps that do not depend on each other."""
    return shared.job(name, *(shared.step(f"s{at}", shell, gpus, **given) for at in range(many)))


def begun(job) -> bool:
    """Whether a Step of it runs."""
    return (job.run_dir / "journal").exists() and bool(job.events("spawn"))


def spans(job) -> list[tuple[float, float, int]]:
    """Of every attempt when it began and ended, on the machine's clock, and how many GPUs it had."""
    since, found = {}, []
    start = next(one for one in job.events("run-start"))
    origin = start["wall_ms"] / 1e3 - start["at_us"] / 1e6
    for one in job.events():
        if one["event"] == "spawn":
            since[one["step"]] = (one["at_us"], len(one["devices"]))
        elif one["event"] == "exit":
            at_us, many = since[one["step"]]
            found.append((origin + at_us / 1e6, origin + one["at_us"] / 1e6, many))
    return found


def test_two_queues_share_the_box_evenly(shared, kit):
    jobs = [queue(shared, name, 48, shell="sleep 0.1") for name in ("one", "two")]
    runs = [shared.start(job) for job in jobs]
    for run in runs:
        finish(run)
    assert not shared.twice()
    taken = [spans(job) for job in jobs]
    begin = max(min(since for since, _, _ in one) for one in taken)
    end = min(max(over for _, over, _ in one) for one in taken)
    shares = [
        sum(max(0.0, min(over, end) - max(since, begin)) * many for since, over, many in one) for one in taken
    ]
    assert min(shares) / sum(shares) > 0.3, shares


def test_small_steps_do_not_keep_a_large_one_of_another_run_waiting(shared, kit):
    small = queue(shared, "small", 60, shell="sleep 0.1")
    large = queue(shared, "large", 1, shell="true", gpus=GPUS)
    first = shared.start(small)
    kit.wait_for(lambda: shared.held("small") == GPUS)
    finish(shared.start(large))
    assert first.poll() is None, "the large one did not wait for all small ones"
    finish(first)
    assert not shared.twice()


def test_three_queues_of_all_sizes_come_to_their_ends(shared, kit):
    sizes = (1, GPUS, 2, 4)
    jobs = [
        shared.job(name, *(shared.step(f"s{at}", "sleep 0.05", sizes[at % 4]) for at in range(8)))
        for name in ("one", "two", "three")
    ]
    for run in [shared.start(job) for job in jobs]:
        finish(run)
    assert not shared.twice()
    assert all(job.ends().count((f"s{at}", "ok")) == 1 for job in jobs for at in range(8))


@pytest.mark.parametrize("times", [3, pytest.param(25, marks=pytest.mark.battery)])
def test_a_broker_that_is_killed_again_and_again_costs_nobody_anything(shared, kit, times):
    jobs = [queue(shared, name, 16 * times, shell="sleep 0.1") for name in ("one", "two")]
    runs = [shared.start(job) for job in jobs]
    for _ in range(times):
        pid = kit.wait_for(shared.broker)
        kit.wait_for(lambda: shared.held("one") >= 0 and shared.held("two") >= 0)
        os.kill(pid, signal.SIGKILL)
        kit.wait_for(lambda pid=pid: shared.broker() not in (0, pid))
    for run in runs:
        finish(run)
    assert not shared.twice()
    for job in jobs:
        assert {cause for _, cause in job.ends()} == {"ok"}
        assert not job.events("notice")


def test_what_a_killed_run_held_comes_back_when_nothing_of_it_is_left(shared, kit):
    # The Step resists TERM, so its warden needs its grace of two seconds to end it.
    one = queue(shared, "one", 1, shell="trap '' TERM\n" + WAITS + WAITS, gpus=GPUS)
    two = queue(shared, "two", 2)
    first = shared.start(one)
    kit.wait_for(lambda: begun(one))
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    second = shared.start(two)
    kit.wait_for(lambda: (shared.state() or {}).get("two", {}).get("waiting"))
    assert shared.held("one") == GPUS
    finish(second)
    assert shared.held("one") == -1
    assert not shared.twice()


def test_leases_outlive_the_broker_and_the_run_that_are_killed_together(shared, kit):
    one = queue(shared, "one", 1, shell="trap '' TERM\n" + WAITS, gpus=GPUS)
    two = queue(shared, "two", 2)
    first = shared.start(one)
    kit.wait_for(lambda: begun(one))
    for pid in (kit.wait_for(shared.broker), first.pid):
        os.kill(pid, signal.SIGKILL)
    first.wait()
    finish(shared.start(two))
    assert not shared.twice()
    lease = json.loads((Path(shared.folder) / "leases.json").read_text())
    assert [Path(run["path"]).parents[2].name for run in lease["runs"]] in ([], ["two"])


def test_a_run_that_is_resumed_has_its_gpus_back_at_once(shared, kit):
    one = queue(shared, "one", 1, shell=WAITS, gpus=GPUS)
    first = shared.start(one)
    kit.wait_for(lambda: begun(one))
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    (shared.root / "go").touch()
    finish(one.start("resume", "j", "--quiet"))
    assert not shared.twice()


def test_a_run_goes_on_where_no_broker_can_be(shared, kit):
    folder = Path(shared.folder)
    folder.rmdir()
    folder.write_text("in the way")
    try:
        job = queue(shared, "one", 2)
        finish(shared.start(job))
        notices = [one["detail"] for one in job.events("notice") if one["kind"] == "sharing"]
        assert len(notices) == 1
        assert notices[0].startswith("this run does not share its GPUs with the other runs of this machine: ")
        assert str(folder) in notices[0]
    finally:
        folder.unlink()


def test_a_broker_that_does_not_answer_is_ended_and_replaced(shared, kit):
    one, two = queue(shared, "one", 1, shell=WAITS, gpus=GPUS), queue(shared, "two", 2)
    first = shared.start(one)
    pid = kit.wait_for(shared.broker)
    kit.wait_for(lambda: shared.held("one") == GPUS)
    os.kill(pid, signal.SIGSTOP)
    second = shared.start(two)
    kit.wait_for(lambda: shared.broker() not in (0, pid))
    kit.wait_for(lambda: (shared.state() or {}).get("two", {}).get("waiting"))
    assert shared.held("one") == GPUS, "what it had granted is known"
    (shared.root / "go").touch()
    finish(second)
    finish(first)
    notices = [event["detail"] for event in two.events("notice") if event["kind"] == "sharing"]
    assert notices == [f"the broker (process {pid}) did not answer and was ended: another one takes over"]
    assert not shared.twice()


def test_nobody_is_shared_with_where_that_is_switched_off(shared, kit):
    job = queue(shared, "one", 1)
    job.env = {**job.env, "DSEC_BROKER": "off"}
    finish(shared.start(job))
    assert os.listdir(shared.folder) == []


def test_the_witness_sees_runs_that_do_not_share(shared, kit):
    jobs = [queue(shared, name, GPUS, shell=WAITS) for name in ("one", "two")]
    for job in jobs:
        job.env = {**job.env, "DSEC_BROKER": "off"}
    runs = [shared.start(job) for job in jobs]
    kit.wait_for(shared.twice)
    (shared.root / "go").touch()
    for run in runs:
        finish(run)


def test_what_may_be_thrown_away_makes_room_for_a_critical_step_of_another_run(shared, kit):
    kept = "[ -e $DSEC_RUN_DIR/again ] || { touch $DSEC_RUN_DIR/again; " + WAITS.strip() + "; }\n"
    cheap = shared.job(
        "cheap", shared.step("s", kept, GPUS, level="discardable", retries=kit.retries(1, 0, 1))
    )
    first = shared.start(cheap)
    kit.wait_for(lambda: (cheap.run_dir / "work" / "again").exists())
    finish(shared.start(queue(shared, "urgent", 1, level="critical")))
    finish(first)
    assert cheap.ends() == [("s", "gave-way"), ("s", "ok")]
    pause = cheap.events("pause")[0]
    assert (pause["how"], pause["reason"]) == ("killed", "a Step of another run must not wait")
    assert not shared.twice()


def test_what_cannot_save_its_state_is_left_alone_by_a_critical_step_of_another_run(shared, kit):
    one = queue(shared, "one", 1, shell="sleep 1", gpus=GPUS)
    first = shared.start(one)
    kit.wait_for(lambda: begun(one))
    finish(shared.start(queue(shared, "urgent", 1, level="critical")))
    finish(first)
    assert one.ends() == [("s0", "ok")]
    assert not shared.twice()


def test_the_broker_ends_by_itself_and_knows_nothing_of_the_run_that_started_it(shared, kit):
    job = queue(shared, "one", 1, shell=WAITS)
    job.env = {**job.env, "SECRET": "hunter2"}
    run = shared.start(job)
    pid = kit.wait_for(shared.broker)
    kit.wait_for(lambda: shared.held("one") == GPUS)
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"SECRET" not in environment
    assert b"DSEC" not in environment
    assert os.stat(shared.folder).st_mode & 0o077 == 0
    (shared.root / "go").touch()
    finish(run)
    kit.wait_for(lambda: not alive(pid))
    assert not Path(shared.folder).exists(), "a box that was simulated leaves nothing behind"


def test_a_stranger_s_words_harm_nobody(shared, kit):
    run = shared.start(queue(shared, "one", 1, shell=WAITS))
    kit.wait_for(lambda: shared.held("one") == GPUS)
    pid = kit.wait_for(shared.broker)
    for packet in (
        b"\xff" * 70_000,
        b"{",
        b"[]",
        b'{"say":"now"}',
        b'{"say":"hello","format":9}',
        b"0" * 65_536,
    ):
        sock = place.connect(shared.folder)
        assert isinstance(sock, socket.socket)
        with sock:
            sock.settimeout(10)
            sock.send(packet)
            assert json.loads(sock.recv(65536))["tell"] == "refused"
    assert shared.broker() == pid
    assert shared.held("one") == GPUS
    (shared.root / "go").touch()
    finish(run)


@pytest.mark.battery
def test_a_thousand_steps_of_two_runs_each_have_their_gpu_to_themselves(shared, kit):
    jobs = [queue(shared, name, 500) for name in ("one", "two")]
    runs = [shared.start(job) for job in jobs]
    began = time.monotonic()
    for run in runs:
        finish(run)
    print(f"{time.monotonic() - began:.1f} s")
    assert not shared.twice()
    assert all(len(job.ends()) == 500 for job in jobs)


def test_what_another_run_holds_for_now_is_no_reason_to_refuse_a_plan(shared, kit):
    full = "SIM_GPU_MIB=70000 sleep 60 &\n" + WAITS + "kill $!"
    first = shared.start(queue(shared, "one", 1, shell=full, gpus=GPUS))
    kit.wait_for(lambda: shared.held("one") == GPUS)
    demand = kit.demand(cpu_m=0, gpu_count=GPUS, gpu_memory_bytes=40 * 2**30)
    two = shared.job("two", kit.step("s", shell=USES, demand=demand))

    def most_free() -> int:
        return max(one["free_bytes"] for one in json.loads(two.dsec("inventory", "--json"))["devices"])

    kit.wait_for(lambda: most_free() < 40 * 2**30)
    second = shared.start(two)
    kit.wait_for(lambda: (shared.state() or {}).get("two", {}).get("waiting"))
    (shared.root / "go").touch()
    finish(second)
    finish(first)
    assert not shared.twice()


def test_status_says_whose_gpus_a_step_waits_for(shared, kit):
    first = shared.start(queue(shared, "one", 1, shell=WAITS, gpus=GPUS))
    kit.wait_for(lambda: shared.held("one") == GPUS)
    two = queue(shared, "two", 1)
    second = shared.start(two)
    kit.wait_for(lambda: (shared.state() or {}).get("two", {}).get("waiting"))
    told = two.dsec("status", "j", "--why", "s0")
    assert f"run j has {GPUS} GPUs ({shared.root}/one/.dsec/runs/j)" in told
    assert " and comes next" in told
    data = json.loads(two.dsec("status", "j", "--why", "s0", "--json"))["why"]
    assert [len(one["devices"]) for one in data["other_runs"]] == [GPUS]
    (shared.root / "go").touch()
    finish(second)
    finish(first)


def test_the_broker_in_the_foreground(shared, kit):
    job = queue(shared, "one", 2)
    daemon = job.start("daemon")
    pid = kit.wait_for(shared.broker)
    assert pid == daemon.pid
    assert f"there is a broker already: process {pid}" in job.dsec("daemon", expect=1)
    assert f"broker: process {pid}, runs: 0" in job.dsec("daemon", "--show")
    finish(shared.start(job))
    assert shared.broker() == pid
    os.kill(pid, signal.SIGTERM)
    assert "shares the GPUs of this machine" in finish(daemon, 143)
    assert "no broker" in job.dsec("daemon", "--show", expect=1)
    assert json.loads(job.dsec("daemon", "--show", "--json", expect=1))["broker"] is None


HOLDS = """\
import fcntl, os, time
kept = []
for gpu in os.environ["CUDA_VISIBLE_DEVICES"].split(","):
    kept.append(open(os.environ["LOCKS"] + "/" + gpu, "a"))
    try:
        fcntl.flock(kept[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        print("worker", gpu, file=open(os.environ["LOCKS"] + "/twice", "a"))
def work(ctx):
    time.sleep(0.2)
"""


def test_a_resident_worker_leaves_between_two_calls_when_its_gpus_are_called_back(shared, kit):
    demand = kit.demand(cpu_m=0, gpu_count=GPUS)
    one = shared.job("one", kit.step("s", call="holds:work", demand=demand), count=12)
    (one.folder / "holds.py").write_text(HOLDS)
    first = shared.start(one)
    kit.wait_for(lambda: begun(one))
    finish(shared.start(queue(shared, "two", 1)))
    assert first.poll() is None, "it did not wait for all calls"
    finish(first)
    assert [cause for _, cause in one.ends()] == ["ok"] * 12
    assert [stop["cause"] for stop in one.events("worker-stop")] == ["evicted", "done"]
    assert not shared.twice()


def test_a_run_that_stands_still_is_granted_nothing(shared, kit):
    first = shared.start(queue(shared, "one", 1, shell=WAITS, gpus=GPUS))
    kit.wait_for(lambda: shared.held("one") == GPUS)
    two = queue(shared, "two", 1)
    # In a process group of its own, as a shell makes it; in this session, or nobody could continue it.
    words = ("run", "plan.json", "--job-id", "j", "--quiet")
    second = two.start(*words, start_new_session=False, process_group=0)
    kit.wait_for(lambda: (shared.state() or {}).get("two", {}).get("waiting"))
    second.send_signal(signal.SIGTSTP)
    kit.wait_for(lambda: not shared.state()["two"]["waiting"])
    (shared.root / "go").touch()
    finish(first)
    assert shared.held("two") == 0
    second.send_signal(signal.SIGCONT)
    finish(second)


def test_runs_that_see_different_gpus_do_not_wait_for_each_other(shared, kit):
    one = queue(shared, "one", 1, shell=WAITS, gpus=4)
    two = queue(shared, "two", 4, gpus=2)
    one.env, two.env = ({**shared.job_env, "CUDA_VISIBLE_DEVICES": mask} for mask in ("0,1,2,3", "6,7"))
    first = shared.start(one)
    kit.wait_for(lambda: shared.held("one") == 4)
    finish(shared.start(two))
    (shared.root / "go").touch()
    finish(first)
    assert not shared.twice()


def test_a_run_inside_of_a_step_has_the_gpus_of_that_step(shared, kit):
    inner = queue(shared, "inner", 3, gpus=2)
    command = f"cd {inner.folder} && {sys.executable} -c '{DSEC}' run plan.json --job-id j -q"
    plain = kit.step("s", shell=command, demand=kit.demand(cpu_m=0, gpu_count=2))
    finish(shared.start(shared.job("outer", plain)))
    assert [cause for _, cause in inner.ends()] == ["ok"] * 3
    assert not inner.events("notice")


def test_leases_that_cannot_be_kept_stop_nobody(shared, kit):
    (Path(shared.folder) / "leases.json").mkdir()
    jobs = [queue(shared, name, 12, shell="sleep 0.05") for name in ("one", "two")]
    for run in [shared.start(job) for job in jobs]:
        finish(run)
    assert not shared.twice()
    assert "leases.json cannot be written: Is a directory" in (Path(shared.folder) / "log").read_text()


def test_a_folder_that_is_a_link_is_not_used(shared, kit):
    folder = Path(shared.folder)
    folder.rmdir()
    folder.symlink_to(shared.root, target_is_directory=True)
    job = queue(shared, "one", 1)
    finish(shared.start(job))
    assert f"{folder}: Not a directory" in job.events("notice")[0]["detail"]
    assert f"{folder}: Not a directory" in job.dsec("daemon", expect=3)
    folder.unlink()


@pytest.mark.battery
def test_whatever_is_killed_whenever_no_gpu_is_used_twice_and_nothing_is_lost(shared, kit):
    """For `DSEC_CHAOS_S` seconds (60); `DSEC_CHAOS_SEED` sets what happens."""
    chance = random.Random(os.environ.get("DSEC_CHAOS_SEED", "1"))
    levels = ("pauseable", "critical", "discardable", "elastic")
    jobs = []
    for name in ("one", "two", "three"):
        steps = [
            shared.step(
                f"s{at}",
                f"sleep {chance.uniform(0.02, 0.4):.2f}",
                chance.choice((1, 1, 1, 2, 4, GPUS)),
                level=chance.choice(levels),
                retries=kit.retries(9, 0, 1),
            )
            for at in range(40)
        ]
        jobs.append(shared.job(name, *steps))
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
            pids = [shared.broker()] if what in ("broker", "both") else []
            if what in ("run", "both"):
                pids.append(chance.choice([one.pid for one in processes.values()]))
            for pid in filter(alive, filter(None, pids)):
                os.kill(pid, signal.SIGKILL)
                kills[what] += 1
        assert not shared.twice()
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
