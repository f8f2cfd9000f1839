"""Copies of the shipped examples as a fresh checkout holds them, whatever was run in the checkout since."""

from __future__ import annotations

import shutil
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
_LEFT = shutil.ignore_patterns("__pycache__", ".dsec", "plan.json", "killed.log", "entrypoint.so")


def copied(name: str, to: Path) -> Path:
    """Copy the example, or with "" all of them, to the folder `to`, which is made; return that folder."""
    return Path(shutil.copytree(EXAMPLES / name, to, ignore=_LEFT))
