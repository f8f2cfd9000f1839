"""`dsec top`: what it shows of a run, line by line."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec import tail
from dsec.devices.reading import Reading
from dsec.events import Continue, DeviceState, Exit, Notice, Pause, Retry, RunEnd, RunStart, Spawn
from dsec.inventory import Device, Inventory
from dsec.plan import Budget
from dsec.rundir import RunDir
from dsec_cli.cells import cells
from dsec_cli.commands import looking
from dsec_cli.screen.document import document
from dsec_cli.screen.frame import frame
from dsec_cli.screen.line import bar, cut, fitted, line_width, painted, trimmed, width_of
from dsec_cli.screen.queue import waiting
from dsec_cli.screen.scene import Scene, Trace, Use, Wish
from dsec_cli.screen.steps import shown_steps
from dsec_cli.screen.watch import Watch

texts = st.text(alphabet="ab 中文é\u0301█▏─…\t\x1b", max_size=12)


@given(texts, st.integers(0, 12))
def test_a_text_is_cut_and_filled_to_its_width(text, width):
    assert cells(cut(text, width)) <= width
    assert cells(fitted(text, width)) == width == cells(fitted(text, width, right=True))
    assert "\x1b" not in fitted(text, width)


@given(st.lists(st.tuples(texts.map(lambda text: text.replace("\t", " ").replace("\x1b", "")), st.just("1"))),
       st.integers(0, 20))  # fmt: skip
def test_a_line_is_never_wider_than_the_screen(line, width):
    assert line_width(trimmed(line, width)) <= width


@given(st.integers(-5, 1500), st.integers(1, 20))
def test_a_bar_has_its_width_and_unknown_is_no_empty_one(permille, width):
    assert width_of(bar(permille, width)) == width == cells(bar(permille, width))
    assert bar(None, width) not in (bar(0, width), bar(1000, width))


def test_without_colour_nothing_but_text_is_sent():
    assert painted([("a", "1;31"), ("b", "")], color=False) == "ab"
    assert painted([("a", "1;31"), ("b", "")], color=True) == "\x1b[1;31ma\x1b[0mb"


GPUS = tuple(
    Device(f"GPU-{at}", at, "H100", "h100", 80 * 2**30, None, None, None, (), 1000, "ok") for at in range(4)
)


@pytest.fixture
def plan(kit):
    gpu = kit.demand(gpu_count=2, cpu_m=500, gpu_types=("h100",))
    steps = (
        kit.step("rollout", demand=gpu, estimate_ms=5000)._replace(name="采样"),
        kit.step("update", "rollout", demand=gpu, estimate_ms=10_000),
        kit.step("check", "update", demand=kit.demand(cpu_m=500)),
    )
    made = kit.plan(*steps, count=3, in_flight=2)
    return made._replace(
        inventory=Inventory("nvml", 2000, None, None, None, GPUS, ()), budget=Budget(None, 3_600_000)
    )


def spawn(at, step, iteration=0, *, devices=(), attempt=1):
    return Spawn(at, step, iteration, attempt, 7, 0, 0, devices, f"logs/{step}@{iteration}.{attempt}.log", "")


def end(at, step, iteration=0, *, cause="ok", attempt=1):
    code = None if cause == "ok" else 3
    return Exit(at, step, iteration, attempt, cause, code, None, "", 1_000_000, 1, 1, None, None, None)


START = RunStart(0, 1, 1, 1, "b", 1_000_000, False)
SECOND = 1_000_000


def watched(plan, *events):
    watch = Watch(plan)
    watch.take((START, *events))
    return watch


def reading(at, **known):
    return Reading(f"GPU-{at}", at, "H100", "ok", **known)


def scene(plan, *events, readings=(), now=10 * SECOND, state="running", **more):
    values = {
        "job": "nightly-7",
        "state": state,
        "clock": "12:00:00",
        "now_us": now,
        "watch": watched(plan, *events),
        "readings": readings,
        "problem": "",
        "read_us": None,
        "uses": {},
        "traces": {},
        "log": (),
        "log_name": "",
    }
    return Scene(**{**values, **more})


RUNNING = (
    spawn(0, "rollout", devices=("GPU-0", "GPU-1")),
    end(5 * SECOND, "rollout"),
    spawn(5 * SECOND, "update", devices=("GPU-0", "GPU-1")),
    spawn(6 * SECOND, "rollout", 1, devices=("GPU-2", "GPU-3")),
)
BUSY = tuple(
    reading(at, busy_permille=970, memory_used_bytes=71 * 2**30, memory_total_bytes=80 * 2**30,
            temperature_c=71, power_mw=600_000)
    for at in range(3)
)  # fmt: skip


def text(scene, wish=None, width=80, height=0, tell=str):
    lines = frame(scene, wish or Wish(""), width, height, tell)
    return "\n".join(painted(line, color=False) for line in lines)


def test_what_runs_is_shown_with_who_holds_what(plan):
    uses = {("update", 0): Use(3 * 2**30, 980)}
    shown = text(scene(plan, *RUNNING, readings=(*BUSY, reading(3)), uses=uses), width=160)
    assert re.search(r"nightly-7 running 10\.0s +0\.0078 of 1 GPU-hours", shown)
    assert re.search(r"  0 █+.? +97% █+.? +71\.0/80G +71 +600 W +ok .* update@0", shown)
    assert re.search(r"  3 ·+ +\? ·+ +\? +\? +\? +ok .* rollout@1", shown)  # unknown is never 0
    assert re.search(r"update +running +0 +5\.00s +10\.0s +3\.0GiB +98%", shown)
    assert re.search(r"> update", shown)


def test_what_waits_says_why(plan):
    found, many = waiting(watched(plan, *RUNNING), 10 * SECOND, most=9)
    assert many == 3
    assert [(one.step, one.iteration, str(one.why)) for one in found] == [
        ("check", 0, "waits for update@0 (running)"),
        ("update", 1, "waits for rollout@1 (running), update@0 (running)"),
        ("check", 1, "waits for update@1, check@0"),
    ]


def test_who_is_waited_for_twice_is_named_once(plan):
    """An input of the iteration before and the order of a Step's own iterations name the same instance."""
    twice = plan._replace(steps=tuple(step._replace(needs=step.needs * 2) for step in plan.steps))
    found, _ = waiting(watched(twice, *RUNNING), 10 * SECOND, most=9)
    assert str(found[0].why) == "waits for update@0 (running)"


