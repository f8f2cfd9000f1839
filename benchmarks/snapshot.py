"""The whole `dsec snapshot` command, as it is typed, on a disk.

`repository` has 3,000 files and a large `.git`.
CPU time (user + system) of whole processes with their children (git, and the Python that is asked what
it is); medians. `create` of an unchanged work tree, `list`, `verify` and `diff` of two equal snapshots, and
how large the signed file is with the code and without. `git status` of the same tree stands beside.

`code` has 40,000 files, taken as code; `large` 2 GiB in four files, taken as data with their content. Beside
them restic and git
(`add` and `commit` into a repository of their own). The tools take turns within a round, another one first
each round; a ratio is the median of the rounds' own ratios, of CPU time and of wall time.

    python benchmarks/snapshot.py [--case repository|code|large ...] [--rounds 5] [--share 1.0]
                                  [--work DIR] [--check]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import store_inputs as inputs
from processes import Used, run

DSEC = Path(sys.executable).with_name("dsec")
GOALS = {"create, unchanged": 0.25}
"""CPU seconds."""
SIZES = {"with the code": 12 << 20, "without the code": 1 << 19}
"""Bytes of the signed file."""

PEERS = {
    ("code", "first"): {"restic": 0.8, "git": 0.5},
    ("code", "unchanged"): {"restic": 0.2},
    ("code", "changed"): {"restic": 0.4},
    ("large", "unchanged"): {"restic": 1.5},
}
"""The most CPU time of each peer's that `create` may take, by case and task."""
TASKS = {"code": ("first", "unchanged", "changed"), "large": ("first", "unchanged")}
SETTLING_S = 2.5
"""Files that were written just now are read again by who is careful."""
REPOSITORY = 3000
"""Files of the repository; `--share` makes it smaller."""


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


