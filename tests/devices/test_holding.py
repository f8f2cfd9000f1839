"""Real processes that hold simulated GPUs, seen through the real bindings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from simulated import Machine, Watch, uuid

from dsec.cards import MIB

Begin = Callable[..., Watch]

BOX = """count 8
gpu * name NVIDIA H100 80GB HBM3
gpu * total 81559
gpu * reserved 479
gpu * utilization 30
"""


@pytest.fixture
def holders(machine: Machine) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts real processes that are given devices."""
    begun = []

    def start(
        mask: str, code: str = "import time; print(1, flush=True); time.sleep(60)", **more: str
    ) -> object:
        environ = machine.environ(CUDA_VISIBLE_DEVICES=mask, **more)
        child = subprocess.Popen([sys.executable, "-c", code], env=environ, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "1\n"
        begun.append(child)
        return child

    yield start
    for child in begun:
        child.kill()
        child.wait()
        child.stdout.close()


def until(found: Callable[[], object], what: str) -> None:
    """Wait for a state; the simulation looks at processes five times a second."""
    deadline = time.monotonic() + 10
    while not found():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.battery
def test_real_processes_hold_what_they_were_given(
    watch: Begin, holders: Callable[..., subprocess.Popen[str]]
) -> None:
    one = watch(BOX + "gpu * holders 512\n")
    whole, short, number = (
        holders(f"{uuid(0)},{uuid(1)}"),
        holders(uuid(2)[:14]),
        holders("3", SIM_GPU_MIB="64"),
    )
    holders("")
    until(lambda: one.ask("processes", uuid(3)), "the process was not seen")
    for gpu, child, mib in ((0, whole, 512), (1, whole, 512), (2, short, 512), (3, number, 64)):
        assert one.ask("processes", uuid(gpu)) == {str(child.pid): mib * MIB}
    assert one.ask("processes", uuid(4)) == {}
    assert [reading["memory_used_bytes"] // MIB for reading in one.devices()] == [
        512,
        512,
        512,
        64,
        0,
        0,
        0,
        0,
    ]
    os.kill(whole.pid, signal.SIGKILL)
    whole.wait()
    until(lambda: one.ask("processes", uuid(0)) == {}, "the process that ended still holds its device")


@pytest.mark.battery
def test_processes_of_other_simulations_hold_nothing(watch: Begin, holders: Callable[..., object]) -> None:
    holders(uuid(0), SIM_GPU_SCENARIO="/nowhere")
    child = holders(uuid(1))
    one = watch(BOX + "gpu * holders 5\n")
    until(lambda: one.ask("processes", uuid(1)), "the process was not seen")
    assert one.ask("processes", uuid(0)) == {}
    assert list(one.ask("processes", uuid(1))) == [str(child.pid)]  # type: ignore[attr-defined]


@pytest.mark.battery
def test_devices_are_as_busy_and_full_as_their_processes(
    watch: Begin, holders: Callable[..., object]
) -> None:
    holders(uuid(0), "held = b'x' * 2**27\nprint(1, flush=True)\nwhile True: pass")
    holders(uuid(1))
    one = watch(BOX + "gpu * utilization holders\ngpu * holders rss\n")
    one.devices()

    def busy() -> list[int]:
        return [device["busy_permille"] for device in one.devices()[:2]]

    # The one that waits works, too, while it starts.
    until(lambda: busy()[0] > 100 and busy()[1] < 100, "who works and who waits was not seen")
    first, second = one.devices()[:2]
    assert first["memory_used_bytes"] > 128 * MIB > second["memory_used_bytes"] > 0
