"""What analysing a graph of 100,000 Steps and 1,000,000 edges costs against graph libraries.

CPU time (user + system) from the graph in the library's own form to all of: the Steps of each level, which
in a row are a topological order, the earliest start, upward rank and slack of each Step, a critical path; for
a graph with circles, that it has no order, and all strongly connected components. Reading and building come
before and are told apart. Every round runs each program of a case once, in random order, each in a process
of its own; ratios of medians are what counts, because the machine is shared. What a library does not offer
(ranks, starts) is done in Python over its adjacency, in as few passes as we know.

    python benchmarks/graph.py [--peers DIR] [--install] [--rounds 5] [--case NAME ...] [--check]

`--peers` is a virtual environment with networkx and rustworkx; `--install` makes it. A peer that is not
there is named, not guessed. All programs must find the same levels, lengths and components.

Cases: `random` (edges from lower to higher numbers, some 60 levels), `shuffled` (the same, numbers dealt
anew), `layered` (100 levels of 1,000), `chain` (100,000 in a row), `cyclic` (random edges: one huge
component), `clusters` (1,000 components of 100).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

ROOT = Path(__file__).resolve().parent.parent
PEERS = ("networkx", "rustworkx")
OURS, PLAIN, ORDERED = "dsec", "plain Python", "rustworkx, order and longest path only"
NODES, EDGES = 100_000, 1_000_000
CASES = ("random", "shuffled", "layered", "chain", "cyclic", "clusters")
CYCLIC = ("cyclic", "clusters")
BUDGETS = (("networkx", 0.08), ("rustworkx", 0.3), (PLAIN, 0.2))
MOST_MIB = 150
CHAIN = 1.5


def pairs(case: str) -> Iterator[tuple[int, int]]:
    """The edges of a case, in any order, with doubles and loops to be left out."""
    chance = random.Random(20_261_129)
    if case == "chain":
        yield from ((node, node + 1) for node in range(NODES - 1))
    elif case == "layered":
        width = NODES // 100
        for node in range(NODES - width):
            base = (node // width + 1) * width
            yield from ((node, base + chance.randrange(width)) for _ in range(10))
    elif case == "clusters":
        for node in range(NODES):
            base = node // 100 * 100
            yield from ((node, base + chance.randrange(100)) for _ in range(10))
            yield node, chance.randrange(base, NODES)
    else:
        place = list(range(NODES))
        if case == "shuffled":
            chance.shuffle(place)
        for _ in range(EDGES):
            one, other = chance.randrange(NODES), chance.randrange(NODES)
            if one > other and case != "cyclic":
                one, other = other, one
            yield place[one], place[other]


def write(case: str, path: str) -> None:
    """The case's edges as 32-bit numbers: sources, then targets, sorted, without doubles and loops."""
    keys = sorted({one * NODES + other for one, other in pairs(case) if one != other})
    with open(path, "wb") as file:
        array("i", [key // NODES for key in keys]).tofile(file)
        array("i", [key % NODES for key in keys]).tofile(file)


def read(path: str) -> tuple[array[int], array[int]]:
    """Sources and targets."""
    count = os.path.getsize(path) // 8
    sources, targets = array("i"), array("i")
    with open(path, "rb") as file:
        sources.fromfile(file, count)
        targets.fromfile(file, count)
    return sources, targets


Outcome = tuple[list[list[int]], list[int], list[int], list[int]] | list[list[int]]
"""The nodes of each level, starts, ranks and the critical path; or the components."""
Analysis = Callable[[], Outcome]


def weights() -> list[int]:
    """How long each Step takes."""
    return [1 + node * 7919 % 1000 for node in range(NODES)]


def dsec(sources: array[int], targets: array[int], *, plain: bool) -> Analysis:
    """Ours, and ours without numpy, which is as good a plain Python as we can write."""
    sys.path[:0] = [str(ROOT / "runtime")]
    from dsec.core import measures
    from dsec.core.packed import packed

    if plain:
        vars(measures)["numpy_for"] = lambda _: None
    else:
        from dsec.core import wide_circles  # noqa: F401  # every library's import is left out
    near = [[] for _ in range(NODES)]  # type: list[list[int]]
    names = list(range(NODES))
    for source, target in zip(sources, targets, strict=True):
        near[source].append(names[target])
    successors = packed(near, len(sources))
    del near
    weight = weights()

    def analysis() -> Outcome:
        found = measures.measure(successors, weight)
        if found is None:
            return measures.circles(successors)
        return found.nodes.levels, found.nodes.starts, found.nodes.ranks, found.critical_path

    return analysis


def networkx(sources: array[int], targets: array[int]) -> Analysis:
    """networkx, its adjacency read directly."""
    import networkx as nx  # type: ignore[import-untyped, unused-ignore]

    graph = nx.DiGraph()
    graph.add_nodes_from(range(NODES))
    graph.add_edges_from(zip(sources, targets, strict=True))
    weight = weights()

    def analysis() -> Outcome:
        try:
            generations = list(nx.topological_generations(graph))
        except nx.NetworkXUnfeasible:
            found = nx.strongly_connected_components(graph)
            return [sorted(some) for some in found if len(some) > 1]
        return _measured(generations, graph._adj.__getitem__, weight)

    return analysis


def rustworkx(sources: array[int], targets: array[int], *, ordered: bool = False) -> Analysis:
    """rustworkx; `ordered` leaves out what it has no function for."""
    import rustworkx as rx  # type: ignore[import-not-found, unused-ignore]

    graph = rx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(range(NODES))
    graph.extend_from_edge_list(list(zip(sources, targets, strict=True)))
    weight = weights()

    def analysis() -> Outcome:
        try:
            generations = list(rx.topological_generations(graph))
        except rx.DAGHasCycle:
            return [sorted(some) for some in rx.strongly_connected_components(graph) if len(some) > 1]
        if ordered:
            path = rx.dag_longest_path(graph, lambda one, _other, _edge: weight[one])
            return [], [], [], list(path)
        return _measured(generations, graph.successor_indices, weight)

    return analysis


def _measured(
    generations: list[list[int]], successors: Callable[[int], object], weight: list[int]
) -> Outcome:
    """What is left to do over another library's levels and adjacency."""
    starts, ranks = [0] * NODES, list(weight)
    for some in generations:
        for node in some:
            end = starts[node] + weight[node]
            for target in successors(node):  # type: ignore[attr-defined]
                if starts[target] < end:
                    starts[target] = end
    of = ranks.__getitem__
    for some in reversed(generations):
        for node in some:
            ranks[node] += max(map(of, successors(node)), default=0)  # type: ignore[call-overload]
    length = max(ranks)
    slacks = [length - start - rank for start, rank in zip(starts, ranks, strict=True)]
    path = [min(node for node in range(NODES) if ranks[node] == length)]
    while after := list(successors(path[-1])):  # type: ignore[call-overload]
        path.append(min(after, key=lambda node: (-ranks[node], node)))
    if any(slacks[node] for node in path):
        raise AssertionError("a critical path has no slack")
    return list(map(list, generations)), starts, ranks, path


PROGRAMS: dict[str, Callable[[array[int], array[int]], Analysis]] = {
    OURS: lambda sources, targets: dsec(sources, targets, plain=False),
    PLAIN: lambda sources, targets: dsec(sources, targets, plain=True),
    "networkx": networkx,
    "rustworkx": rustworkx,
    ORDERED: lambda sources, targets: rustworkx(sources, targets, ordered=True),
}


def one(name: str, path: str) -> None:
    """In a process of its own: build, analyse, print what it took and what was found."""
    sources, targets = read(path)
    if name in PEERS:
        __import__(name)
    begun = time.process_time()
    analysis = PROGRAMS[name](sources, targets)
    del sources, targets
    built = time.process_time()
    outcome = analysis()
    done = time.process_time()
    with open("/proc/self/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
    known = sorted(outcome) if isinstance(outcome, list) else (list(map(sorted, outcome[0])), *outcome[1:])
    print(
        json.dumps(
            {
                "build": built - begun,
                "analysis": done - built,
                "mib": peak / 1024,
                "found": crc32(json.dumps(known).encode()),
            }
        )
    )


class Runs:
    """The runs of one case."""

    def __init__(self) -> None:
        self.each: dict[str, list[dict[str, float]]] = {}

    def median(self, name: str, key: str) -> float:
        """Middle value of a program."""
        return statistics.median(run[key] for run in self.each[name])


def measured(case: str, interpreters: dict[str, str], path: str, *, rounds: int) -> Runs:
    """All rounds of a case, interleaved in random order."""
    runs = Runs()
    subprocess.run([sys.executable, __file__, "--write", case, path], check=True)
    names = list(interpreters)
    for _ in range(rounds):
        random.shuffle(names)
        for name in names:
            line = [interpreters[name], __file__, "--one", name, path]
            done = subprocess.run(line, capture_output=True, text=True, check=True)
            runs.each.setdefault(name, []).append(json.loads(done.stdout))
    answers = {run["found"] for name in names if name != ORDERED for run in runs.each[name]}
    if len(answers) != 1:
        raise SystemExit(f"{case}: the programs do not find the same")
    return runs


def told(case: str, runs: Runs) -> list[str]:
    """Print a case's table; gives the budgets that it misses."""
    print(f"\n{case}: {len(runs.each[OURS])} rounds; CPU seconds, peak MiB of the process")
    for name in sorted(runs.each, key=lambda one: runs.median(one, "analysis")):
        build, analysis, mib = (runs.median(name, key) for key in ("build", "analysis", "mib"))
        print(f"  {name:<40}{analysis:>8.3f}   built in {build:>6.2f}{mib:>8.0f} MiB")
    missed = []
    budgets = [(PLAIN, CHAIN)] if case == "chain" else BUDGETS
    for other, most in budgets:
        if other in runs.each:
            ratio = runs.median(OURS, "analysis") / runs.median(other, "analysis")
            missed += _judged(f"{case}: {OURS} / {other}", ratio, most)
    return missed + _judged(f"{case}: peak MiB", runs.median(OURS, "mib"), MOST_MIB)


def _judged(name: str, value: float, most: float) -> list[str]:
    print(f"  {name:<40}{value:>8.3f}   at most {most:g}{'' if value <= most else '  MISSED'}")
    return [] if value <= most else [name]


def install(peers: Path) -> None:
    """Make the peers' environment; one that cannot be installed is reported and left out."""
    subprocess.run([sys.executable, "-m", "venv", str(peers)], check=True)
    for name in PEERS:
        done = subprocess.run([str(peers / "bin" / "pip"), "install", "-q", name], check=False)
        print(f"{name}: {'installed' if done.returncode == 0 else 'could not be installed'}")


def interpreters_of(peers: Path | None) -> dict[str, str]:
    """Which interpreter runs each program; prints the versions that take part."""
    found = {OURS: sys.executable, PLAIN: sys.executable}
    python = shutil.which("python", path=str(peers / "bin")) if peers is not None else None
    for name in PEERS:
        line = [python or sys.executable, "-c", f"import {name}; print({name}.__version__)"]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name}: not installed, so not compared")
            continue
        print(f"{name} {done.stdout.strip()}")
        found[name] = line[0]
        if name == "rustworkx":
            found[ORDERED] = line[0]
    return found


def main() -> int:
    """Print the tables; with --check, judge them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--install", action="store_true", help="make the environment --peers first")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", action="append", choices=CASES, help="default: all")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(*options.one)
        return 0
    if options.write:
        write(*options.write)
        return 0
    if options.install and options.peers is not None:
        install(options.peers)
    interpreters = interpreters_of(options.peers)
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for case in options.case or CASES:
            some = {k: v for k, v in interpreters.items() if k != ORDERED or case not in CYCLIC}
            missed += told(case, measured(case, some, f"{folder}/edges", rounds=options.rounds))
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
