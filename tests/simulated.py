"""Simulated GPUs for tests: the shipped library, built once a session, and programs that see it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dsec.simgpu.building import NoCompilerError, library

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


@pytest.fixture
def machine(tmp_path: Path, nvml_library: Callable[..., str]) -> Machine:
    return Machine(tmp_path / "scenario.txt", nvml_library)
