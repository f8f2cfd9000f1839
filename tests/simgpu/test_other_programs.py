"""What other programs make of the simulated library: a check of the simulation, not of them.

The group `monitors`, which `dev` includes, installs them; without them these tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from simulated import Machine

from dsec.devices.profiles import profile
from dsec.simgpu import scenario

BOX = scenario.of_box(profile("builtin:8xh100-sxm-80gb"))
PROGRAMS = {"gpustat": ("--no-color",), "nvitop": ("-1", "--ascii")}


def see(machine: Machine, program: str, rules: str, *, old: int = 0) -> subprocess.CompletedProcess[str]:
    machine.rules(rules)
    folders = (
        f"{os.path.dirname(sys.executable)}:{os.environ.get('DSEC_TEST_MONITORS', '')}:{os.environ['PATH']}"
    )
    found = shutil.which(program, path=folders)
    if found is None:
        pytest.skip(f"{program} is not installed (pip install --group monitors)")
    return subprocess.run(
        [found, *PROGRAMS[program]],
        env=machine.environ(old, PYTHONPATH="", COLUMNS="100"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.battery
@pytest.mark.battery
@pytest.mark.parametrize("program", sorted(PROGRAMS))
@pytest.mark.parametrize(
    ("rules", "shown"),
    [
        ("", 8),
        ("gpu 3 lost 1\n", 7),
        ("gpu 3 lost 2\n", 7),
        ("gpu * error memory 3\n", 8),
        ("gpu * error utilization 3\ngpu 0 pid 1 -1\n", 8),
        ("gpu * error processes 3\n", 8),
        ("gpu 0 mig 1\ngpu 0 instance 3g.40gb 40448\n", 8),
        ("count 0\n", 0),
        ("count 64\n", 8),
    ],
)
def test_they_show_what_the_rules_say(machine: Machine, program: str, rules: str, shown: int) -> None:
    done = see(machine, program, BOX + rules)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("H100 80GB HBM3") == shown
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_they_show_who_holds_a_gpu(machine: Machine, program: str) -> None:
    environ = machine.environ(CUDA_VISIBLE_DEVICES="2", SIM_GPU_MIB="2048")
    child = subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True); import time; time.sleep(60)"],
        env=environ,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"1\n"
        done = see(machine, program, BOX)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
    assert done.returncode == 0, done.stderr
    assert "2048" in done.stdout
    assert (str(child.pid) in done.stdout) is (program == "nvitop")


@pytest.mark.battery
@pytest.mark.parametrize("program", sorted(PROGRAMS))
@pytest.mark.parametrize("code", [4, 9, 18, 999])
def test_a_driver_that_cannot_be_asked(machine: Machine, program: str, code: int) -> None:
    done = see(machine, program, f"init {code}\n")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr


@pytest.mark.battery
@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_an_old_driver(machine: Machine, program: str) -> None:
    done = see(machine, program, BOX + "driver 470.57.02\n", old=1)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("H100 80GB HBM3") == 8
