"""The example's modules, imported from where they lie."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "grpo-addition"
# BLAS reads these once, when numpy is first imported, which the test modules do. With more threads
# than free cores it spins: on a busy machine the tests took a hundred times as long.
with pytest.MonkeyPatch.context() as one_thread:
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS"):
        one_thread.setenv(f"{library}_NUM_THREADS", "1")
    importlib.import_module("numpy")

NAMES = ("grpo", "faults", "steps", "show", "run_in_process")


@pytest.fixture(scope="session")
def example_folder() -> Path:
    return EXAMPLE


@pytest.fixture(scope="session")
def job() -> Iterator[SimpleNamespace]:
    """The modules as attributes; environment and import path are put back."""
    with pytest.MonkeyPatch.context() as patch:
        for library in ("OMP", "OPENBLAS", "MKL", "BLIS"):
            patch.setenv(f"{library}_NUM_THREADS", "1")  # grpo sets them: put back what was there
        patch.syspath_prepend(str(EXAMPLE))
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
        for name in NAMES:
            sys.modules.pop(name, None)
