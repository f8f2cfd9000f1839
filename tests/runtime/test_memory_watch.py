"""Memory that climbs, and a worker above its statement: seen in real runs, on simulated GPUs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from simulated import FIRST, Machine

from dsec.caches import empty_caches
from dsec.easing import forecast_line, respond, size
from dsec.monitor.checks.memory import Check
from dsec.monitor.processes import Usage
from dsec.monitor.running import Watched
from dsec.monitor.scene import Host, Scene, Use
from dsec.simgpu.scenario import box, of_box

CONTRACT = """
version: "1.0.0"
name: ramp
base: python:3.11
baseline:
  gpu: {gpu}
  cpu: 1
  memory: 2GiB
elasticity:
  gpu: {{min_count: {gpus}, max_count: {gpus}}}
fault_tolerance: {{level: pauseable, checkpoint_grace_period: 10s, resume_strategy: step_resume}}
dependencies: []
iterations: {{count: {count}}}
steps:
  - id: train
{step}
    resources:
      cpu: 1
      memory: {memory}
      gpu: {gpu}
    expected_duration: 1s
    timeout: 60s
"""
MIB = 1 << 20
GIB = 1 << 30


RAMP = """
import glob, os, sys, time
held = b"x" * ((4 + 6 * int(os.environ["DSEC_ITERATION"])) << 20)
place = os.path.dirname(os.environ["DSEC_RUN_DIR"])
audit, since = os.path.join(place, "audit"), time.monotonic()
looks, size = 0, None
while looks < 2:
    time.sleep(0.02)
    now = os.path.getsize(audit) if os.path.exists(audit) else 0
    looks += size is not None and now != size
    size = now
    if time.monotonic() - since > 30:
        print("no look for 30 s; the audit has", now, "bytes; the monitor's log:")
        print(open(os.path.join(place, "monitor.log")).read() if size else "")
        for link in glob.glob("/proc/[0-9]*/fd/1"):
            try:
                if os.readlink(link) == os.path.join(place, "monitor.log"):
                    at = os.path.dirname(os.path.dirname(link))
                    print(*(open(f"{at}/{name}").read().strip() for name in ("stat", "wchan", "syscall")))
            except OSError:
                pass
        print(open("/proc/loadavg").read())
        sys.exit(9)
"""
"""Ends when the monitor has looked at it: the second sample since then began after the memory was taken.

The test once took 85 s, as if four executions had not been looked at for 20 s: now it would fail and say why.
"""


def run(job: Any, step: str, *, gpus: int, count: int, memory: str = "512MiB") -> list[dict[str, Any]]:
    """Run the contract; the notices."""
    gpu = "{count: 1, type: h100-sxm-80gb, memory: 40GiB}" if gpus else "{count: 0}"
    text = CONTRACT.format(step=step, gpus=gpus, gpu=gpu, count=count, memory=memory)
    (job.folder / "dsandbox.yaml").write_text(text)
    job.env["DSEC_AUDIT_S"] = "0.1"
    job.dsec("run", "--job-id", "j")
    found: list[dict[str, Any]] = job.events("notice")
    return found


@pytest.fixture
def on_gpus(job: Any, machine: Machine) -> Any:
    """A job on a machine with one simulated GPU of 80 GB."""
    machine.rules(of_box(box("1xh100-sxm-80gb")))
    environ = machine.environ()
    job.env |= {key: environ[key] for key in ("LD_LIBRARY_PATH", "SIM_GPU_SCENARIO")}
    return job


@pytest.mark.battery
def test_a_ramp_of_main_memory_is_told_before_the_limit(job: Any) -> None:
    (job.folder / "ramp.py").write_text(RAMP)
    (notice,) = run(job, f"    run: {sys.executable} -I -S ramp.py", gpus=0, count=17, memory="128MiB")
    assert (notice["kind"], notice["step"], notice["device"]) == ("forecast", "train", "")
    found = re.fullmatch(
        r"main memory grows by ([\d.]+) MiB an execution: "
        r"it reaches the 128 MiB that it states in about (\d+) executions",
        notice["detail"],
    )
    assert found is not None
    assert 5.5 <= float(found[1]) <= 6.5
    assert 8 <= notice["iteration"] <= 16
    assert 17 <= notice["iteration"] + int(found[2]) <= 21


@pytest.mark.battery
@pytest.mark.battery
def test_a_ramp_of_gpu_memory_is_told_before_the_limit(on_gpus: Any) -> None:
    step = "    run: |\n      export SIM_GPU_MIB=$((30000 + 500 * DSEC_ITERATION))\n      exec sleep 0.4"
    (notice,) = run(on_gpus, step, gpus=1, count=14)
    assert (notice["kind"], notice["device"]) == ("forecast", FIRST)
    assert (
        "GPU memory grows by 500 MiB an execution: it reaches the 40 GiB that it states" in notice["detail"]
    )
    status = json.loads(on_gpus.dsec("status", "j", "--json"))
    assert [one["kind"] for one in status["notices"]] == ["forecast"]


WORKER = """
import sys, time, types

