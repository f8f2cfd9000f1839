"""GPU memory that is moved away while a Step stands still, by a stand-in for NVIDIA's `cuda-checkpoint`."""

from __future__ import annotations

import itertools
import json
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from simulated import uuid

from dsec.core.holdings import Holdings
from dsec.core.leases import Ledger
from dsec.events import decode
from dsec.inventory import Device, Inventory
from dsec.journal import read
from dsec.monitor.cudamemory import MOST_S, Asked, CudaMemory, program
from dsec.planfile import seal

FAKE = """#!/bin/sh
# cuda-checkpoint --toggle --pid PID: what a process holds is a line of the scenario.
[ "$1 $2" = "--toggle --pid" ] || exit 64
cd "$(dirname "$0")"
echo "$3" >> calls
case "$(cat mode 2>/dev/null)" in
    fails) echo "Could not toggle: CUDA_ERROR_NOT_SUPPORTED" >&2; exit 1;;
    hangs) exec sleep 600;;
    lies) exit 0;;
    refuses-$3) echo "no such process" >&2; exit 1;;
    not-back) [ -e "away-$3" ] && exit 1;;
esac
if [ -e "away-$3" ]; then
    cat "away-$3" >> scenario; rm "away-$3"
else
    grep " pid $3 " scenario > "away-$3"
    grep -v " pid $3 " scenario > scenario.new; mv scenario.new scenario
fi
"""
HOLDS = """cd $DSEC_CONTRACT_DIR/bin
echo "gpu 0 pid $$ 1000" >> scenario
touch $DSEC_RUN_DIR/ready
until [ -e $DSEC_RUN_DIR/go ] && grep -q " pid $$ " scenario; do sleep 0.05; done
echo long >> $DSEC_RUN_DIR/order
grep -v " pid $$ " scenario > scenario.$$ && mv scenario.$$ scenario
"""
"""As a call to CUDA it does not come back before its memory is there."""
GPU = Device(
    uuid(0), 0, "NVIDIA H100 80GB HBM3", "h100-sxm-80gb", 79 * 2**30, None, None, None, (), 1000, "ok"
)
GONE = 2**22 - 1


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "cuda-checkpoint"
    script.write_text(FAKE)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    (folder / "scenario").write_text(
        "count 1\ndriver 570.86.15\ngpu 0 name NVIDIA H100 80GB HBM3\ngpu 0 total 81559\n"
    )
    return folder


@pytest.fixture
def two() -> Iterator[tuple[int, int]]:
    """Two processes of a Step, living as long as the test: nobody else decides when they end."""
    with subprocess.Popen(["sleep", "600"]) as one, subprocess.Popen(["sleep", "600"]) as other:
        yield one.pid, other.pid
        one.kill()
        other.kill()


@pytest.fixture
def begin(job: Any, kit: SimpleNamespace, fake: Path, nvml_library: Callable[..., str]) -> Callable[..., Any]:
    """A run in which a critical Step wants the only GPU, which another one has."""
    job.env |= {"LD_LIBRARY_PATH": nvml_library(), "SIM_GPU_SCENARIO": str(fake / "scenario")}
    job.env["PATH"] = f"{fake}:{job.env['PATH']}"
    demand = kit.demand(cpu_m=100, gpu_count=1)
    wait = "until [ -e $DSEC_RUN_DIR/ready ]; do sleep 0.05; done; sleep 1"
    plan = kit.plan(
        kit.step("wait", shell=wait, demand=kit.demand(cpu_m=0), rank_ms=9),
        kit.step(
            "urgent",
            "wait",
            shell="echo urgent >> $DSEC_RUN_DIR/order; sleep 1; touch $DSEC_RUN_DIR/go",
            level="critical",
            demand=demand,
            rank_ms=8,
        ),
        kit.step("long", shell=HOLDS, demand=demand, rank_ms=1, grace_ms=300),
    )
    plan = plan._replace(inventory=plan.inventory._replace(origin="nvml", devices=(GPU,)), hash="")

    def start(mode: str = "") -> Any:
        (fake / "mode").write_text(mode)
        job.save(seal(plan))
        return job.start("run", "plan.json", "--job-id", "j")

    return start


def ended(process: Any) -> str:
    out: str = process.communicate(timeout=20)[0].decode()
    assert process.returncode == 0, out
    return out


@pytest.mark.battery
def test_the_gpu_is_lent_while_its_memory_is_away(job: Any, begin: Callable[..., Any], fake: Path) -> None:
    out = ended(begin())
    assert (job.run_dir / "work/order").read_text().split() == ["urgent", "long"]
    (pause,) = job.events("pause")
    assert (pause["step"], pause["how"]) == ("long", "suspended")
    assert "cuda-checkpoint (experimental) moved its GPU memory to main memory" in pause["reason"]
    assert "cuda-checkpoint (experimental)" in " ".join(out.split())
    (again,) = job.events("continue")
    spawned = {one["step"]: one for one in job.events("spawn")}
    assert len(job.events("spawn")) == 3, "the same attempt goes on"
    assert spawned["urgent"]["devices"] == spawned["long"]["devices"] == [uuid(0)]
    pid = str(spawned["long"]["pid"])
    assert (fake / "calls").read_text().split() == [pid, pid]
    done = {one["step"]: one["at_us"] for one in job.events("exit")}
    assert pause["at_us"] < spawned["urgent"]["at_us"] < done["urgent"] <= again["at_us"] < done["long"]
    holdings = Holdings()
    for payload in read((job.run_dir / "journal").read_bytes(), name="journal").payloads[1:]:
        holdings.take(decode(payload))
    times = sorted((one.from_us, one.to_us) for one in holdings.all())
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(times)), times
    told = json.loads(job.dsec("report", "j", "--json"))
    assert any("cuda-checkpoint (experimental)" in one["text"] for one in told["remarks"])


