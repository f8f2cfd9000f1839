"""GPUs in the kernel's log, as drivers write of them."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import Machine

from dsec.devices.kernellog import KernelLog, place

H100 = "count 2\ngpu * name NVIDIA H100 80GB HBM3\ngpu * total 81559\n"


def now_us() -> int:
    return time.monotonic_ns() // 1000


def test_what_came_a_moment_before_counts(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    late, early = now_us() - 2_000_000, now_us() - 60_000_000
    path.write_text(
        f"3,1,{early},-;NVRM: Xid (PCI:0000:01:00): 79, of another run\n"
        f"3,2,{late},-;NVRM: Xid (PCI:0000:02:00): 48, as the run began\n"
        "NVRM: Xid (PCI:0000:03:00): 48, without a time\n"
    )
    assert KernelLog(str(path)).events() == [("0000:02:00", 48)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "3,1,2,-;NVRM: Xid (PCI:0000:C1:00): 79, name=<unknown>, GPU has fallen off the bus.",
            [("0000:c1:00", 79)],
        ),
        ("6,1,2,-;NVRM: Xid (PCI:0000:02:00): 31, pid=7, MMU Fault", [("0000:02:00", 31)]),
        ("3,1,2,-;NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.", [("0000:41:00", 79)]),
        ("3,1,2,-;NVRM: GPU at PCI:0000:41:00: GPU-5b9 has fallen off the bus", [("0000:41:00", 79)]),
        (
            "4,1,2,-;NVRM: The NVIDIA GPU 0000:41:00.0\n4,2,2,-;NVRM: (PCI ID: 10de:2330) installed in this "
            "system has\n4,3,2,-;NVRM: fallen off the bus and is not responding to commands.",
            [("0000:41:00", 79)],
        ),
        ("4,1,2,-;NVRM: fallen off the bus and is not responding to commands.", []),
        ("6,1,2,-;usb 1-1: device has fallen off the bus\n SUBSYSTEM=usb", []),
        ("6,1,2,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.14", []),
    ],
)
def test_what_drivers_write(tmp_path: Path, text: str, found: list[tuple[str, int]]) -> None:
    path = tmp_path / "kmsg"
    path.write_text("3,1,0,-;NVRM: Xid (PCI:0000:09:00): 13, long before anybody looked\n")
    log = KernelLog(str(path))
    assert log.events() == []
    with path.open("a") as file:
        file.write(re.sub(r",[123],2,-", f",7,{now_us()},-", text) + "\n")
    assert log.events() == found
    assert log.events() == []
    log.close()
    assert log.events() == []


def test_a_log_that_may_not_be_read_is_silent(tmp_path: Path) -> None:
    log = KernelLog(str(tmp_path / "none"))
    assert log.events() == []
    log.close()


@given(st.text(max_size=200))
def test_any_line_is_read(text: str) -> None:
    log = KernelLog("/nowhere")
    for line in (text, f"NVRM: Xid (PCI:{text}): 79", f"NVRM: GPU {text} has fallen off the bus"):
        assert all(isinstance(xid, int) for _, xid in log.parsed(line))


@pytest.mark.parametrize("text", ["00000000:C1:00.0", "0000:c1:00.0", "0000:C1:00"])
def test_bus_ids_of_all_kinds_are_one_place(text: str) -> None:
    assert place(text) == "0000:c1:00"


def test_the_driver_and_the_kernel_tell_of_the_same_error(machine: Machine, tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    log.write_text("")
    code = """if True:
        import sys, time
        now = time.monotonic_ns() // 1000
        from dsec.devices.sampling import Sampler
        scenario, log = sys.argv[1:]
        sampler = Sampler(kernel_log=log)
        print([(event.uuid[-1], event.xid) for event in sampler.events()])
        with open(log, "a") as file:
            file.write(f"3,1,{now},-;NVRM: Xid (PCI:0000:01:00): 79, gone\\n")
            file.write(f"3,1,{now},-;NVRM: Xid (PCI:0000:99:00): 79, strange\\n")
        with open(scenario, "a") as file:
            file.write("gpu 0 xid 79\\ngpu 1 xid 31\\n")
        print([(event.uuid[-1], event.xid) for event in sampler.events()])
        print(sampler.events())
        sampler.close()
    """
    machine.rules(H100)
    printed = machine.python(code, str(machine.path), str(log)).splitlines()
    assert printed == ["[]", "[('0', 79), ('1', 31)]", "()"]
    assert os.path.exists(log)
