"""Resident workers keep their GPUs from call to call, in a simulation as in a run."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import box, need, scene, step

from dsec.core.planscene import of_plan
from dsec.core.simmeasures import measure
from dsec.core.simulated import Fault, Kept
from dsec.core.simulation import simulate
from dsec.planfile import load_plan

ONE, TWO = need(gpus=1), need(gpus=2)
PAIR = [("a", 1000, 80)] * 2


def played(steps, cards, **stated):
    history = simulate(scene(steps, box(cards), **stated))
    names = [one.id for one in steps]
    return [(names[one.at], one.iteration, one.from_ms, one.devices) for one in history.pieces], history


def test_a_worker_keeps_its_gpu_between_calls_and_another_gets_the_other_one():
    steps = [step("A", ONE, 10, worker="w"), step("B", ONE, 10, ["A"]), step("C", ONE, 10, ["B"], worker="w")]
    pieces, history = played(steps, PAIR)
    assert pieces == [
        ("A", 0, 0, ("GPU-0",)), ("B", 0, 10, ("GPU-1",)), ("C", 0, 20, ("GPU-0",)),
    ]  # fmt: skip
    assert history.kept == (Kept("w", ("GPU-0",), 10, 20),)
    use = measure(scene(steps, box(PAIR)), history).use
    assert (use.gpu, use.kept) == (500, 167), "three Steps of ten on two GPUs for thirty, ten of them idle"


def test_who_needs_the_gpu_of_an_idle_worker_gets_it_at_once_and_the_worker_another_later():
    steps = [
        step("A", ONE, 10, worker="a"),
        step("B", ONE, 10, ["A"], worker="b"),
        step("T", ONE, 10, ["B"]),
        step("C", ONE, 10, ["T"], worker="b"),
        step("D", TWO, 10, ["C"]),
    ]
    pieces, history = played(steps, PAIR)
    assert [one[2:] for one in pieces] == [
        (0, ("GPU-0",)), (10, ("GPU-1",)), (20, ("GPU-0",)), (30, ("GPU-1",)), (40, ("GPU-0", "GPU-1")),
    ]  # fmt: skip
    assert history.kept == (Kept("a", ("GPU-0",), 10, 20), Kept("b", ("GPU-1",), 20, 30))


def test_a_worker_is_not_sent_away_while_it_is_called():
    steps = [step("A", ONE, 30, worker="a"), step("T", ONE, 10)]
    pieces, _ = played(steps, PAIR[:1])
    assert pieces == [("A", 0, 0, ("GPU-0",)), ("T", 0, 30, ("GPU-0",))]


def test_a_worker_has_the_gpus_of_the_largest_of_its_steps_and_other_calls_are_no_slower_there():
    cards = [("slow", 500, 80)] * 2
    steps = [step("A", need(), 10, worker="w"), step("B", TWO, 10, ["A"], worker="w")]
    pieces, history = played(steps, cards)
    assert [one[2:] for one in pieces] == [(0, ("GPU-0", "GPU-1")), (10, ("GPU-0", "GPU-1"))]
    assert history.end_ms == 20


def test_a_lost_gpu_takes_the_worker_that_idles_there():
    steps = [
        step("A", ONE, 10, worker="w"),
        step("B", need(), 10, ["A"]),
        step("C", ONE, 5, ["B"], worker="w"),
    ]
    lost = Fault("gpu-lost", 15, ("GPU-0",), 0, frozenset(), 0, 0, "lost")
    pieces, history = played(steps, PAIR, faults=(lost,))
    assert pieces[-1] == ("C", 0, 20, ("GPU-1",))
    assert history.kept == (Kept("w", ("GPU-0",), 10, 15),)


def test_a_lost_gpu_ends_the_call_and_the_worker_begins_again_elsewhere():
    steps = [step("A", ONE, 10, worker="w")]
    lost = Fault("gpu-lost", 5, ("GPU-0",), 0, frozenset(), 0, 0, "lost")
    pieces, history = played(steps, PAIR, faults=(lost,))
    assert pieces == [("A", 0, 0, ("GPU-0",)), ("A", 0, 5, ("GPU-1",))]
    assert history.end_ms == 15


@st.composite
def jobs(draw):
    count = draw(st.integers(1, 9))
    steps = []
    for at in range(count):
        before = (
            [f"S{one}" for one in sorted(draw(st.sets(st.integers(0, at - 1), max_size=2)))] if at else []
        )
        gpus, worker = draw(st.integers(0, 2)), draw(st.sampled_from(["", "v", "w", "x"]))
        steps.append(
            step(
                f"S{at}",
                need(gpus=gpus),
                draw(st.integers(1, 9)),
                before,
                rank=draw(st.integers(0, 3)),
                worker=worker,
            )
        )
    return steps


@pytest.mark.battery
@settings(max_examples=60)
@given(jobs(), st.integers(1, 3))
def test_no_gpu_is_in_two_hands_and_every_call_is_served(steps, count):
    history = simulate(scene(steps, box(PAIR), count=count))
    assert not history.never
    held = [(one.from_ms, one.to_ms, uuid) for one in history.pieces for uuid in one.devices]
    held += [(one.from_ms, one.to_ms, uuid) for one in history.kept for uuid in one.devices]
    for uuid in ("GPU-0", "GPU-1"):
        mine = sorted(one[:2] for one in held if one[2] == uuid)
        assert all(before[1] <= after[0] for before, after in pairwise(mine))


ON_THE_PLANNED = """
import sys
from dsec_cli.commands import run
from dsec_cli.fast import dsec
run.inventory_for = lambda plan, path, lang=None: plan.inventory
sys.exit(dsec())
"""
"""A run on the devices of its plan, which are nowhere: none is looked at before it is given to another."""

HEAD = """\
baseline: {cpu: 2, memory: 1Gi}
elasticity: {}
fault_tolerance: {level: pauseable}
dependencies: []
iterations: {count: 2}
steps:
"""


def contract(*steps):
    """Each: its id, its worker or "", its GPUs, what it needs."""
    lines = [HEAD]
    for name, worker, gpus, needs in steps:
        does = f'call: "mod:f", worker: {worker}' if worker else 'run: ["true"]'
        gpu = f", gpu: {{count: {gpus}}}" if gpus else ""
        after = f", needs: [{needs}]" if needs else ""
        lines.append(
            f"  - {{id: {name}, {does}{after}, timeout: 60s, expected_duration: 10ms,"
            f" resources: {{cpu: 1{gpu}}}}}\n"
        )
    return "".join(lines)


@pytest.mark.battery
@pytest.mark.parametrize(
    ("steps", "evicted"),
    [
        (
            [
                ("load", "trainer", 1, ""),
                ("sample", "sampler", 1, "load"),
                ("convert", "", 1, "sample"),
                ("train", "trainer", 1, "convert"),
                ("judge", "judge", 1, "train"),
                ("merge", "", 2, "judge"),
                ("score", "sampler", 1, "merge"),
            ],
            ["trainer", "sampler", "trainer", "judge"],
        ),
        # What needs no GPU itself is a call of a worker that has two.
        (
            [("one", "small", 1, ""), ("two", "large", 0, "one"), ("three", "large", 2, "two")],
            ["small", "large"],
        ),
    ],
)
def test_a_run_on_made_up_gpus_is_what_its_simulation_says(job, steps, evicted):
    (job.folder / "dsandbox.yaml").write_text(contract(*steps))
    (job.folder / "mod.py").write_text("def f(context):\n    return {}\n")
    (job.folder / "box.json").write_text(json.dumps({"gpus": [{"type": "a100-sxm-80gb"}] * 2, "cpu": 4}))
    job.dsec("plan", "dsandbox.yaml", "--inventory", "box.json", "-o", "plan.json")
    words = [sys.executable, "-c", ON_THE_PLANNED, "run", "plan.json", "--job-id", "j", "-q"]
    subprocess.run(words, cwd=job.folder, env=job.env, check=True, timeout=60)
    plan = load_plan(str(job.folder / "plan.json"))
    history = simulate(of_plan(plan))
    names = [one.id for one in plan.steps]
    simulated = [(names[one.at], one.iteration, list(one.devices)) for one in history.pieces]
    assert [(one["step"], one["iteration"], one["devices"]) for one in job.events("spawn")] == simulated
    left = [one["worker"] for one in job.events("worker-stop") if one["cause"] == "evicted"]
    assert left == [worker for worker, _ in history.evicted]
    assert left[: len(evicted)] == evicted
    told = job.dsec("simulate", "plan.json")
    assert f"that made room {len(left)} times" in " ".join(told.split())
    assert ("by idle workers" in told) == bool(history.kept)
