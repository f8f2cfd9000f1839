"""The whole `dsec snapshot` command on a repository of 3,000 files whose `.git` is large.

CPU time (user + system) of whole processes with their children (git, and the Python that is asked what
it is); medians. `create` of an unchanged work tree, `list`, `verify` and `diff` of two equal snapshots, and
how large the signed file is with the code and without. `git status` of the same tree stands beside.

    python benchmarks/snapshot.py [--rounds 5] [--share 1.0] [--work DIR] [--check]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import store_inputs as inputs
from processes import run

DSEC = Path(sys.executable).with_name("dsec")
GOALS = {"create, unchanged": 0.25}
"""CPU seconds."""
SIZES = {"with the code": 12 << 20, "without the code": 1 << 19}
"""Bytes of the signed file."""


def environment(work: Path) -> dict[str, str]:
    """As in an environment that is activated: `python` is the one that runs this."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DSEC", "GIT", "XDG"))}
    path = f"{DSEC.parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return kept | {"HOME": str(work), "PATH": path, "GIT_CONFIG_GLOBAL": os.devnull}


def measure(tree: Path, work: Path, rounds: int) -> tuple[dict[str, list[float]], dict[str, int]]:
    """CPU seconds of each command by round, and bytes of the packages."""
    env = environment(work)
    used: dict[str, list[float]] = {}

    def take(what: str, *words: str) -> None:
        used.setdefault(what, []).append(run([str(word) for word in words], cwd=tree, env=env).cpu_s)

    snapshot = (str(DSEC), "snapshot")
    take("create, first", *snapshot, "create", "--name", "first")
    for number in range(rounds):
        take("create, unchanged", *snapshot, "create", "--name", f"again-{number}")
        take("git status", "/usr/bin/env", "git", "status", "--porcelain")
        take("list", *snapshot, "list")
        take("verify", *snapshot, "verify", "first")
        take("diff", *snapshot, "diff", "first", f"again-{number}")
    run([*snapshot, "create", "--name", "bare", "--include-deps"], cwd=tree, env=env)
    sizes = {}
    for what, name in (("with the code", "first"), ("without the code", "bare")):
        target = work / f"{name}.dsnap"
        run([*snapshot, "export", name, "--output", str(target)], cwd=tree, env=env)
        sizes[what] = target.stat().st_size
    return used, sizes


def told(used: dict[str, list[float]], sizes: dict[str, int]) -> bool:
    """Print the lines; whether a goal is missed."""
    missed = False
    for what, several in used.items():
        middle, goal = statistics.median(several), GOALS.get(what)
        verdict = "" if goal is None else f", at most {goal:g}: {'met' if middle <= goal else 'MISSED'}"
        missed = missed or (goal is not None and middle > goal)
        print(f"  {what:<20} {middle:.3f} CPU s (least {min(several):.3f}){verdict}")
    for what, size in sizes.items():
        verdict = "met" if size <= SIZES[what] else "MISSED"
        missed = missed or size > SIZES[what]
        print(f"  package {what:<17} {size / 2**20:.2f} MiB, at most {SIZES[what] / 2**20:g}: {verdict}")
    return missed


def main(argv: Sequence[str] | None = None) -> int:
    """Print the lines; with --check, judge them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="of the full size of the repository")
    parser.add_argument("--work", type=Path, help="where it is made; default: a temporary folder")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        work = Path(folder)
        tree = work / "tree"
        inputs.repository(tree, count=int(3000 * options.share), fat_bytes=int(311 * options.share) << 20)
        print(f"{int(3000 * options.share)} files, medians of {options.rounds}")
        missed = told(*measure(tree, work, options.rounds))
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