emptied = []
torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, empty_cache=lambda: emptied.append(1))
sys.modules["torch"] = torch

def trains(ctx):
    time.sleep(1.2)
    return len(emptied)
"""


@pytest.mark.battery
@pytest.mark.battery
def test_a_worker_far_above_its_statement_is_asked_to_empty_its_cache(on_gpus: Any) -> None:
    (on_gpus.folder / "mine.py").write_text(WORKER)
    step = "    call: mine:trains\n    env: {SIM_GPU_MIB: '65000'}"
    (notice,) = run(on_gpus, step, gpus=1, count=3)
    assert (notice["kind"], notice["device"]) == ("over-baseline", FIRST)
    assert notice["detail"] == (
        "it holds 63.5 GiB of GPU memory and states 40 GiB: its worker is asked to empty its cache"
    )
    assert [end["result"] for end in on_gpus.events("exit")] == [0, 1, 1]
    log = (on_gpus.run_dir / "logs/worker-train.log").read_text()
    assert log.count("dsec: asked for memory back; torch: emptied\n") == 1


@pytest.mark.battery
def test_only_what_is_imported_is_emptied_and_a_failure_is_told() -> None:
    def fails() -> None:
        raise RuntimeError("CUDA error")

    torch: Any = ModuleType("torch")
    torch.cuda = SimpleNamespace(is_initialized=lambda: False, empty_cache=fails)
    cupy: Any = ModuleType("cupy")
    cupy.get_default_memory_pool = fails
    assert empty_caches({}) == "no library that keeps GPU memory is imported"
    assert empty_caches({"torch": torch, "numpy": cupy}) == "torch: emptied"
    assert empty_caches({"torch": torch, "cupy": cupy}) == "torch: emptied; cupy: failed (RuntimeError)"
    torch.cuda.is_initialized = lambda: True
    assert empty_caches({"torch": torch}) == "torch: failed (RuntimeError)"
    assert "torch" not in sys.modules


def scene(at_s: int, left: int, uses: tuple[Use, ...], plan: Any) -> Scene:
    host = Host(left, 64 * GIB, GIB, 0)
    return Scene(at_s * 10**6, 1, "/nowhere", (), {}, (), "", uses, host, {}, lambda: plan)


def use_of(step: str, held: int) -> Use:
    watched = Watched(step, 0, 1, "", 1, 0, (), 0, "")
    return Use(watched, Usage((1,), held, 0, "S"), (), 0, 0, {})


def test_on_a_full_machine_who_exceeds_its_own_statement_is_named_once(kit: SimpleNamespace) -> None:
    plan = kit.plan(
        kit.step("big", demand=kit.demand(memory_bytes=50 * GIB)),
        kit.step("leak", demand=kit.demand(memory_bytes=GIB)),
        kit.step("silent"),
    )
    uses = (use_of("big", 49 * GIB), use_of("leak", 2 * GIB), use_of("silent", 9 * GIB))
    check = Check()
    told = [one for at in range(9) for one in check.look(scene(at, GIB, uses, plan))]
    scarce = [one for one in told if one["tell"] == "scarce"]
    assert [(one["step"], one["held_bytes"], one["stated_bytes"]) for one in scarce] == [
        ("leak", 2 * GIB, GIB)
    ]
    assert not [one for at in range(9, 12) for one in check.look(scene(at, 32 * GIB, uses, plan))]
    again = [one for at in range(12, 15) for one in check.look(scene(at, GIB, uses[::2], plan))]
    assert [one["step"] for one in again] == [""]


SHARED = """
version: "1.0.0"
name: shared
base: python:3.11
baseline: {gpu: {count: 1, type: h100-sxm-80gb, memory: 40GiB}, cpu: 1, memory: 2GiB}
elasticity: {gpu: {min_count: 1, max_count: 1}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 10s, resume_strategy: step_resume}
dependencies: []
steps:
  - id: keeps
    run: |
      until [ -e $DSEC_RUN_DIR/again ]; do sleep 0.2; done
    env: {SIM_GPU_MIB: "38000"}
    resources: {cpu: 0.5, gpu: {count: 1, memory: 38GiB}}
    timeout: 60s
  - id: leaks
    run: |
      [ $DSEC_ATTEMPT = 1 ] || { touch $DSEC_RUN_DIR/again; exit 0; }
      sleep 0.5
      SIM_GPU_MIB=41000 sleep 20
    resources: {cpu: 0.5, gpu: {count: 1, memory: 30GiB}}
    retries: 1
    timeout: 60s
