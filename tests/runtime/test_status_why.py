"""`dsec status --why STEP`, and that who waits hungrily for long goes first."""

import json
from types import SimpleNamespace

import pytest

from dsec.appetites import Appetites
from dsec.core.hunger import LONG_US


@pytest.fixture
def running(job, kit):
    """A run in which one Step runs, one waits for it, and one waits for room."""
    wait = "touch $DSEC_RUN_DIR/ready; while [ ! -e $DSEC_RUN_DIR/go ]; do sleep 0.02; done"
    whole = kit.demand(cpu_m=1_000_000)
    job.save(
        kit.plan(
            kit.step("first", shell=wait, demand=whole, rank_ms=9),
            kit.step("later", "first"),
            kit.step("beside", demand=whole),
            kit.step("done", demand=kit.demand(cpu_m=0), rank_ms=10),
        )
    )
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: (job.run_dir / "work/ready").exists() and ("done", "ok") in job.ends())
    yield job
    (job.run_dir / "work/go").touch()
    process.communicate(timeout=30)


@pytest.mark.battery
def test_it_says_what_a_step_waits_for_and_its_formula(running):
    later = running.dsec("status", "j", "--why", "later")
    assert "waits for first (running)" in later
    assert "hunger 0.000 = d x (q + 1 - r) / 2, with d = 0 of 1 needs done" in later
    beside = running.dsec("status", "j", "--why", "beside")
    assert "beside: ready" in beside
    assert "cores, " in beside
    assert "first runs" in beside
    waits = {one["step"]: one["why"] for one in json.loads(running.dsec("top", "j", "--json"))["waiting"]}
    assert waits["later"] == "waits for first (running)"
    assert f"  {waits['beside']}\n" in beside
    assert "hunger 1.000" in beside
    assert "first: running" in running.dsec("status", "j", "--why", "first")
    assert "done: every instance is done" in running.dsec("status", "j", "--why", "done")


def test_as_data_and_for_a_wrong_name(running):
    found = json.loads(running.dsec("status", "j", "--json", "--why", "beside"))["why"]
    assert (found["state"], found["hunger"]) == ("ready", 1000)
    assert found["appetite"] == {
        "waiting": 1, "running": 0, "needs": 0, "needs_done": 0, "asked": 1_000_000, "granted": 0,
    }  # fmt: skip
    assert "did you mean beside" in running.dsec("status", "j", "--why", "besid", expect=2)


def test_who_is_hungry_for_three_minutes_goes_first():
    told = []
    steps = [
        SimpleNamespace(id=name, needs=(), demand=SimpleNamespace(gpu_count=1, cpu_m=0)) for name in "ab"
    ]
    promoted = []
    scheduler = SimpleNamespace(
        waiting=lambda: [(1, 4), (1, 5)], promote=lambda at, iteration: promoted.append((at, iteration))
    )
    floor = SimpleNamespace(
        scheduler=scheduler,
        running={},
        steps=steps,
        starter=SimpleNamespace(forget=lambda: None),
        recorder=SimpleNamespace(emit=told.append),
    )
    yielding = SimpleNamespace(hungry=set())
    appetites = Appetites(SimpleNamespace(floor=floor, yields=lambda: yielding))
    appetites.look(0)
    appetites.look(LONG_US - 1)
    assert told == []
    appetites.look(LONG_US)
    appetites.look(LONG_US + 10)
    assert promoted == [(1, 4)]
    assert yielding.hungry == {(1, 4)}
    assert [(one.kind, one.step, one.iteration) for one in told] == [("hungry", "b", 4)]
