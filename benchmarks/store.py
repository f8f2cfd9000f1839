"""The content-addressed store against restic, borg, git and DVC, on trees that it builds itself.

CPU time (user + system, from wait4) and wall time of whole processes, the start of the interpreter
included. Every round runs each program once, in random order, on the same tree; medians of the rounds,
and their ratios, are what counts, because the machine is shared. Files are in the page cache.

    python benchmarks/store.py [--peers DIR] [--rounds 3] [--case small|large|repository ...]
                               [--work DIR] [--only NAME ...] [--share 1.0] [--check]

restic, borg and git are looked for on PATH, DVC in the virtual environment `--peers` (`--install`
makes it). A peer that is not there is named, not guessed. `--check` leaves with 1 when a target is missed.
restic encrypts always, borg here too (repokey-blake2, lz4); git runs without its own maintenance.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import store_inputs as inputs
import store_sizes as sizes
from processes import Used, run

ROOT = Path(__file__).resolve().parent.parent
OURS = "dsec"
MOST_PEAK_MIB = 150.0
TASKS = ("first", "unchanged", "changed", "diff", "verify")
PROGRAM = f"""
import gc, os, sys
gc.disable()
sys.path.insert(0, {str(ROOT / "runtime")!r})
from dsec.store import open_store
task, place, tree, name = sys.argv[1:]
with open_store(place) as store:
    if task == "put":
        taken = store.put_folder(tree.encode())
        store.put_record(name, b"{{}}", trees=[taken.id], contents=[])
    elif task == "diff":
        one, two = (store.get_record(which).trees[0] for which in name.split(":"))
        print(sum(1 for _ in store.diff(one, two)))
    elif task == "verify":
        assert not store.verify().damage
sys.stdout.flush()
os._exit(0)
"""
"""As `dsec snapshot` does, it looks for no garbage, and leaves without taking the interpreter apart."""


@dataclass
class Tool:
    """A program: how its store is made, and the command lines of each task."""

    name: str
    init: Callable[[Path, Path], None]
    lines: Callable[[str, Path, Path], list[list[str]]]
    """Of a task, a store and a tree."""
    env: dict[str, str]
    used: dict[str, list[Used]] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)

    def do(self, task: str, store: Path, tree: Path) -> None:
        """One task; what it took is kept."""
        parts = [run(line, cwd=tree, env=self.env) for line in self.lines(task, store, tree)]
        if parts:
            total = Used(
                sum(p.cpu_s for p in parts), sum(p.wall_s for p in parts), max(p.peak_mib for p in parts)
            )
            self.used.setdefault(task, []).append(total)
            print(f"  {self.name} {task}: {total.cpu_s:.2f} CPU s", file=sys.stderr, flush=True)

    def cpu_s(self, task: str) -> float | None:
        """Middle CPU seconds of a task."""
        found = self.used.get(task)
        return statistics.median(one.cpu_s for one in found) if found else None


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below but for our caches: those of restic and borg are beside their stores."""
    kept = (p for p in folder.rglob("*") if folder / "cache" not in p.parents)
    return sum(p.stat().st_size for p in kept if p.is_file() and not p.is_symlink())


def tools(peers: Path | None, work: Path) -> list[Tool]:
    """Every program that is here."""
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DSEC", "RESTIC", "BORG", "GIT"))
    }
    clean |= {"HOME": str(work), "XDG_CACHE_HOME": str(work / "caches"), "GIT_CONFIG_GLOBAL": os.devnull}
    found = [_ours(clean), _restic(clean), _borg(clean), _git(clean), _dvc(clean, peers)]
    for one in ("restic", "borg", "git"):
        if shutil.which(one) is None:
            print(f"{one}: not installed, so not compared")
    return [one for one in found if one is not None]


def _ours(env: dict[str, str]) -> Tool:
    def lines(task: str, store: Path, tree: Path) -> list[list[str]]:
        name = {"first": "1", "unchanged": "2", "changed": "3", "diff": "2:3"}.get(task, "")
        what = task if task in ("diff", "verify") else "put"
        return [[sys.executable, "-c", PROGRAM, what, str(store), str(tree), name]]

    return Tool(OURS, lambda _store, _tree: None, lines, env)


