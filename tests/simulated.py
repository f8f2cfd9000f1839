"""Simulated GPUs for tests: the shipped library, built once a session, and programs that see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dsec.simgpu.building import NoCompilerError, library
from dsec.simgpu.scenario import box, of_box

ROOT = Path(__file__).resolve().parents[1]
FIRST = "GPU-000000a0-0000-4000-8000-000000000000"
"""UUID of the first simulated GPU; the others count on in both numbers."""


def uuid(gpu: int) -> str:
    """UUID of a simulated GPU."""
    return f"GPU-{gpu + 0xA0:08x}-0000-4000-8000-{gpu:012x}"


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Folders with libnvidia-ml.so.1, by age of the driver; skips where nothing can build it."""
    cache = tmp_path_factory.mktemp("sim-gpu")

    def folder(old: int = 0) -> str:
        try:
            return library(str(cache), os.environ, old=old)
        except NoCompilerError as missing:
            pytest.skip(str(missing))

    return folder


class Machine:
    """A machine with simulated GPUs whose rules a test writes."""

    def __init__(self, path: Path, folder: Callable[..., str]) -> None:
        self.path = path
        self._folder = folder

    def rules(self, text: str) -> None:
        """Replace the rules, for programs that run already, too."""
        aside = self.path.with_suffix(".new")
        aside.write_text(text)
        aside.replace(self.path)

    def environ(self, old: int = 0, **more: str) -> dict[str, str]:
        """For programs that are to see the GPUs."""
        return {
            **os.environ,
            "LD_LIBRARY_PATH": self._folder(old),
            "SIM_GPU_SCENARIO": str(self.path),
            "PYTHONPATH": str(ROOT / "runtime"),
            **more,
        }

    def python(self, code: str, *args: str, old: int = 0) -> str:
        """What a Python program prints there; the library's path is set before it starts."""
        done = subprocess.run(
            [sys.executable, "-c", code, *args],
            env=self.environ(old),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


_WATCH = """
import json, sys
from dsec.devices.sampling import Sampler
sampler = Sampler(retry_s=float(sys.argv[1]), rescan_s=float(sys.argv[2]))
print("begun", flush=True)
for line in sys.stdin:
    name, *args = line.split()
    value = getattr(sampler, name)
    value = value(*args) if callable(value) else value
    if name in ("devices", "events"):
        value = [one._asdict() for one in value]
    print(json.dumps(value), flush=True)
"""


@pytest.fixture
def simulated_box(tmp_path: Path, nvml_library: Callable[..., str]) -> Callable[[str], dict[str, str]]:
    """Variables of programs that are to be on a simulated box of that name, alone."""

    def environ(name: str) -> dict[str, str]:
        rules = tmp_path / "box.rules"
        rules.write_text(of_box(box(name)))
        return {
            "LD_LIBRARY_PATH": nvml_library(),
            "SIM_GPU_SCENARIO": str(rules),
            "DSEC_BROKER": "off",
        }

    return environ


class Watch:
    """A `Sampler` in a program of its own, asked over pipes."""

    def __init__(self, machine: Machine, *, old: int, retry_s: float, rescan_s: float) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", _WATCH, str(retry_s), str(rescan_s)],
            env=machine.environ(old),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._child.stdout is not None
        assert self._child.stdout.readline() == "begun\n"

    def ask(self, what: str, *args: str) -> Any:
        """An attribute of the sampler, or what a method answers."""
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(" ".join((what, *args)) + "\n")
        stdin.flush()
        answer = stdout.readline()
        assert answer, "the program with the sampler ended"
        return json.loads(answer)

    def devices(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("devices")
        return found

    def end(self) -> None:
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            pipe.close()
        self._child.wait(timeout=10)


@pytest.fixture
def watch(machine: Machine) -> Iterator[Callable[..., Watch]]:
    """Begins to sample what the rules say; the rules may change afterwards."""
    begun: list[Watch] = []

    def begin(rules: str, *, old: int = 0, retry_s: float = 0, rescan_s: float = 0) -> Watch:
        machine.rules(rules)
        begun.append(Watch(machine, old=old, retry_s=retry_s, rescan_s=rescan_s))
        return begun[-1]

    yield begin
    for one in begun:
        one.end()


@pytest.fixture
def machine(tmp_path: Path, nvml_library: Callable[..., str]) -> Machine:
    return Machine(tmp_path / "scenario.txt", nvml_library)
