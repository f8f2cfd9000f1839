"""Elastic Steps that give GPUs back while they run, because they said that they can; on simulated GPUs."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import uuid

from dsec.core.holdings import Holdings
from dsec.core.leases import Ledger
from dsec.events import Resize, decode, encode
from dsec.inventory import Device, Inventory
from dsec.journal import read
from dsec.plan import Demand, Elastic
from dsec.planfile import seal

ELASTIC = """\
import json, os, sys, time
from dsec import sdk

run, scenario = os.environ["DSEC_RUN_DIR"], os.environ["SIM_GPU_SCENARIO"]

def hold(gpus):
    # What this process has on GPUs is lines of the scenario.
    lines = [line for line in open(scenario) if f" pid {os.getpid()} " not in line]
    lines += [f"gpu {gpu} pid {os.getpid()} 1000\\n" for gpu in gpus]
    open(f"{scenario}.{os.getpid()}", "w").writelines(lines)
    os.replace(f"{scenario}.{os.getpid()}", scenario)

def shrink(uuids):
    open(f"{run}/kept", "w").write(json.dumps(uuids))
    if "clings" not in sys.argv:
        hold(int(one.rpartition("-")[2], 16) for one in uuids)

hold(range(int(os.environ["DSEC_GPU_COUNT"])))
if "silent" not in sys.argv:
    sdk.on_shrink(shrink)
open(f"{run}/ready", "w").close()
while not os.path.exists(f"{run}/go"):
    time.sleep(0.05)
hold([])
open(f"{run}/order", "a").write("elastic\\n")
"""
GPUS = tuple(
    Device(uuid(at), at, "NVIDIA H100", "h100-sxm-80gb", 79 * 2**30, None, None, None, (), 1000, "ok")
    for at in range(4)
)


@pytest.fixture
def begin(job: Any, kit: SimpleNamespace, nvml_library: Callable[..., str]) -> Callable[..., Any]:
    """A run in which an elastic Step has four GPUs, and a critical one wants two of them."""
    (job.folder / "scenario").write_text("count 4\ndriver 570.86.15\ngpu * total 81559\n")
    (job.folder / "elastic.py").write_text(ELASTIC)
    job.env |= {"LD_LIBRARY_PATH": nvml_library(), "SIM_GPU_SCENARIO": str(job.folder / "scenario")}

    def start(*words: str, needs: int = 2) -> Any:
        wait = "until [ -e $DSEC_RUN_DIR/ready ]; do sleep 0.05; done; sleep 1"
        urgent = "echo urgent >> $DSEC_RUN_DIR/order; touch $DSEC_RUN_DIR/go"
        plan = kit.plan(
            kit.step("wait", shell=wait, demand=kit.demand(cpu_m=0), rank_ms=9),
            kit.step(
                "urgent", "wait", shell=urgent, level="critical", rank_ms=8,
                demand=kit.demand(cpu_m=100, gpu_count=needs),
            ),
            kit.step(
                "elastic", argv=(sys.executable, "elastic.py", *words), level="elastic", rank_ms=1,
                demand=kit.demand(cpu_m=100, gpu_count=4), grace_ms=1500,
            ),
        )  # fmt: skip
        machine = plan.inventory._replace(origin="nvml", devices=GPUS)
        job.save(seal(plan._replace(inventory=machine, elastic=(Elastic("elastic", 1, 4),), hash="")))
        return job.start("run", "plan.json", "--job-id", "j")

    return start


def ended(process: Any) -> str:
    out: str = process.communicate(timeout=40)[0].decode()
    assert process.returncode == 0, out
    return out


@pytest.mark.battery
def test_it_goes_on_with_the_fewest_and_others_have_the_rest(job: Any, begin: Callable[..., Any]) -> None:
    out = " ".join(ended(begin()).split())
    assert (job.run_dir / "work/order").read_text().split() == ["urgent", "elastic"]
    spawned = {one["step"]: one for one in job.events("spawn")}
    assert len(job.events("spawn")) == 3, "it is the same attempt that goes on"
    (resized,) = job.events("resize")
    assert (resized["step"], resized["devices"]) == ("elastic", [uuid(0)])
    assert json.loads((job.run_dir / "work/kept").read_text()) == [uuid(0)]
    assert not set(spawned["urgent"]["devices"]) & {uuid(0)}
    assert "elastic: it gave GPUs back and goes on with 1: urgent@0 must not wait" in out
    assert job.events("pause") == []
    holdings = Holdings()
    for payload in read((job.run_dir / "journal").read_bytes(), name="journal").payloads[1:]:
        holdings.take(decode(payload))
    for gpu in GPUS:
        times = sorted((one.from_us, one.to_us) for one in holdings.all() if gpu.uuid in one.devices)
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(times)), times
    rows = {row["id"]: row for row in json.loads(job.dsec("report", "j", "--json"))["steps"]}
    held = sum(
        one.to_us - one.from_us for one in holdings.all() for _ in one.devices if one.step == "elastic"
    )
    assert abs(rows["elastic"]["gpu_ms"] * 1000 - held) < 100_000


@pytest.mark.battery
def test_who_does_not_let_go_in_time_keeps_all_and_that_is_said(
    job: Any, begin: Callable[..., Any], kit: SimpleNamespace
) -> None:
    process = begin("clings")
    (notice,) = kit.wait_for(lambda: (job.run_dir / "journal").exists() and job.events("notice"))
    assert notice["kind"] == "shrunk"
    assert "its processes were still on" in notice["detail"]
    assert notice["detail"].endswith("after 1500 ms")
    (job.run_dir / "work/go").touch()
    ended(process)
    assert job.events("resize") == []
    assert (job.run_dir / "work/order").read_text().split() == ["elastic", "urgent"]


@pytest.mark.battery
def test_who_did_not_say_so_is_not_asked(job: Any, begin: Callable[..., Any], kit: SimpleNamespace) -> None:
    process = begin("silent")
    kit.wait_for(lambda: (job.run_dir / "journal").exists() and ("wait", "ok") in job.ends())
    (job.run_dir / "work/go").touch()
    ended(process)
    assert job.events("resize") == []
    assert not (job.run_dir / "work/kept").exists()


def test_the_event_is_read_as_it_was_written() -> None:
    event = Resize(7, "train", 2, 1, ("GPU-1", "GPU-2"), "others must not wait")
    assert decode(encode(event)) == event


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 80))
def test_a_ledger_gets_back_what_is_given_and_no_more(count: int, keeps: int, gib: int) -> None:
    ledger = Ledger(Inventory("nvml", 4000, None, None, None, GPUS, ()))
    lease = ledger.grant(Demand(0, 0, count, min(gib, 79) << 30, (), 0, 0))
    assert lease is not None
    less = lease._replace(devices=lease.devices[:keeps])
    before = ledger.in_use()
    ledger.shrink(lease, less)
    assert ledger.in_use() == set(less.devices)
    assert ledger.grow(less, lease)
    assert ledger.in_use() == before
    ledger.shrink(lease, less)
    ledger.release(less)
    assert ledger.in_use() == set()
    assert ledger.grant(Demand(0, 0, 4, 0, (), 0, 0)) is not None


def test_outside_of_a_run_nobody_will_ask(tmp_path: Path) -> None:
    from dsec import sdk

    assert sdk.on_shrink(lambda _: None) is False
    assert not list(tmp_path.iterdir())
