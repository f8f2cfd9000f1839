"""CPU per Step of `dsec run plan.json` against a C floor and ninja, on graphs of /bin/true.

`bare` is the floor written in Python: a spawn loop that keeps nothing. It shows how much of the
distance to the floor is the language and how much is ours.

Graphs: a chain of 1,000 Steps, and 100 layers of 50 Steps that each need 4 random Steps of the
layer before (5,000 Steps, 19,800 needs; fixed seed). All run at most 2 Steps at a time, in
the same order. CPU is user + system time of the tool and every process it waited for (wait4),
start-up included. The tools take turns within a round; figures are medians over the rounds, and
a ratio is the median of the rounds' own ratios, so load that comes and goes touches both sides.

`limits` is the same run with a memory limit for every Step, `watched` one with limits, a monitor that
audits and a file of metrics. So that there is something to watch, and a monitor starts, both and `dsec` have
a further Step that sleeps for three seconds beside the others.

Everything is written to a disk (`/var/tmp`), where people's runs are: creating a log for each Step, which
ninja does not, is part of what a run costs. The floor keeps logs, too. `--dir` measures elsewhere.

    python benchmarks/executor.py [--rounds 5] [--graph chain|layered] [--dir DIR] [--watched]
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from dsec.inventory import Inventory
from dsec.plan import (
    FORMAT,
    Analysis,
    Command,
    Demand,
    Edge,
    Iterations,
    Placement,
    Plan,
    PlannedStep,
    Retries,
    Source,
)
from dsec.planfile import save_plan, seal

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SLOTS = 2
TARGETS = {"ninja": 1.0}
WATCHED = 1.25
"""Of the floor, with limits, audit and metrics."""
MIB = 1 << 20
Graph = list[list[int]]


def chain(count: int = 1000) -> Graph:
    """Each Step needs the one before."""
    return [[at - 1] if at else [] for at in range(count)]


def layered(layers: int = 100, width: int = 50, needs: int = 4) -> Graph:
    """Each Step needs some of the layer before."""
    chance = random.Random(20)
    graph: Graph = []
    for layer in range(layers):
        above = range((layer - 1) * width, layer * width)
        graph += [sorted(chance.sample(above, needs)) if layer else [] for _ in range(width)]
    return graph


def plan_of(graph: Graph, *, memory_bytes: int = 0, sleeps: bool = False) -> Plan:
    """The graph as a plan; ranks follow the numbers, so every tool starts Steps in one order.

    `sleeps`: with a Step that lasts three seconds and takes none of the slots.
    """
    here = Source("bench.yaml", 1, 1)
    steps = tuple(
        PlannedStep(
            id=f"s{at}",
            name="",
            command=Command(("/bin/true",), "", "", "", ""),
            env=(),
            cwd=".",
            needs=tuple(Edge(f"s{need}", "order", 0, here) for need in needs),
            demand=Demand(1000, memory_bytes, 0, 0, (), 0, 0),
            level="pauseable",
            timeout_ms=60_000,
            grace_ms=1000,
            retries=Retries(0, 0, 1),
            inputs=(),
            outputs=(),
            placement=Placement((), "no GPU asked for"),
            estimate_ms=1,
            estimate_source="default",
            rank_ms=len(graph) - at,
            slack_ms=0,
            reasons=(),
            key="",
            src=here,
        )
        for at, needs in enumerate(graph)
    )
    if sleeps:
        long = Command(("/bin/sleep", "3"), "", "", "", "")
        first = steps[0]._replace(id="long", command=long, demand=steps[0].demand._replace(cpu_m=0))
        steps = (first, *steps)
    machine = Inventory("described:bench", SLOTS * 1000, None, None, None, (), ())
    return seal(
        Plan(
            format=FORMAT,
            tool="bench",
            name="bench",
            contract_file="bench.yaml",
            contract_hash="",
            inventory=machine,
            inventory_hash="",
            iterations=Iterations(1, 0, 2),
            steps=steps,
            analysis=Analysis((), 0, 0, 0, (), ()),
            notes=(),
            hash="",
        )
    )


def write_inputs(graph: Graph, folder: Path) -> None:
    """The graph for each tool."""
    save_plan(str(folder / "plan.json"), plan_of(graph))
    save_plan(str(folder / "sleeps.json"), plan_of(graph, sleeps=True))
    save_plan(str(folder / "limits.json"), plan_of(graph, sleeps=True, memory_bytes=256 * MIB))
    (folder / "graph").write_text("".join(" ".join(map(str, needs)) + "\n" for needs in graph))
    lines = ["rule true", "  command = /bin/true", ""]
    lines += [f"build s{at}: true {' '.join(f's{need}' for need in needs)}" for at, needs in enumerate(graph)]
    (folder / "build.ninja").write_text("\n".join(lines) + "\n")
    inventory = {"cpu": SLOTS, "memory": "64GiB", "gpus": []}
    (folder / "inventory.json").write_text(json.dumps(inventory))


def cpu_s(command: list[str], folder: Path, env: dict[str, str]) -> float:
    """CPU seconds of the command's whole tree; it must succeed."""
    with open(folder / "out", "wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed: {(folder / 'out').read_text()[-2000:]}")
    return usage.ru_utime + usage.ru_stime


