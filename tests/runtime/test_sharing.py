"""Two runs on one box of simulated GPUs: who gets which, and who makes room for whom."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from sharedbox import DSEC, GPUS, USES, WAITS, alive, begun, finish, queue

from dsec.plan import Checkpoint
from dsec.planfile import load_plan, seal


def test_a_second_run_gets_what_the_first_gives_back(gpu_box, kit):
    one = gpu_box.job("one", *(gpu_box.step(f"a{at}", WAITS) for at in range(GPUS)))
    two = gpu_box.job("two", *(gpu_box.step(f"b{at}", "true") for at in range(4)))
    first = gpu_box.start(one)
    kit.wait_for(lambda: gpu_box.held("one") == GPUS)
    second = gpu_box.start(two)
    kit.wait_for(lambda: gpu_box.held("two") == 0 and gpu_box.state()["two"]["waiting"])
    (gpu_box.root / "go").touch()
    finish(second)
    finish(first)
    assert not gpu_box.twice()
    kit.wait_for(lambda: gpu_box.state() == {})


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


@pytest.mark.battery
def test_two_queues_share_the_box_evenly(gpu_box, kit):
    jobs = [queue(gpu_box, name, 48, shell="sleep 0.1") for name in ("one", "two")]
    runs = [gpu_box.start(job) for job in jobs]
    for run in runs:
        finish(run)
    assert not gpu_box.twice()
    taken = [spans(job) for job in jobs]
    begin = max(min(since for since, _, _ in one) for one in taken)
    end = min(max(over for _, over, _ in one) for one in taken)
    shares = [
        sum(max(0.0, min(over, end) - max(since, begin)) * many for since, over, many in one) for one in taken
    ]
    assert min(shares) / sum(shares) > 0.3, shares


@pytest.mark.battery
def test_small_steps_do_not_keep_a_large_one_of_another_run_waiting(gpu_box, kit):
    small = queue(gpu_box, "small", 60, shell="sleep 0.1")
    large = queue(gpu_box, "large", 1, shell="true", gpus=GPUS)
    first = gpu_box.start(small)
    kit.wait_for(lambda: gpu_box.held("small") == GPUS)
    finish(gpu_box.start(large))
    assert first.poll() is None, "the large one did not wait for all small ones"
    finish(first)
    assert not gpu_box.twice()


@pytest.mark.battery
def test_three_queues_of_all_sizes_come_to_their_ends(gpu_box, kit):
    sizes = (1, GPUS, 2, 4)
    jobs = [
        gpu_box.job(name, *(gpu_box.step(f"s{at}", "sleep 0.05", sizes[at % 4]) for at in range(8)))
        for name in ("one", "two", "three")
    ]
    for run in [gpu_box.start(job) for job in jobs]:
        finish(run)
    assert not gpu_box.twice()
    assert all(job.ends().count((f"s{at}", "ok")) == 1 for job in jobs for at in range(8))


def test_nobody_is_shared_with_where_that_is_switched_off(gpu_box, kit):
    job = queue(gpu_box, "one", 1)
    job.env = {**job.env, "DSEC_BROKER": "off"}
    finish(gpu_box.start(job))
    assert os.listdir(gpu_box.folder) == []


@pytest.mark.battery
def test_the_witness_sees_runs_that_do_not_share(gpu_box, kit):
    jobs = [queue(gpu_box, name, GPUS, shell=WAITS) for name in ("one", "two")]
    for job in jobs:
        job.env = {**job.env, "DSEC_BROKER": "off"}
    runs = [gpu_box.start(job) for job in jobs]
    kit.wait_for(gpu_box.twice)
    (gpu_box.root / "go").touch()
    for run in runs:
        finish(run)


@pytest.mark.battery
def test_what_may_be_thrown_away_makes_room_for_a_critical_step_of_another_run(gpu_box, kit):
    kept = "[ -e $DSEC_RUN_DIR/again ] || { touch $DSEC_RUN_DIR/again; " + WAITS.strip() + "; }\n"
    cheap = gpu_box.job(
        "cheap", gpu_box.step("s", kept, GPUS, level="discardable", retries=kit.retries(1, 0, 1))
    )
    first = gpu_box.start(cheap)
    kit.wait_for(lambda: (cheap.run_dir / "work" / "again").exists())
    finish(gpu_box.start(queue(gpu_box, "urgent", 1, level="critical")))
    finish(first)
    assert cheap.ends() == [("s", "gave-way"), ("s", "ok")]
    pause = cheap.events("pause")[0]
    assert (pause["how"], pause["reason"]) == ("killed", "a Step of another run must not wait")
    assert not gpu_box.twice()


@pytest.mark.battery
def test_what_cannot_save_its_state_is_left_alone_by_a_critical_step_of_another_run(gpu_box, kit):
    one = queue(gpu_box, "one", 1, shell="sleep 1", gpus=GPUS)
    first = gpu_box.start(one)
    kit.wait_for(lambda: begun(one))
    finish(gpu_box.start(queue(gpu_box, "urgent", 1, level="critical")))
    finish(first)
    assert one.ends() == [("s0", "ok")]
    assert not gpu_box.twice()


@pytest.mark.battery
def test_the_broker_ends_by_itself_and_knows_nothing_of_the_run_that_started_it(gpu_box, kit):
    job = queue(gpu_box, "one", 1, shell=WAITS)
    job.env = {**job.env, "SECRET": "hunter2"}
    run = gpu_box.start(job)
    pid = kit.wait_for(gpu_box.broker)
    kit.wait_for(lambda: gpu_box.held("one") == GPUS)
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"SECRET" not in environment
    assert b"DSEC" not in environment
    assert os.stat(gpu_box.folder).st_mode & 0o077 == 0
    (gpu_box.root / "go").touch()
    finish(run)
    kit.wait_for(lambda: not alive(pid))
    assert not Path(gpu_box.folder).exists(), "a box that was simulated leaves nothing behind"


@pytest.mark.battery
def test_a_thousand_steps_of_two_runs_each_have_their_gpu_to_themselves(gpu_box, kit):
    jobs = [queue(gpu_box, name, 500) for name in ("one", "two")]
    runs = [gpu_box.start(job) for job in jobs]
    began = time.monotonic()
    for run in runs:
        finish(run)
    print(f"{time.monotonic() - began:.1f} s")
    assert not gpu_box.twice()
    assert all(len(job.ends()) == 500 for job in jobs)


@pytest.mark.battery
def test_what_another_run_holds_for_now_is_no_reason_to_refuse_a_plan(gpu_box, kit):
    full = "SIM_GPU_MIB=70000 sleep 60 &\n" + WAITS + "kill $!"
    first = gpu_box.start(queue(gpu_box, "one", 1, shell=full, gpus=GPUS))
    kit.wait_for(lambda: gpu_box.held("one") == GPUS)
    demand = kit.demand(cpu_m=0, gpu_count=GPUS, gpu_memory_bytes=40 * 2**30)
    two = gpu_box.job("two", kit.step("s", shell=USES, demand=demand))

    def most_free() -> int:
        return max(one["free_bytes"] for one in json.loads(two.dsec("inventory", "--json"))["devices"])

    kit.wait_for(lambda: most_free() < 40 * 2**30)
    second = gpu_box.start(two)
    kit.wait_for(lambda: (gpu_box.state() or {}).get("two", {}).get("waiting"))
    (gpu_box.root / "go").touch()
    finish(second)
    finish(first)
    assert not gpu_box.twice()


@pytest.mark.battery
def test_status_says_whose_gpus_a_step_waits_for(gpu_box, kit):
    first = gpu_box.start(queue(gpu_box, "one", 1, shell=WAITS, gpus=GPUS))
    kit.wait_for(lambda: gpu_box.held("one") == GPUS)
    two = queue(gpu_box, "two", 1)
    second = gpu_box.start(two)
    kit.wait_for(lambda: (gpu_box.state() or {}).get("two", {}).get("waiting"))
    told = two.dsec("status", "j", "--why", "s0")
    assert f"run j has {GPUS} GPUs ({gpu_box.root}/one/.dsec/runs/j)" in told
    assert " and comes next" in told
    data = json.loads(two.dsec("status", "j", "--why", "s0", "--json"))["why"]
    assert [len(one["devices"]) for one in data["other_runs"]] == [GPUS]
    (gpu_box.root / "go").touch()
    finish(second)
    finish(first)


@pytest.mark.battery
def test_the_broker_in_the_foreground(gpu_box, kit):
    job = queue(gpu_box, "one", 2)
    daemon = job.start("daemon")
    pid = kit.wait_for(gpu_box.broker)
    assert pid == daemon.pid
    assert f"there is a broker already: process {pid}" in job.dsec("daemon", expect=1)
    assert f"broker: process {pid}, runs: 0" in job.dsec("daemon", "--show")
    finish(gpu_box.start(job))
    assert gpu_box.broker() == pid
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
    time.sleep(0 if os.path.exists(os.environ["GO"]) else 0.2)
"""


