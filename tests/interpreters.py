"""Other Pythons of this machine, for what must come out the same in each of them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

VERSIONS = ("3.11", "3.12", "3.13")
# Looked up here because tests run with another HOME.
_PYENV = Path("~/.pyenv/versions").expanduser()


def interpreter(version: str) -> str:
    """A Python of that version that starts, installed by pyenv or on PATH; skips where there is none."""
    found = sorted(_PYENV.glob(f"{version}.*/bin/python3"))
    python = str(found[-1]) if found else shutil.which(f"python{version}") or ""
    if not python or subprocess.run([python, "-S", "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"Python {version} is not installed here")
    return python