def test_what_is_ready_and_finds_no_room_is_hungry(plan):
    taken = (spawn(0, "rollout", devices=("GPU-0", "GPU-1", "GPU-2")), end(1, "rollout"),
             spawn(2, "rollout", 1, devices=("GPU-0", "GPU-1", "GPU-2")))  # fmt: skip
    [first, *_], _ = waiting(watched(plan, *taken), 10 * SECOND, most=9)
    assert (first.step, first.iteration, first.hunger_permille) == ("update", 0, 1000)
    assert first.why == "needs 2 of 4 GPUs that would do, 1 free"


def test_a_device_out_of_use_would_not_do(plan):
    lost = DeviceState(2, "GPU-3", "lost", "fell off the bus")
    events = (spawn(0, "rollout", devices=("GPU-0", "GPU-1")), end(1, "rollout"),
              spawn(2, "rollout", 1, devices=("GPU-0", "GPU-1")), lost)  # fmt: skip
    [first, *_], _ = waiting(watched(plan, *events), 10 * SECOND, most=9)
    assert first.why == "needs 2 of 3 GPUs that would do, 1 free"
    shown = text(scene(plan, *events, readings=(reading(3),)))
    assert "lost" in shown
    assert "GPUs out of use: 1" in shown


def test_what_stands_still_what_retries_and_notices_are_told(plan):
    events = (
        *RUNNING,
        Pause(7 * SECOND, "update", 0, 1, "frozen", "room for rollout"),
        end(8 * SECOND, "rollout", 1, cause="exit"),
        Retry(8 * SECOND, "rollout", 1, 2, 5000),
        Notice(9 * SECOND, "budget", "", -1, "", "something odd"),
    )
    shown = text(scene(plan, *events))
    assert re.search(r"update +paused", shown)
    assert "1 paused" in shown
    assert "! 9.00s  something odd" in shown
    assert re.search(r"rollout@1 .* waits to be tried again \(attempt 2\)", shown)
    again = text(scene(plan, *events, Continue(10 * SECOND, "update", 0, 1)))
    assert re.search(r"update +running", again)


def test_a_lost_executor_leaves_nothing_running(plan):
    events = (*RUNNING, RunStart(0, 2, 2, 6002, "b", 1_060_000, False))
    found = scene(plan, *events)
    assert [one.state for one in found.watch.standings(SECOND, found.watch.steps)] == ["waiting"] * 3
    assert found.watch.held_by() == {}
    assert found.run_us == 70 * SECOND


def test_a_run_that_is_over_has_no_queue(plan):
    shown = text(scene(plan, *RUNNING, RunEnd(10 * SECOND, "failed", "update@0"), state="failed"))
    assert "failed" in shown.splitlines()[0]
    assert "Waiting" not in shown


def test_no_driver_is_said(plan):
    assert "GPUs: unknown (no NVIDIA library)" in text(scene(plan, problem="no NVIDIA library"))
    seen = text(scene(plan, readings=BUSY, read_us=4 * SECOND))
    assert "as the run's monitor saw them 6.00s ago" in seen


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50), (40, 10), (200, 12), (20, 5), (81, 100)])
@pytest.mark.parametrize("view", ["run", "log", "heat", "notices"])
def test_a_picture_fills_the_screen_and_no_more(plan, width, height, view):
    trace = Trace([SECOND, 9 * SECOND], [500, None], [None, 900])
    found = scene(plan, *RUNNING, readings=BUSY, traces={"GPU-0": trace}, log=("行" * 200, "x"), log_name="l")
    lines = frame(found, Wish("", view=view), width, height, str)
    assert all(line_width(line) <= width for line in lines)
    assert len(lines) == height or (width, height) == (20, 5)