def test_where_it_fails_the_step_keeps_its_gpu_and_that_is_said(
    job: Any, begin: Callable[..., Any], kit: SimpleNamespace
) -> None:
    process = begin("fails")
    (notice,) = kit.wait_for(lambda: (job.run_dir / "journal").exists() and job.events("notice"))
    assert notice["kind"] == "gpu-memory"
    assert "exited with code 1" in notice["detail"]
    assert notice["detail"].endswith("Could not toggle: CUDA_ERROR_NOT_SUPPORTED")
    (job.run_dir / "work/go").touch()
    ended(process)
    assert (job.run_dir / "work/order").read_text().split() == ["long", "urgent"]
    assert job.events("pause") == []


def test_where_it_does_not_come_back_the_step_starts_again(job: Any, begin: Callable[..., Any]) -> None:
    ended(begin("not-back"))
    assert [(one["step"], one["how"]) for one in job.events("pause")] == [
        ("long", "suspended"), ("long", "killed")
    ]  # fmt: skip
    assert [one["step"] for one in job.events("spawn")] == ["wait", "long", "urgent", "long"] or [
        one["step"] for one in job.events("spawn")
    ] == ["long", "wait", "urgent", "long"]
    assert job.ends()[-1] == ("long", "ok")
    assert any("could not be moved back" in one["detail"] for one in job.events("notice"))


def test_it_is_used_where_program_and_driver_are_there(fake: Path) -> None:
    environ = {"PATH": str(fake)}
    assert program(environ, "550.54.15") == str(fake / "cuda-checkpoint")
    assert program(environ, "610.57.04")
    assert program(environ, "535.104.05") == program(environ, "") == program(environ, "unknown") == ""
    assert program({**environ, "DSEC_CUDA_CHECKPOINT": "off"}, "550.54.15") == ""
    assert program({"PATH": "/nowhere"}, "550.54.15") == ""


def moved(memory: CudaMemory, held: Callable[[str], Any], kit: SimpleNamespace, now_s: float = 0.0) -> Any:
    """The answer, once there is one."""
    (answer,) = kit.wait_for(lambda: memory.look(now_s, held))
    assert not memory.pending
    return answer["ok"], answer["why"]


def test_what_the_driver_still_names_is_not_free(
    fake: Path, kit: SimpleNamespace, two: tuple[int, int]
) -> None:
    one, other = two
    (fake / "mode").write_text("lies")
    memory = CudaMemory(str(fake / "cuda-checkpoint"))
    memory.ask(Asked(1, (one, other), ("G",), False, 0.0))
    assert memory.look(1.0, lambda _: {other: 5}) == []
    ok, why = moved(memory, lambda _: {other: 5}, kit, 11.0)
    assert (ok, why) == (False, "GPU G is still held after cuda-checkpoint had ended")
    calls = (fake / "calls").read_text().split()
    assert sorted(calls) == sorted(map(str, (one, one, other, other))), "and everything is undone"


def test_of_several_processes_all_are_moved_or_none(
    fake: Path, kit: SimpleNamespace, two: tuple[int, int]
) -> None:
    one, other = two
    (fake / "mode").write_text(f"refuses-{other}")
    memory = CudaMemory(str(fake / "cuda-checkpoint"))
    memory.ask(Asked(1, (one, other), ("G",), False, 0.0))
    ok, why = moved(memory, lambda _: {}, kit)
    assert (ok, why) == (False, f"cuda-checkpoint exited with code 1 for process {other}: no such process")
    assert sorted((fake / "calls").read_text().split()) == sorted(map(str, (one, one, other)))


def test_who_ended_meanwhile_holds_nothing(fake: Path, kit: SimpleNamespace, two: tuple[int, int]) -> None:
    one, _ = two
    (fake / "mode").write_text(f"refuses-{GONE}")
    memory = CudaMemory(str(fake / "cuda-checkpoint"))
    memory.ask(Asked(1, (one, GONE), ("G",), False, 0.0))
    assert moved(memory, lambda _: {}, kit) == (True, "")


def test_one_that_hangs_is_ended_and_nobody_knows(
    fake: Path, kit: SimpleNamespace, two: tuple[int, int]
) -> None:
    one, _ = two
    (fake / "mode").write_text("hangs")
    memory = CudaMemory(str(fake / "cuda-checkpoint"))
    memory.ask(Asked(1, (one,), ("G",), False, 0.0))
    assert memory.look(MOST_S - 1, lambda _: {}) == []
    ok, why = moved(memory, lambda _: {}, kit, MOST_S + 1)
    assert (ok, why) == (None, f"cuda-checkpoint did not end for process {one} within 120 s")


def test_nobody_to_move_is_an_answer() -> None:
    told = CudaMemory("/nowhere").ask(Asked(7, (), ("G",), False, 0.0))
    assert told is not None
    assert (told["token"], told["ok"]) == (7, False)


def test_a_ledger_lends_devices_and_wants_the_same_ones_back(kit: SimpleNamespace) -> None:
    ledger = Ledger(Inventory("nvml", 4000, None, None, None, (GPU,), ()))
    demand = kit.demand(gpu_count=1)
    first = ledger.grant(demand)
    assert first is not None
    ledger.park(first, devices=True)
    assert ledger.in_use() == {GPU.uuid}
    copy = ledger.copy()
    second = ledger.grant(demand)
    assert second is not None
    assert not ledger.unpark(first)
    assert copy.unpark(first), "the copy has granted nothing"
    ledger.release(second)
    assert ledger.unpark(first)
    assert ledger.grant(demand) is None
    ledger.park(first, devices=True)
    ledger.release(first)
    assert ledger.in_use() == set()
    assert ledger.grant(demand) is not None