def _restic(env: dict[str, str]) -> Tool | None:
    if (found := shutil.which("restic")) is None:
        return None
    env = env | {"RESTIC_PASSWORD": "x"}

    def base(store: Path) -> list[str]:
        return [found, "-q", "-r", str(store), "--cache-dir", f"{store}.cache"]

    def init(store: Path, tree: Path) -> None:
        run([*base(store), "init"], cwd=tree, env=env)

    def lines(task: str, store: Path, _tree: Path) -> list[list[str]]:
        if task == "diff":
            ids = sorted((store / "snapshots").iterdir(), key=lambda path: path.stat().st_mtime_ns)
            return [[*base(store), "diff", ids[-2].name, ids[-1].name]]
        if task == "verify":
            return [[*base(store), "check", "--read-data"]]
        return [[*base(store), "backup", "."]]

    return Tool("restic", init, lines, env)


def _borg(env: dict[str, str]) -> Tool | None:
    if (found := shutil.which("borg")) is None:
        return None
    env = env | {"BORG_PASSPHRASE": "x", "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes"}

    def init(store: Path, tree: Path) -> None:
        run([found, "init", "-e", "repokey-blake2", str(store)], cwd=tree, env=env)

    def lines(task: str, store: Path, _tree: Path) -> list[list[str]]:
        name = {"first": "1", "unchanged": "2", "changed": "3"}.get(task, "")
        if task == "diff":
            return [[found, "diff", f"{store}::2", "3"]]
        if task == "verify":
            return [[found, "check", "--verify-data", str(store)]]
        return [[found, "create", f"{store}::{name}", "."]]

    return Tool("borg", init, lines, env)


def _git(env: dict[str, str]) -> Tool | None:
    if (found := shutil.which("git")) is None:
        return None

    def base(store: Path, tree: Path) -> list[str]:
        return [found, f"--git-dir={store}", f"--work-tree={tree}", "-c", "gc.auto=0", "-c", "user.name=b",
                "-c", "user.email=b@localhost"]  # fmt: skip

    def init(store: Path, tree: Path) -> None:
        run([*base(store, tree), "init", "-q"], cwd=tree, env=env)

    def lines(task: str, store: Path, tree: Path) -> list[list[str]]:
        if task == "diff":
            return [[*base(store, tree), "diff", "--raw", "HEAD~1", "HEAD"]]
        if task == "verify":
            return [[*base(store, tree), "fsck", "--full", "--no-dangling"]]
        add = [*base(store, tree), "add", "-A", "-f", "."]
        return [add, [*base(store, tree), "commit", "-q", "--allow-empty", "-m", task]]

    return Tool("git", init, lines, env)


def _dvc(env: dict[str, str], peers: Path | None) -> Tool | None:
    found = shutil.which("dvc", path=str(peers / "bin")) if peers is not None else None
    git = shutil.which("git")
    if found is None or git is None:
        print("dvc: not installed, so not compared")
        return None
    env = env | {"DVC_NO_ANALYTICS": "1", "DVC_SITE_CACHE_DIR": env["HOME"] + "/dvc-site"}
    who = ["-c", "user.name=b", "-c", "user.email=b@localhost"]

    def init(store: Path, tree: Path) -> None:
        top = tree.parent
        for old in (top / ".dvc", top / ".git"):
            shutil.rmtree(old, ignore_errors=True)
        (top / f"{tree.name}.dvc").unlink(missing_ok=True)
        run([git, "init", "-q"], cwd=top, env=env)
        run([found, "init", "-q"], cwd=top, env=env)
        for key, value in (("cache.dir", str(store)), ("core.analytics", "false"), ("cache.type", "copy")):
            run([found, "config", key, value], cwd=top, env=env)

    def lines(task: str, _store: Path, tree: Path) -> list[list[str]]:
        top = str(tree.parent)
        if task == "verify":
            return []
        if task == "diff":
            return [[found, "--cd", top, "diff", "HEAD~1", "HEAD"]]
        kept = [git, "-C", top, "add", ".dvc", f"{tree.name}.dvc"]
        return [
            [found, "--cd", top, "add", "-q", tree.name],
            kept,
            [git, "-C", top, *who, "commit", "-q", "--allow-empty", "-m", task],
        ]

    return Tool("dvc", init, lines, env)


