"""Resident workers: warm across iterations, and every way to fail is a Step's failure."""

from __future__ import annotations

import json
import os

import pytest

MODULE = """
import os, signal, sys, time
from dsec.sdk import context

calls = 0

def count(ctx, **args):
    global calls
    calls += 1
    print("call", ctx.step, ctx.iteration)
    return {"calls": calls, "pid": os.getpid(), "args": args, "carried": ctx.carried, "attempt": ctx.attempt}

def same_context(ctx):
    assert context() == ctx, (context(), ctx)
    return ctx.run_dir

def quiet(ctx):
    pass

def raises(ctx):
    print("before")
    raise ValueError("bad batch\\nsecond line")

def leaves(ctx):
    sys.exit(4)

def vanishes(ctx):
    os._exit(5)

def killed(ctx):
    os.kill(os.getpid(), signal.SIGKILL)

def hangs(ctx):
    time.sleep(600)

def hangs_deaf(ctx):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)

def closes(ctx):
    os.close(3)
    time.sleep(600)

def garbage(ctx):
    os.write(3, b"\\x00\\xffnot a frame")
    time.sleep(600)

def forged(ctx):
    os.write(3, b"999 0 0 ok 1")
    time.sleep(600)

def no_json(ctx):
    return object()

def nan(ctx):
    return float("nan")

def large(ctx):
    return "x" * 100_000

def busy(ctx):
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass

def noisy(ctx):
    os.write(1, b"straight to the descriptor\\n")
    print("through print")
    print("to stderr", file=sys.stderr)
    os.system("echo from a child")
    return 1

def flaky(ctx):
    if ctx.attempt < 3:
        os._exit(9)
    return "third time"
"""


@pytest.fixture
def calls(job):
    (job.folder / "mod.py").write_text(MODULE)
    (job.folder / "broken.py").write_text("import no_such_module\n")
    return job


def results(job):
    return {
        (one["step"], one["iteration"]): one.get("result")
        for one in job.events("exit")
        if one["cause"] == "ok"
    }


def test_a_worker_stays_warm_and_a_group_shares_one(calls, kit):
    steps = [
        kit.step("A", call="mod:count", args={"x": [1, {"y": "é"}]}, worker="g", carried=[("B", 0)]),
        kit.step("B", "A", call="mod:count", worker="g"),
        kit.step("C", "A", call="mod:count"),
    ]
    calls.run(kit.plan(*steps, count=5))
    found = results(calls)
    assert [found["A", n]["calls"] for n in range(5)] == [1, 3, 5, 7, 9]
    assert [found["C", n]["calls"] for n in range(5)] == [1, 2, 3, 4, 5]
    assert len({found["A", n]["pid"] for n in range(5)} | {found["B", n]["pid"] for n in range(5)}) == 1
    assert found["A", 0]["args"] == {"x": [1, {"y": "é"}]}
    assert [found["A", n]["carried"] for n in range(3)] == [{"B": -1}, {"B": 0}, {"B": 1}]
    assert len(calls.events("worker-start")) == 2
    assert {one["cause"] for one in calls.events("worker-stop")} == {"done"}
    assert calls.dsec("logs", "j", "B", "--iteration", "2") == "call B 2\n"
    report = json.loads((calls.run_dir / "report.json").read_text())
    assert report["results"]["C"] == {"iteration": 4, "value": found["C", 4]}


def test_the_context_is_the_same_both_ways(calls, kit):
    calls.run(kit.plan(kit.step("A", call="mod:same_context"), count=3))
    assert results(calls)["A", 2] == str(calls.run_dir / "work")