class Beside:
    """`create` and its peers on one tree."""

    def __init__(self, case: str, work: Path, share: float) -> None:
        """Write the tree; a peer that is not installed is named."""
        self.case, self.work, self.tree = case, work, work / case
        self.env = environment(work) | {"RESTIC_PASSWORD": "x", "XDG_CACHE_HOME": str(work / "caches")}
        self.used: dict[tuple[str, str], list[Used]] = {}
        self.tree.mkdir()
        if case == "code":
            inputs.small_files(self.tree, count=int(40_000 * share))
        else:
            inputs.large_files(self.tree / "data", count=4, size=int(512 * share) << 20)
        run(["/usr/bin/env", "git", "init", "-q"], cwd=self.tree, env=self.env)
        self.names = ["dsec", *(name for name in ("restic", "git") if shutil.which(name))]
        if missing := {"restic", "git"}.difference(self.names):
            print(f"not installed, so not compared: {', '.join(sorted(missing))}")

    def lines(self, tool: str, task: str, number: int) -> list[list[str]]:
        """The command lines of a task."""
        store = str(self.work / f"{self.case}-{tool}-{number}")
        if tool == "dsec":
            name = f"{task}-{number}"
            what = (
                ("--data", "data:content") if self.case == "large" else ("--include-code", "--budget", "none")
            )
            return [[str(DSEC), "snapshot", "create", *what, "--name", name]]
        if tool == "restic":
            base = ["/usr/bin/env", "restic", "-q", "-r", store, "--cache-dir", f"{store}.cache"]
            backup = [*base, "backup", "--exclude", ".git", "--exclude", ".dsec", "."]
            return [[*base, "init"], backup] if task == "init" else [backup]
        who = ["-c", "gc.auto=0", "-c", "user.name=b", "-c", "user.email=b@localhost"]
        base = ["/usr/bin/env", "git", f"--git-dir={store}", f"--work-tree={self.tree}", *who]
        commit = [*base, "commit", "-q", "--allow-empty", "-m", task]
        return [[*base, "init", "-q"]] if task == "init" else [[*base, "add", "-A", "."], commit]

    def take(self, tool: str, task: str, number: int) -> None:
        """One task of one tool."""
        parts = [run(line, cwd=self.tree, env=self.env) for line in self.lines(tool, task, number)]
        total = Used(
            sum(p.cpu_s for p in parts), sum(p.wall_s for p in parts), max(p.peak_mib for p in parts)
        )
        self.used.setdefault((tool, task), []).append(total)

    def round(self, number: int) -> None:
        """Every task, with stores that are new."""
        shutil.rmtree(self.tree / ".dsec", ignore_errors=True)
        for tool in self.names[1:]:
            line = self.lines(tool, "init", number)[0]
            run(line, cwd=self.tree, env=self.env)
            if tool == "git":
                exclude = self.work / f"{self.case}-git-{number}" / "info" / "exclude"
                exclude.parent.mkdir(exist_ok=True)
                exclude.write_text(".dsec/\n")
        first = number % len(self.names)
        for task in TASKS[self.case]:
            if task == "changed":
                inputs.change(self.tree, share=0.01, seed=number)
            time.sleep(SETTLING_S)
            for tool in self.names[first:] + self.names[:first]:
                self.take(tool, task, number)
        for tool in self.names[1:]:
            for suffix in ("", ".cache"):
                shutil.rmtree(self.work / f"{self.case}-{tool}-{number}{suffix}", ignore_errors=True)

    def told(self) -> bool:
        """Print the lines; whether a goal is missed."""
        missed = False
        for task in TASKS[self.case]:
            for tool in self.names:
                cpu, wall = (self._middle(tool, task, key) for key in ("cpu_s", "wall_s"))
                print(f"  {task:<10} {tool:<7} {cpu:8.3f} CPU s {wall:8.2f} s")
            for peer in self.names[1:]:
                pairs = list(zip(self.used["dsec", task], self.used[peer, task], strict=True))
                cpu = statistics.median(ours.cpu_s / other.cpu_s for ours, other in pairs)
                wall = statistics.median(ours.wall_s / other.wall_s for ours, other in pairs)
                goal = PEERS.get((self.case, task), {}).get(peer)
                verdict = "" if goal is None else f", at most {goal:g}: {'met' if cpu <= goal else 'MISSED'}"
                missed = missed or (goal is not None and cpu > goal)
                print(f"  {task:<10} / {peer:<7} {cpu:.3f} of the CPU, {wall:.3f} of the time{verdict}")
        return missed

    def _middle(self, tool: str, task: str, key: str) -> float:
        middle: float = statistics.median(getattr(one, key) for one in self.used[tool, task])
        return middle


def beside(case: str, work: Path, *, rounds: int, share: float) -> bool:
    """Measure a case beside its peers; whether a goal is missed."""
    it = Beside(case, work, share)
    print(f"{case}: medians of {rounds}", flush=True)
    for number in range(rounds):
        it.round(number)
    return it.told()


def alone(_case: str, work: Path, *, rounds: int, share: float) -> bool:
    """Measure all commands on a repository; whether a goal is missed."""
    tree, count = work / "tree", int(REPOSITORY * share)
    inputs.repository(tree, count=count, fat_bytes=int(311 * share) << 20)
    print(f"repository of {count} files, medians of {rounds}", flush=True)
    return told(*measure(tree, work, rounds))


CASES: dict[str, Callable[..., bool]] = {"repository": alone, "code": beside, "large": beside}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the lines; with --check, judge them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", action="append", choices=tuple(CASES), help="default: all")
    parser.add_argument("--share", type=float, default=1.0, help="of the full size of the trees")
    parser.add_argument("--work", type=Path, default=Path("/var/tmp"), help="a folder on a disk")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    missed = False
    for case in options.case or CASES:
        with tempfile.TemporaryDirectory(dir=options.work) as folder:
            how = {"rounds": options.rounds, "share": options.share}
            missed = CASES[case](case, Path(folder), **how) or missed
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