def test_of_many_steps_those_are_shown_that_run_or_went_wrong(kit):
    plan = kit.plan(*(kit.step(f"S{at}") for at in range(50)))
    watch = watched(plan, spawn(0, "S40"), spawn(0, "S30"), end(1, "S30", cause="exit"))
    assert shown_steps(watch, 4, "S45") == ["S0", "S30", "S40", "S45"]


def test_the_document_has_all_and_null_where_nothing_is_known(plan):
    found = document(scene(plan, *RUNNING, readings=(reading(0),)), Wish(""))
    json.dumps(found)
    assert found["format"] == "dsec.top/1"
    assert found["gpu_ms"] == (2 * 10 + 2 * 4) * 1000
    [device] = found["devices"]
    assert (device["busy_permille"], device["memory_permille"], device["held_by"]) == (
        None,
        None,
        ["update@0"],
    )
    assert found["steps"][1]["rss_bytes"] is None


def test_a_long_watch_keeps_a_bounded_trace():
    trace = Trace([], [], [])
    for at in range(50_000):
        trace.add(at, at % 1000, None)
    trace.add(7, 1, 1)  # late: left out
    assert len(trace.times_us) == len(trace.busy) == len(trace.memory) <= 8192
    assert trace.times_us == sorted(trace.times_us)
    assert trace.times_us[-1] == 49_999
    assert trace.times_us[0] == 0


def test_a_long_journal_is_shown_while_it_is_read(job, kit, monkeypatch):
    job.run(kit.plan(kit.step("A"), kit.step("B", "A"), count=40))
    monkeypatch.setattr(looking, "_PIECE_BYTES", 1000)
    monkeypatch.setattr(tail, "_PIECE", 1000)
    looker = looking.Looker(RunDir("j", str(job.run_dir)))
    shares = []
    while not shares or shares[-1] < 1000:
        found = looker.look(Wish(""), patience_s=0.0)
        shares.append(found.read_permille)
        shown = text(found)
        assert (f"the run's journal is being read: {shares[-1] // 10}%" in shown) == (shares[-1] < 1000)
    assert len(shares) > 5
    assert shares == sorted(shares)
    assert "80 of 80 done" in text(looking.Looker(RunDir("j", str(job.run_dir))).look(Wish("")))


def test_a_run_without_a_notice_says_so_and_one_with_one_does_not(plan):
    assert "no notice so far" in text(scene(plan, START), Wish("", view="notices"))
    noticed = Notice(1, "stalled", "collect", 0, "", "it stands still")
    shown = text(scene(plan, START, noticed), Wish("", view="notices"))
    assert "it stands still" in shown
    assert "no notice" not in shown


def test_a_notice_says_of_which_step_and_gpu_and_is_whole_in_its_own_view(plan):
    moved = "moved from GPU-1, GPU-2 to GPU-3: running again 20 ms after it was seen, and this goes on and on"
    found = scene(
        plan,
        START,
        Notice(1, "over-baseline", "update", 1, "GPU-2", "it holds 70 GiB of GPU memory and states 40 GiB"),
        Notice(2, "moved", "rollout", 0, "", moved),
        Notice(3, "device", "", -1, "GPU-0", "GPU GPU-0 is hot: 88 degrees"),
    )
    shown = text(found, Wish("", view="notices"), width=60)
    flat = " ".join(shown.split())
    assert "update@1: GPU 2: it holds 70 GiB of GPU memory and states 40 GiB" in flat
    assert "rollout@0: moved from GPU 1, GPU 2 to GPU 3: running again 20 ms" in flat
    assert "this goes on and on" in flat
    assert "! 0.00s GPU 0 is hot: 88 degrees" in flat
    assert max(map(len, shown.splitlines())) <= 60
    first = next(line for line in text(found, width=60).splitlines() if "moved" in line)
    assert first.endswith("…")


def test_a_short_log_leaves_its_lines_to_what_waits(plan):
    quiet = scene(plan, *RUNNING, readings=BUSY)
    few = quiet._replace(log=(), log_name="logs/x")
    many = quiet._replace(log=tuple(f"line {at}" for at in range(50)), log_name="logs/x")
    waits = [[text(one, height=height).count("@") for one in (few, many)] for height in range(16, 40)]
    assert all(short >= long for short, long in waits)
    assert any(short > long for short, long in waits)
    assert all(len(text(many, height=height).splitlines()) == height for height in range(16, 40))


def test_the_small_curves_say_how_far_back_they_go(plan):
    young = scene(plan, START, *RUNNING, readings=BUSY, now=18 * SECOND)
    assert "since the start" in text(young, width=160)
    old = scene(plan, START, *RUNNING, readings=BUSY, now=700 * SECOND)
    assert "last 10 minutes" in text(old, width=160)
