"""A store, a folder to take in, and a look at everything that a folder holds."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from dsec.store import open_store

OLD_NS = 1_600_000_000_000_000_000
"""A time that no stat cache takes for too fresh."""


@pytest.fixture
def place(tmp_path):
    """Where the store is."""
    return tmp_path / "store"


@pytest.fixture
def store(place):
    """An open store."""
    with open_store(str(place)) as one:
        yield one


@pytest.fixture
def folder(tmp_path):
    """A folder with a bit of everything, none of it fresh."""
    root = tmp_path / "project"
    (root / "src" / "deep" / "er").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "train.py").write_bytes(b"lr = 3e-4\n" * 50)
    (root / "src" / "model.py").write_bytes(b"layers = 12\n")
    (root / "src" / "deep" / "er" / "none").write_bytes(b"")
    (root / "run.sh").write_bytes(b"#!/bin/sh\nexit 0\n")
    (root / "run.sh").chmod(0o750)
    (root / "weights.bin").write_bytes(os.urandom(1 << 20) * 3 + b"tail")
    (root / "link").symlink_to("src/model.py")
    (root / "broken").symlink_to("nowhere/at all")
    with open(os.fsencode(root) + b"/caf\xe9 \xff\n\x1b[31m", "wb") as file:
        file.write(b"a name that is no UTF-8")
    age(root)
    return root


def age(root: Path, *, at_ns: int = OLD_NS) -> None:
    """Give everything an old mtime; a ctime cannot be set."""
    for base, folders, files in os.walk(os.fsencode(root), topdown=False):
        for name in (*files, *folders):
            os.utime(os.path.join(base, name), ns=(at_ns, at_ns), follow_symlinks=False)


def facts(root: Path, *, times: bool = True) -> dict[bytes, tuple[object, ...]]:
    """Everything below a folder: kind, mode, time, content."""
    found = {}
    top = os.fsencode(root)
    for base, folders, files in os.walk(top):
        for name in (*files, *folders):
            path = os.path.join(base, name)
            state = os.lstat(path)
            content: object = None
            if stat.S_ISLNK(state.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(state.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            mode = state.st_mode if not stat.S_ISLNK(state.st_mode) else 0
            found[os.path.relpath(path, top)] = (mode, state.st_mtime_ns if times else 0, content)
    return found


@pytest.fixture
def settled(monkeypatch):
    """Every look happens later than it does, so that nothing is too fresh to be remembered."""
    from dsec.store import intake

    real = time.time_ns
    monkeypatch.setattr(intake.time, "time_ns", lambda: real() + 10_000_000_000)