@pytest.mark.battery
def test_a_resident_worker_leaves_between_two_calls_when_its_gpus_are_called_back(gpu_box, kit):
    demand = kit.demand(cpu_m=0, gpu_count=GPUS)
    one = gpu_box.job("one", kit.step("s", call="holds:work", demand=demand), count=60)
    (one.folder / "holds.py").write_text(HOLDS)
    first = gpu_box.start(one)
    kit.wait_for(lambda: begun(one))
    finish(gpu_box.start(queue(gpu_box, "two", 1)))
    assert first.poll() is None, "it did not wait for all calls"
    (gpu_box.root / "go").touch()
    finish(first)
    assert [cause for _, cause in one.ends()] == ["ok"] * 60
    assert [stop["cause"] for stop in one.events("worker-stop")] == ["evicted", "done"]
    assert not gpu_box.twice()


@pytest.mark.battery
def test_a_run_that_stands_still_is_granted_nothing(gpu_box, kit):
    first = gpu_box.start(queue(gpu_box, "one", 1, shell=WAITS, gpus=GPUS))
    kit.wait_for(lambda: gpu_box.held("one") == GPUS)
    two = queue(gpu_box, "two", 1)
    # In a process group of its own, as a shell makes it; in this session, or nobody could continue it.
    words = ("run", "plan.json", "--job-id", "j", "--quiet")
    second = two.start(*words, start_new_session=False, process_group=0)
    kit.wait_for(lambda: (gpu_box.state() or {}).get("two", {}).get("waiting"))
    second.send_signal(signal.SIGTSTP)
    kit.wait_for(lambda: not gpu_box.state()["two"]["waiting"])
    (gpu_box.root / "go").touch()
    finish(first)
    assert gpu_box.held("two") == 0
    second.send_signal(signal.SIGCONT)
    finish(second)