@dataclass(frozen=True)
class Case:
    """A tree, how it changes, and the most that ours may take of each peer's CPU time."""

    name: str
    build: Callable[[Path, float], None]
    """Of a folder and a share of the full size."""
    change: Callable[[Path, int], None]
    targets: tuple[tuple[str, str, float], ...]
    peers: tuple[str, ...] = ("restic", "borg", "git", "dvc")


def _write_small(tree: Path, share: float) -> None:
    count = int(40_000 * share)
    print(f"{count} files, {inputs.small_files(tree, count=count) >> 20} MiB")


def _write_large(tree: Path, share: float) -> None:
    inputs.large_files(tree, count=4, size=int(512 * share) << 20)


def _write_repository(tree: Path, share: float) -> None:
    inputs.repository(tree, count=int(3000 * share), fat_bytes=int(311 * share) << 20)


def _change_some(tree: Path, seed: int) -> None:
    inputs.change(tree, share=0.01, seed=seed)


CASES = (
    Case(
        "small",
        _write_small,
        _change_some,
        (
            ("first", "restic", 0.35), ("first", "borg", 0.6), ("first", "git", 0.35), ("first", "dvc", 0.35),
            ("unchanged", "restic", 0.15), ("unchanged", "borg", 0.15), ("unchanged", "dvc", 0.1),
            ("unchanged", "git", 1.5), ("changed", "restic", 0.25), ("changed", "borg", 0.25),
            ("changed", "git", 1.0), ("diff", "restic", 0.1), ("diff", "borg", 0.1), ("diff", "dvc", 0.01),
            ("diff", "git", 1.0),
            ("verify", "restic", 0.4), ("verify", "borg", 0.3), ("verify", "git", 0.25),
            ("stored first", "restic", 0.85), ("stored first", "tar|zstd", 1.1),
        ),
    ),
    Case(
        "large",
        _write_large,
        lambda tree, seed: inputs.overwrite(tree, runs=80, length=256 << 10, seed=seed),
        (
            ("first", "restic", 0.5), ("unchanged", "restic", 0.2), ("stored first", "restic", 0.85),
            ("stored first", "zipnn", 1.05),
        ),
        peers=("restic", "borg", "dvc"),
    ),
    Case(
        "repository",
        _write_repository,
        _change_some,
        (),
        peers=("restic", "borg"),
    ),
)  # fmt: skip


def measure(case: Case, taking_part: list[Tool], work: Path, *, rounds: int, share: float) -> None:
    """Fill the tools' figures."""
    top = work / case.name
    tree = top / "tree"
    tree.mkdir(parents=True)
    case.build(tree, share)
    time.sleep(2.5)  # files that were written just now are read again by who is careful
    for number in range(rounds):
        stores = {tool.name: work / f"{case.name}-{tool.name}-{number}" for tool in taking_part}
        for tool in taking_part:
            tool.init(stores[tool.name], tree)
        for task in TASKS:
            if task == "changed":
                for tool in taking_part:
                    tool.stored["stored first"] = folder_bytes(stores[tool.name])
                case.change(tree, number)
                time.sleep(2.5)
            if task == "diff":
                for tool in taking_part:
                    tool.stored["stored third"] = folder_bytes(stores[tool.name])
            for tool in random.sample(taking_part, len(taking_part)):
                tool.do(task, stores[tool.name], tree)
        for store in stores.values():
            shutil.rmtree(store, ignore_errors=True)
            shutil.rmtree(f"{store}.cache", ignore_errors=True)


