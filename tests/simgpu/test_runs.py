"""Whole runs on simulated GPUs: the monitor reads them through the real bindings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from simulated import Machine, uuid

DSEC = (sys.executable, "-c", "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())")
ROOT = Path(__file__).resolve().parents[2]
BOX = """count 2
gpu * name NVIDIA H100 80GB HBM3
gpu * total 81559
gpu * reserved 640
gpu * temperature 40
gpu * utilization holders
gpu * holders 512
"""
CONTRACT = """version: "1.0.0"
name: trial
baseline:
  gpu: {count: 2, memory: 40GiB, type: h100-sxm-80gb}
  cpu: 1
  memory: 512MiB
elasticity:
  gpu: {min_count: 2, max_count: 2}
fault_tolerance:
  level: pauseable
  checkpoint_grace_period: 30s
  resume_strategy: step_resume
dependencies: []
steps:
"""


def step(name: str, command: str) -> str:
    resources = "{gpu: {count: 1, memory: 20GiB}, cpu: 0.1, memory: 100MiB}"
    return f"  - id: {name}\n    run: |\n      {command}\n    resources: {resources}\n    timeout: 1m\n"


@pytest.fixture
def run(machine: Machine, tmp_path: Path) -> Callable[..., tuple[Any, list[dict[str, Any]], str]]:
    """Carries a contract's Steps out; gives the process, the samples of its audit, and its journal's text."""

    def carried_out(rules: str, *steps: str) -> tuple[Any, list[dict[str, Any]], str]:
        machine.rules(rules)
        (tmp_path / "dsandbox.yaml").write_text(CONTRACT + "".join(steps))
        environ = machine.environ(
            DSEC_AUDIT_S="0.1", PYTHONPATH=f"{ROOT}:{ROOT / 'runtime'}", SCENARIO=str(machine.path)
        )
        done = subprocess.run(
            [*DSEC, "run"],
            cwd=tmp_path,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        (folder,) = (tmp_path / ".dsec" / "runs").iterdir()
        lines = (folder / "audit").read_text().splitlines()
        return done, [json.loads(line) for line in lines[1:]], os.fspath(folder)

    return carried_out


def test_a_run_is_watched(run: Callable[..., Any]) -> None:
    done, samples, _ = run(BOX, step("one", "sleep 1.5"), step("two", "sleep 1.5"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert samples
    assert {device["uuid"] for device in samples[0]["devices"]} == {uuid(0), uuid(1)}
    assert samples[0]["devices"][0]["temperature_c"] == 40
    held = {
        (used["step"], device): size
        for sample in samples
        for used in sample["steps"]
        for device, size in used["devices"].items()
    }
    assert {name for name, _ in held} == {"one", "two"}
    assert len({device for _, device in held}) == 2
    assert set(held.values()) == {512 * 2**20}
    assert {sample["problem"] for sample in samples} == {""}


@pytest.mark.battery
def test_a_driver_that_is_updated_harms_no_running_step(run: Callable[..., Any]) -> None:
    """The monitor says what is wrong, and the run goes on."""
    update = 'sleep 0.5; printf "down 18\\ninit 18\\n" >> "$SCENARIO"; sleep 1.5'
    done, samples, _ = run(BOX, step("one", update), step("two", "sleep 2"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert samples[0]["problem"] == ""
    assert "differ in version" in samples[-1]["problem"]
    assert samples[-1]["devices"] == []


@pytest.mark.battery
def test_a_gpu_that_is_lost_leaves_the_others_watched(run: Callable[..., Any]) -> None:
    lose = 'sleep 0.5; printf "gpu 1 lost 1\\n" >> "$SCENARIO"; sleep 1.5'
    done, samples, _ = run(BOX.replace("count 2", "count 3"), step("one", lose))
    assert done.returncode == 0, done.stdout + done.stderr
    states = [[device["state"] for device in sample["devices"]] for sample in samples]
    assert states[0] == ["ok"] * 3
    assert states[-1] == ["ok", "lost", "ok"]
    assert samples[-1]["devices"][1]["uuid"] == uuid(1)
    assert samples[-1]["devices"][1]["memory_used_bytes"] is None


TROUBLE = """n=${CUDA_VISIBLE_DEVICES#"${CUDA_VISIBLE_DEVICES%?}"}
      echo "$DSEC_ATTEMPT $n" >> attempts
      [ "$DSEC_ATTEMPT" = 1 ] || exit 0
      while [ ! -e "$DSEC_RUN_DIR/../audit" ]; do sleep 0.1; done
      printf "WHAT" >> "$SCENARIO"
      sleep WAIT"""


@pytest.mark.battery
@pytest.mark.battery
@pytest.mark.parametrize(
    ("what", "word"),
    [
        (r"gpu $n lost 1\n", "is lost"),
        (r"gpu $n xid 79\n", "is lost"),
        (r"gpu $n xid 48\n", "is failing"),
        (r"gpu $n temperature 95\n", "is hot"),
    ],
)
def test_a_step_leaves_a_gpu_that_fails_it(
    run: Callable[..., Any], tmp_path: Path, what: str, word: str
) -> None:
    """Seven GPUs of eight go on."""
    trouble = TROUBLE.replace("WHAT", what).replace("WAIT", "50")
    done, samples, _ = run(BOX.replace("count 2", "count 8"), step("one", trouble), step("two", "sleep 3"))
    assert done.returncode == 0, done.stdout + done.stderr
    (first, bad), (second, good) = (line.split() for line in (tmp_path / "attempts").read_text().splitlines())
    assert (first, second) == ("1", "2")
    assert bad != good, done.stdout
    assert f"{uuid(int(bad))} {word}" in done.stdout
    assert len(samples[-1]["devices"]) == 8


@pytest.mark.battery
def test_a_step_stays_on_a_gpu_that_it_used_wrongly(run: Callable[..., Any], tmp_path: Path) -> None:
    trouble = TROUBLE.replace("WHAT", r"gpu $n xid 31\n").replace("WAIT", "3")
    done, _, _ = run(BOX, step("one", trouble))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "attempts").read_text().split()[::2] == ["1"]


KILL = """import os, signal, sys, time
number = os.environ["CUDA_VISIBLE_DEVICES"][-1]
with open("attempts", "a") as file:
    file.write(number + " ")
if os.environ["DSEC_ATTEMPT"] == "1":
    folder = os.path.dirname(os.environ["DSEC_RUN_DIR"])
    while not os.path.exists(folder + "/audit"):
        time.sleep(0.05)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                command = file.read()
        except OSError:
            continue
        if b"dsec.monitor" in command and folder.encode() in command:
            os.kill(int(pid), signal.SIGKILL)
    with open(os.environ["SCENARIO"], "a") as file:
        file.write(f"gpu {number} lost 1\\n")
    time.sleep(50)
"""


@pytest.mark.battery
def test_a_monitor_that_begins_anew_knows_a_lost_gpu_by_its_name(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    """The monitor is killed, and the card is lost before the next one looks."""
    (tmp_path / "kill.py").write_text(KILL)
    done, _, _ = run(BOX, step("one", f"{sys.executable} kill.py"))
    assert done.returncode == 0, done.stdout + done.stderr
    bad, good = (tmp_path / "attempts").read_text().split()
    assert bad != good, done.stdout
    assert f"{uuid(int(bad))} is lost" in done.stdout