@pytest.mark.battery
def test_runs_that_see_different_gpus_do_not_wait_for_each_other(gpu_box, kit):
    one = queue(gpu_box, "one", 1, shell=WAITS, gpus=4)
    two = queue(gpu_box, "two", 4, gpus=2)
    one.env, two.env = ({**gpu_box.job_env, "CUDA_VISIBLE_DEVICES": mask} for mask in ("0,1,2,3", "6,7"))
    first = gpu_box.start(one)
    kit.wait_for(lambda: gpu_box.held("one") == 4)
    finish(gpu_box.start(two))
    (gpu_box.root / "go").touch()
    finish(first)
    assert not gpu_box.twice()


@pytest.mark.battery
def test_a_run_inside_of_a_step_has_the_gpus_of_that_step(gpu_box, kit):
    inner = queue(gpu_box, "inner", 3, gpus=2)
    command = f"cd {inner.folder} && {sys.executable} -c '{DSEC}' run plan.json --job-id j -q"
    plain = kit.step("s", shell=command, demand=kit.demand(cpu_m=0, gpu_count=2))
    finish(gpu_box.start(gpu_box.job("outer", plain)))
    assert [cause for _, cause in inner.ends()] == ["ok"] * 3
    assert not inner.events("notice")


@pytest.mark.battery
def test_who_can_save_its_state_makes_room_for_a_critical_step_of_another_run(gpu_box, kit):
    """The GPUs of the critical Step come first by their index, and it is left alone all the same."""
    half = GPUS // 2
    saved = "[ -e $DSEC_RUN_DIR/saved ] || { touch $DSEC_RUN_DIR/runs; " + WAITS.strip() + "; }\n"
    one = gpu_box.job(
        "one",
        gpu_box.step("keeps", WAITS, half, level="critical", rank_ms=9),
        gpu_box.step("saves", saved, half, level="pauseable", grace_ms=20_000),
    )
    plan = load_plan(str(one.folder / "plan.json"))
    saves = Checkpoint("saves", "touch $DSEC_RUN_DIR/saved")
    one.save(seal(plan._replace(hash="", checkpoints=(saves,))))
    first = gpu_box.start(one)
    kit.wait_for(lambda: gpu_box.held("one") == GPUS and (one.run_dir / "work/runs").exists())
    finish(gpu_box.start(queue(gpu_box, "urgent", 1, gpus=half, level="critical")))
    assert {end for end in one.ends() if end[0] == "keeps"} == set()
    (gpu_box.root / "go").touch()
    finish(first)
    assert sorted(one.ends()) == [("keeps", "ok"), ("saves", "gave-way"), ("saves", "ok")]
    assert [(pause["step"], pause["how"]) for pause in one.events("pause")] == [("saves", "saved")]
    assert not gpu_box.twice()