def run_round(tools: dict[str, list[str]], folder: Path, env: dict[str, str], turn: int) -> dict[str, float]:
    """Each tool once, beginning with another one each round."""
    names = list(tools)
    names = names[turn % len(names) :] + names[: turn % len(names)]
    figures = {}
    for name in names:
        for litter in ("logs", ".dsec", ".ninja_log", ".ninja_deps"):
            path = folder / litter
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        (folder / "logs").mkdir()
        figures[name] = cpu_s(tools[name], folder, env)
    return figures


def tools_for(floor: Path, *, watched: bool) -> dict[str, list[str]]:
    """Command lines; ninja only where it is installed."""
    dsec = [sys.executable, "-c", "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"]
    tools = {
        "floor": [str(floor), "graph", "logs", str(SLOTS)],
        "bare": [sys.executable, "-I", "-S", str(HERE / "bare.py"), "graph", "logs", str(SLOTS)],
        "dsec": [*dsec, "run", "plan.json", "--quiet"],
    }
    if watched:
        tools["sleeps"] = [*dsec, "run", "sleeps.json", "--quiet"]
        tools["limits"] = [*dsec, "run", "limits.json", "--quiet"]
        tools["watched"] = [*tools["limits"], "--metrics-file", "metrics.prom"]
        return tools
    if shutil.which("ninja"):
        tools["ninja"] = ["ninja", f"-j{SLOTS}", "--quiet"]
    return tools


def measure(name: str, graph: Graph, floor: Path, *, rounds: int, place: str, watched: bool) -> bool:
    """Print a graph's figures; whether the targets are met."""
    with tempfile.TemporaryDirectory(prefix="dsec-bench-", dir=place) as made:
        folder = Path(made)
        write_inputs(graph, folder)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
        tools = tools_for(floor, watched=watched)
        figures = [run_round(tools, folder, env, turn) for turn in range(rounds)]
    needs = sum(map(len, graph))
    print(f"{name}: {len(graph)} Steps, {needs} needs, {SLOTS} at a time, {rounds} rounds")
    for tool in tools:
        middle = statistics.median(one[tool] for one in figures)
        print(f"  {tool:6} {middle / len(graph) * 1e3:7.3f} ms CPU per Step ({middle:.2f} s in all)")
    met = True
    pairs = [("bare", "floor"), ("dsec", "bare"), ("dsec", "floor")]
    if watched:
        pairs += [("sleeps", "dsec"), ("limits", "sleeps"), ("watched", "limits"), ("watched", "floor")]
    for one, other in pairs:
        ratio = statistics.median(figure[one] / figure[other] for figure in figures)
        print(f"  {one} / {other}: {ratio:.3f}")
    if watched:
        return statistics.median(one["watched"] / one["floor"] for one in figures) <= WATCHED
    for other, target in TARGETS.items():
        if other in tools:
            ratio = statistics.median(one["dsec"] / one[other] for one in figures)
            met = met and ratio <= target
            print(
                f"  dsec / {other}: {ratio:.3f} (target <= {target}{'' if ratio <= target else ', MISSED'})"
            )
    return met


def build_floor(folder: Path) -> Path:
    """Compile the C floor."""
    binary = folder / "floor"
    subprocess.run(["cc", "-O2", "-Wall", "-o", str(binary), str(HERE / "floor.c")], check=True)
    return binary


def main() -> int:
    """Measure; exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--graph", choices=("chain", "layered"))
    parser.add_argument("--dir", default="/var/tmp", help="a folder on a disk")
    parser.add_argument("--watched", action="store_true", help="with limits, audit and metrics instead")
    options = parser.parse_args()
    # An installed package has its byte code; a checkout with PYTHONDONTWRITEBYTECODE set may not.
    for package in (ROOT / "dsec_cli", ROOT / "runtime" / "dsec"):
        compileall.compile_dir(package, quiet=2)
    graphs = {"chain": chain(), "layered": layered()}
    met = True
    with tempfile.TemporaryDirectory(prefix="dsec-floor-") as place:
        floor = build_floor(Path(place))
        for name, graph in graphs.items():
            if options.graph in (None, name):
                how = {"rounds": options.rounds, "place": options.dir, "watched": options.watched}
                met = measure(name, graph, floor, **how) and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