"""


def test_on_a_shared_gpu_the_offender_goes_and_its_neighbour_stays(on_gpus: Any) -> None:
    (on_gpus.folder / "dsandbox.yaml").write_text(SHARED)
    on_gpus.env["DSEC_AUDIT_S"] = "0.2"
    on_gpus.dsec("run", "--job-id", "j")
    assert sorted(on_gpus.ends()) == [("keeps", "ok"), ("leaks", "ok"), ("leaks", "over-memory")]
    (notice,) = [one for one in on_gpus.events("notice") if one["kind"] == "over-memory"]
    assert (notice["step"], notice["device"]) == ("leaks", FIRST)
    assert re.fullmatch(
        r"the GPU has [\d.]+ GiB of memory left: it holds 40 GiB and states 30 GiB", notice["detail"]
    )


class Told:
    """Stands for the executor: remembers what it was told and asked."""

    def __init__(self, level: str, *, retries_left: int = 0, droppable: bool = False) -> None:
        self.attempt = SimpleNamespace(
            step=SimpleNamespace(id="leak", level=level), iteration=3, stopped="", why=""
        )
        self.failing = SimpleNamespace(prospects=lambda _: (retries_left, droppable))
        self.stopped: list[str] = []
        self.said: list[tuple[str, str]] = []

    def notice(self, kind: str, detail: str, **_: Any) -> None:
        self.said.append((kind, detail))

    def find(self, step: str, iteration: int, number: int) -> Any:
        return self.attempt if (step, iteration, number) == ("leak", 3, 1) else None

    def stop(self, _: Any, cause: str) -> None:
        self.stopped.append(cause)


@pytest.mark.parametrize(
    ("level", "left", "droppable", "stopped"),
    [
        ("critical", 5, False, []),
        ("pauseable", 1, False, ["over-memory"]),
        ("pauseable", 0, False, []),
        ("discardable", 0, True, ["over-memory"]),
    ],
)
def test_the_offender_is_dealt_with_by_its_level(
    level: str, left: int, droppable: bool, stopped: list[str]
) -> None:
    told = Told(level, retries_left=left, droppable=droppable)
    scarce = {"tell": "scarce", "device": "", "left": GIB, "step": "leak", "iteration": 3, "attempt": 1}
    both: Any = told
    respond(scarce | {"held_bytes": 2 * GIB, "stated_bytes": GIB}, both, both)
    assert told.stopped == stopped
    assert told.said == [
        ("over-memory", "this machine has 1 GiB of main memory left: it holds 2 GiB and states 1 GiB")
    ]


def test_where_nobody_is_to_blame_nobody_is_touched() -> None:
    told: Any = Told("discardable", droppable=True)
    nobody = {"step": "", "iteration": -1, "attempt": 0}
    respond({"tell": "scarce", "device": "", "left": GIB, **nobody}, told, told)
    assert told.stopped == []
    assert told.said == [
        ("over-memory", "this machine has 1 GiB of main memory left, and no Step exceeds what it states")
    ]


def test_within_one_attempt_the_climb_is_told_by_the_minute(kit: SimpleNamespace) -> None:
    plan = kit.plan(kit.step("train", demand=kit.demand(memory_bytes=8 * GIB)))
    check = Check()
    told = [
        (at, one)
        for at in range(600)
        for one in check.look(scene(at, 32 * GIB, (use_of("train", GIB + at * 10 * MIB),), plan))
    ]
    ((at, one),) = told
    assert at >= 115
    assert forecast_line(one).startswith(
        "main memory grows by 600 MiB a minute: it reaches the 8 GiB that it states in about "
    )
    assert isinstance(one["ahead"], int)
    assert abs(at * 1000 + one["ahead"] - 7 * 1024 * 100) < 2000


def test_the_machine_s_own_limit_counts_where_the_step_states_none(kit: SimpleNamespace) -> None:
    plan = kit.plan(kit.step("train"))
    check = Check()
    told = []
    for at in range(400):
        held = GIB + at * 10 * MIB
        told += list(check.look(scene(at, 8 * GIB - held, (use_of("train", held),), plan)))
    forecasts = [forecast_line(one) for one in told if one["tell"] == "forecast"]
    assert len(forecasts) == 1
    assert "it reaches the 8 GiB that this machine has for it in about" in forecasts[0]


def call_of(step: str, iteration: int, held: int, *, worker: str = "w", pid: int = 7, gpu: int = 0) -> Use:
    watched = Watched(step, iteration, 1, worker, pid, 0, (FIRST,) if gpu else (), 0, "")
    return Use(watched, Usage((pid,), held, 0, "S"), (), 0, 0, {FIRST: gpu} if gpu else {})


def forecasts_of(plan: Any, uses: Iterable[tuple[int, Use]], *, left: int = 32 * GIB) -> list[str]:
    check = Check()
    told = [one for at, use in uses for one in check.look(scene(at, left, (use,), plan))]
    return [f"{one['step']}: {forecast_line(one)}" for one in told if one["tell"] == "forecast"]


def calls(kit: SimpleNamespace, first: int, second: int) -> Any:
    """Two Steps that one worker serves, and the main memory that they state."""
    return kit.plan(
        kit.step("act", call="m:a", worker="w", demand=kit.demand(memory_bytes=first)),
        kit.step("learn", "act", call="m:b", worker="w", demand=kit.demand(memory_bytes=second)),
        count=99,
    )


def test_a_worker_that_grows_from_call_to_call_is_told_of_once(kit: SimpleNamespace) -> None:
    uses = [(2 * at, call_of(("act", "learn")[at % 2], at // 2, GIB + at * 20 * MIB)) for at in range(100)]
    (told,) = forecasts_of(calls(kit, GIB, 4 * GIB), uses)
    assert "main memory grows by 40 MiB an execution: it reaches the 4 GiB that it states" in told
    assert forecasts_of(
        calls(kit, GIB, 4 * GIB), [(at, use) for at, use in uses if use.watched.iteration % 3]
    )


def test_a_worker_that_grows_within_short_calls_is_told_by_the_minute(kit: SimpleNamespace) -> None:
    uses = [(at, call_of("act", at // 400, GIB + at * 10 * MIB)) for at in range(300)]
    (told,) = forecasts_of(calls(kit, 8 * GIB, 2 * GIB), uses)
    assert told.startswith("act: main memory grows by 600 MiB a minute: it reaches the 8 GiB that it states")


def test_a_worker_of_which_not_all_steps_state_memory_meets_the_machine_s_limit(kit: SimpleNamespace) -> None:
    uses = [(at, call_of("act", at // 5, GIB + at * 10 * MIB)) for at in range(300)]
    (told,) = forecasts_of(calls(kit, GIB, 0), uses, left=2 * GIB)
    assert "that this machine has for it" in told


def test_a_worker_that_was_started_anew_or_stays_as_it_is_is_not_told_of(kit: SimpleNamespace) -> None:
    plan = calls(kit, 4 * GIB, 4 * GIB)
    flat = [(2 * at, call_of(("act", "learn")[at % 2], at // 2, GIB)) for at in range(100)]
    assert forecasts_of(plan, flat) == []
    anew = [(at, call_of("act", at // 4, GIB + at % 16 * 40 * MIB, pid=7 + at // 16)) for at in range(160)]
    assert forecasts_of(plan, anew) == []


def test_a_worker_is_held_to_the_gpu_memory_of_its_largest_step(kit: SimpleNamespace) -> None:
    plan = kit.plan(
        kit.step("act", call="m:a", worker="w", demand=kit.demand(gpu_count=1, gpu_memory_bytes=10 * GIB)),
        kit.step("learn", call="m:b", worker="w", demand=kit.demand(gpu_count=1, gpu_memory_bytes=40 * GIB)),
    )
    device = SimpleNamespace(
        uuid=FIRST, memory_total_bytes=80 * GIB, memory_reserved_bytes=0, memory_used_bytes=39 * GIB
    )
    check = Check()
    both = (call_of("act", 0, 0, gpu=39 * GIB), call_of("learn", 0, 0, gpu=39 * GIB))
    told = [
        one
        for use in both
        for one in check.look(scene(1, GIB * 32, (use,), plan)._replace(devices=(device,)))
    ]
    assert told == []
    over = scene(2, GIB * 32, (call_of("act", 1, 0, gpu=70 * GIB),), plan)._replace(devices=(device,))
    assert [(one["tell"], one["stated"]) for one in check.look(over)] == [("over-baseline", 40 * GIB)]


def test_sizes_for_people() -> None:
    assert [size(count) for count in (0, 1023, 1536, 40 << 30, 5 << 40)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "40 GiB",
        "5 TiB",
    ]