def told(case: Case, taking_part: list[Tool], beside: dict[str, int | None]) -> list[str]:
    """Print tables and ratios; the targets that are missed. `beside` is bytes that no store takes."""
    print(f"\n{case.name}: CPU s / wall s / peak MiB")
    print(f"  {'':<10}" + "".join(f"{task:>20}" for task in TASKS) + f"{'stored MiB':>22}")
    for tool in taking_part:
        cells = "".join(f"{_cell(tool.used.get(task)):>20}" for task in TASKS)
        sizes = " / ".join(f"{tool.stored[key] / (1 << 20):.0f}" for key in ("stored first", "stored third"))
        print(f"  {tool.name:<10}{cells}{sizes:>22}")
    by_name = {tool.name: tool for tool in taking_part}
    missed = []
    for task, peer, most in case.targets:
        size = beside.get(peer)
        other = by_name.get(peer)
        ratio = by_name[OURS].stored[task] / size if size else _ratio(by_name[OURS], other, task)
        if ratio is None:
            print(f"  {task:<14} / {peer:<8}       -  at most {most:g}  not measured")
        else:
            missed += _judged(f"{task:<14} / {peer:<8}", ratio, most)
    peak = max(one.peak_mib for used in by_name[OURS].used.values() for one in used)
    return [f"{case.name}: {one}" for one in missed + _judged("peak MiB", peak, MOST_PEAK_MIB)]


def _judged(what: str, found: float, most: float) -> list[str]:
    """Print a line and its verdict; what is missed."""
    print(f"  {what:<25}{found:>8.3f}  at most {most:g}  {'met' if found <= most else 'MISSED'}")
    return [] if found <= most else [f"{what} is {found:.3f}"]


def _cell(used: list[Used] | None) -> str:
    if not used:
        return "-"
    middle = [statistics.median(getattr(one, key) for one in used) for key in ("cpu_s", "wall_s", "peak_mib")]
    return f"{middle[0]:.2f} / {middle[1]:.1f} / {middle[2]:.0f}"


def _ratio(ours: Tool, peer: Tool | None, task: str) -> float | None:
    if peer is None:
        return None
    if task.startswith("stored"):
        return ours.stored[task] / peer.stored[task]
    mine, other = ours.cpu_s(task), peer.cpu_s(task)
    return mine / other if mine is not None and other else None


def _beside(case: Case, tree: Path, peers: Path | None) -> dict[str, int | None]:
    """Of the tree as it is at the end; the few files that changed make no difference."""
    wanted = {peer for _, peer, _ in case.targets}
    found: dict[str, int | None] = {}
    if "tar|zstd" in wanted:
        found["tar|zstd"] = sizes.tar_zstd(tree)
    if "zipnn" in wanted:
        found["zipnn"] = sizes.zipnn(tree, peers)
    return found


def install(peers: Path) -> None:
    """Make the environment of DVC and zipnn."""
    if not (peers / "bin" / "pip").exists():
        subprocess.run([sys.executable, "-m", "venv", str(peers)], check=True)
    done = subprocess.run([str(peers / "bin" / "pip"), "install", "-q", "dvc", "zipnn"], check=False)
    print(f"dvc: {'installed' if done.returncode == 0 else 'could not be installed'}")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; with --check, judge them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--install", action="store_true", help="make the environment --peers first")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0, help="of the full size of each tree")
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES])
    parser.add_argument("--only", action="append", help="names of programs; default: all")
    parser.add_argument(
        "--work", type=Path, help="where trees and stores are made; default: a temporary folder"
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    peers = options.peers.absolute() if options.peers is not None else None
    if options.install and peers is not None and not (peers / "bin" / "dvc").exists():
        install(peers)
    missed: list[str] = []
    for case in CASES:
        if options.case is None or case.name in options.case:
            with tempfile.TemporaryDirectory(dir=options.work) as folder:
                work = Path(folder)
                found = [one for one in tools(peers, work) if one.name in (OURS, *case.peers)]
                found = [one for one in found if options.only is None or one.name in options.only]
                measure(case, found, work, rounds=options.rounds, share=options.share)
                missed += told(case, found, _beside(case, work / case.name / "tree", peers))
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
