"""Whole processes and what they took: CPU time from wait4, wall time, the most memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Used:
    """What a task took."""

    cpu_s: float
    wall_s: float
    peak_mib: float


SPAWNED = """
import json, os, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
actions = [(os.POSIX_SPAWN_DUP2, out, stream) for stream in (1, 2)]
began = time.perf_counter()
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ, file_actions=actions)
_, status, used = os.wait4(pid, 0)
wall = time.perf_counter() - began
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)
"""
"""A small parent: the kernel counts the memory of whoever starts a program as the program's, too."""


def run(argv: Sequence[str], *, cwd: Path, env: dict[str, str]) -> Used:
    """Run a program to its end; it must succeed (what compares may say 1)."""
    with tempfile.NamedTemporaryFile() as out:
        line = [sys.executable, "-I", "-S", "-c", SPAWNED, out.name, *argv]
        done = subprocess.run(line, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=-1, text=True)
        code, cpu, wall, peak = done.stdout.split()
        if code not in ("0", "1") or (code == "1" and "diff" not in argv):
            raise SystemExit(f"{argv} left with {code}: {Path(out.name).read_text()[-800:]}")
    return Used(float(cpu), float(wall), float(peak))