FAILURES = {
    "raises": ("raised", "second line"),
    "leaves": ("raised", "SystemExit: 4"),
    "vanishes": ("worker-lost", "exited with code 5"),
    "killed": ("worker-lost", "was killed by SIGKILL"),
    "hangs": ("timeout", "ran past its timeout"),
    "hangs_deaf": ("timeout", "ran past its timeout"),
    "closes": ("worker-lost", "closed its connection"),
    "garbage": ("worker-lost", "no answer"),
    "forged": ("worker-lost", "no answer"),
    "no_json": ("bad-result", "object is no JSON value"),
    "nan": ("bad-result", "float is no JSON value"),
    "large": ("bad-result", "100002 bytes of JSON, 65536 are kept"),
    "missing": ("raised", "has no attribute 'missing'"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_of_a_call_is_named_and_the_next_call_works(calls, kit, name):
    cause, words = FAILURES[name]
    timeout_ms = 400 if name.startswith("hangs") else 60_000
    steps = [
        kit.step("bad", call=f"mod:{name}", worker="g", timeout_ms=timeout_ms, rank_ms=9, grace_ms=200),
        kit.step("good", call="mod:count", worker="g"),
    ]
    out = calls.run(kit.plan(*steps), "--keep-going", expect=1)
    assert words in out
    assert calls.ends() == [("bad", cause), ("good", "ok")]
    warm = cause in ("raised", "bad-result")
    assert len(calls.events("worker-start")) == (1 if warm else 2)
    if name == "raises":
        log = calls.dsec("logs", "j", "bad")
        assert log.startswith("before\nTraceback")
        assert "ValueError: bad batch" in log
        assert "  | ValueError: bad batch" in out


def test_a_module_that_fails_to_import_says_why(calls, kit):
    out = calls.run(kit.plan(kit.step("A", call="broken:f")), expect=1)
    assert "ModuleNotFoundError: No module named 'no_such_module'" in out


@pytest.mark.battery
def test_the_cpu_of_a_call_is_told_and_counted_once(calls, kit):
    """The worker's own total has its start in it, too; the run's has every processor second once."""
    calls.run(kit.plan(kit.step("A", call="mod:busy"), kit.step("B", call="mod:vanishes")), expect=1)
    report = json.loads((calls.run_dir / "report.json").read_text())
    rows = {row["id"]: row for row in report["steps"]}
    assert 200 <= rows["A"]["cpu_ms"] < 300
    assert (rows["A"]["rss_kb"], rows["B"]["cpu_ms"]) == (None, None)
    totals = {one["worker"]: one["cpu_ms"] for one in report["workers"]}
    assert totals["A"] >= rows["A"]["cpu_ms"]
    assert abs(report["cpu_ms"] - sum(totals.values())) <= 2
    assert "- A: CPU " in calls.dsec("report", "j")


def test_noise_on_stdout_goes_to_the_log(calls, kit):
    calls.run(kit.plan(kit.step("A", call="mod:noisy")))
    log = calls.dsec("logs", "j", "A")
    assert sorted(log.splitlines()) == [
        "from a child",
        "straight to the descriptor",
        "through print",
        "to stderr",
    ]


def test_crashes_are_retried_on_a_fresh_worker(calls, kit):
    calls.run(kit.plan(kit.step("A", call="mod:flaky", retries=kit.retries(2, 0, 1))))
    assert results(calls) == {("A", 0): "third time"}
    assert len(calls.events("worker-start")) == 3


def test_arguments_too_large_for_a_call_are_refused_in_words(calls, kit):
    out = calls.run(kit.plan(kit.step("A", call="mod:count", args={"x": "y" * 200_000})), expect=1)
    assert "its arguments take" in out


def test_a_missing_output_of_a_call(calls, kit):
    out = calls.run(kit.plan(kit.step("A", call="mod:quiet", outputs=("{run}/x",))), expect=1)
    assert "did not write a declared output" in out


@pytest.fixture
def on_gpu(job, simulated_box):
    """The job's commands are on a box with one GPU."""
    job.env |= simulated_box("1xa100-sxm-80gb")


@pytest.mark.usefixtures("on_gpu")
@pytest.mark.battery
def test_idle_workers_give_their_gpu_up_when_it_is_needed(calls, kit):
    one = kit.demand(gpu_count=1)
    steps = [
        kit.step("A", call="mod:count", demand=one),
        kit.step("B", "A", call="mod:count", demand=one),
        kit.step("C", "B", shell='test -n "$CUDA_VISIBLE_DEVICES"', demand=one),
    ]
    calls.run(kit.plan(*steps, count=2))
    assert [one["cause"] for one in calls.events("worker-stop")] == ["evicted"] * 4
    spawns = calls.events("spawn")
    assert len({one["devices"][0] for one in spawns}) == 1
    assert [one["step"] for one in spawns] == ["A", "B", "C", "A", "B", "C"]
    report = json.loads((calls.run_dir / "report.json").read_text())
    assert report["gpu_ms"] > 0


@pytest.mark.usefixtures("on_gpu")
def test_a_worker_with_its_gpu_stays_warm_while_nobody_needs_it(calls, kit):
    steps = [kit.step("A", call="mod:count", demand=kit.demand(gpu_count=1)), kit.step("B", "A")]
    calls.run(kit.plan(*steps, count=4))
    assert [results(calls)["A", n]["calls"] for n in range(4)] == [1, 2, 3, 4]


def test_workers_leave_nothing_behind(calls, kit):
    mark = f"dsec-test-{os.getpid()}-{calls.folder.name}"
    calls.env["DSEC_TEST_MARK"] = mark
    calls.run(kit.plan(kit.step("A", call="mod:count"), count=2))
    assert not kit.alive(mark)
