"""What planning costs per Step, from 12 Steps to 100,000, and where it goes.

Contracts of layers: every Step needs two of the layer before and expects a duration of its own; a
layer is half as wide as the square root of the number of Steps. `cpu`: 1 to 4 cores and 2 GiB each, on
32 cores. `gpu`: two thirds of the Steps ask for 1 or 2 GPUs, for 10, 20 or 40 GiB of each, on eight of
80 GiB. `mixed`: the same on four quick and four slow devices.

CPU seconds (user + system) of each stage in a process of its own, without garbage collection, as `dsec`
runs it. *read*: text to contract. *check*: what lint refuses. *graph*: edges and order. *measure*:
ranks, starts, slack, path. *schedule*: all orders, bounds and search. *write*: places, keys and reasons
of Steps. *seal*: canonical text and hash. *save*: to a file. *plan*: all of these but read and check,
which is what the budget is for. *peak*: MiB of the whole process. *json*: `json.dumps` of what
`json.loads` makes of the plan; *loop*: 300,000 turns of a loop in Python, in milliseconds: how quick this
machine is at the moment.

    python benchmarks/plan.py [--sizes 12 1000 100000] [--kinds cpu gpu mixed] [--rounds 1] [--check]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = (12, 100, 1_000, 10_000, 100_000)
KINDS = ("cpu", "gpu", "mixed")
GIB = 2**30
BUDGET_S = 5.0
STAGES = ("read", "check", "graph", "measure", "schedule", "write", "seal", "save")
NOT_PLANNING = ("read", "check")
HEAD = """name: layered
baseline: {cpu: 8, memory: 64Gi}
elasticity: {}
fault_tolerance: {level: pauseable}
dependencies: []
steps:
"""


def contract(steps, gpus):
    """The text of a contract."""
    chance = random.Random(steps)
    width = max(3, int(steps**0.5) // 2)
    lines = []
    for at in range(steps):
        above = at // width * width - width
        needs = sorted({above + chance.randrange(width) for _ in range(2)}) if above >= 0 else []
        takes = f"cpu: {1 + at % 4}, memory: 2Gi"
        if gpus and at % 3:
            takes += f", gpu: {{count: {1 + at // 3 % 2}, memory: {(10, 20, 40)[at // 6 % 3]}Gi}}"
        lines.append(f"  - id: S{at}\n    run: python train.py --seed {at}\n    timeout: 30m\n")
        if needs:
            lines.append(f"    needs: [{', '.join(f'S{need}' for need in needs)}]\n")
        lines.append(f"    expected_duration: {chance.randrange(1, 600)}s\n    resources: {{{takes}}}\n")
    return HEAD + "".join(lines)


def machine(kind):
    """What is planned for."""
    from dsec.inventory import Device, Inventory

    slow = 600 if kind == "mixed" else 1000
    devices = tuple(
        Device(f"GPU-{at}", at, "", "card", 80 * GIB, None, at // 4, None, (), slow if at > 3 else 1000, "ok")
        for at in range(8 if kind != "cpu" else 0)
    )
    return Inventory(f"described:{kind}", 32_000, 256 * GIB, None, None, devices, ())


class Watch:
    """CPU seconds by stage; a stage within another one is taken out of that."""

    def __init__(self):
        self.spent = {}
        self._inside = [0.0]

    def timed(self, stage, work):
        """`work`, watched."""

        def watched(*args, **named):
            before = time.process_time()
            self._inside.append(0.0)
            try:
                return work(*args, **named)
            finally:
                whole = time.process_time() - before
                self.spent[stage] = self.spent.get(stage, 0.0) + whole - self._inside.pop()
                self._inside[-1] += whole

        return watched


def loop_ms():
    """How long a loop in Python takes."""
    before, table = time.process_time(), {}
    for turn in range(300_000):
        table[turn % 1000] = (turn, table.get(turn % 777)) if turn % 3 else turn
    return (time.process_time() - before) * 1000


def child(kind, path):
    """Plan one contract, stage by stage, and tell what each took."""
    import gc

    gc.disable()
    from dsec import planfile
    from dsec.core.measures import circles
    from dsec.durations import write_durations  # noqa: F401  # imports are not what is measured
    from dsec_cli.commands import opened, pipeline
    from dsec_cli.dag import analysis
    from dsec_cli.dag import compile as compiler
    from dsec_cli.dag.cycles import order_steps
    from dsec_cli.dag.graph import step_graph
    from dsec_cli.lint.linter import lint

    lint(opened.read_source(str(ROOT / "examples" / "hello" / "dsandbox.yaml")))
    watch, loops = Watch(), [loop_ms()]
    for module, name, stage in (
        (compiler, "analyze", "measure"),
        (analysis, "best_order", "schedule"),
        (analysis, "Contest", "schedule"),
        (compiler, "seal", "seal"),
    ):
        vars(module)[name] = watch.timed(stage, vars(module)[name])
    read = watch.timed("read", opened.open_contract)(path)

    def graphed():
        graph = step_graph(read.contract)
        return graph, order_steps(graph, circles=circles)

    graph, order = watch.timed("graph", graphed)()
    errors = watch.timed("check", pipeline.errors_of)(read, graph, order)
    if errors:
        raise SystemExit(f"plan: the benchmark's own contract is refused: {errors[0].message}")
    plan = watch.timed("write", compiler.compile_plan)(
        order, read.contract, inventory=machine(kind), origin=pipeline._origin(read), learned={}
    )
    watch.timed("save", planfile.save_plan)(os.path.join(os.path.dirname(path), "plan.json"), plan)
    loops.append(loop_ms())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    document = json.loads(planfile.plan_bytes(plan))
    text = watch.timed("json", json.dumps)(document)
    found = plan.analysis.schedule
    said = {
        "loop": sum(loops) / 2,
        "order": found.order,
        "trials": found.trials,
        "over_ppm": found.over_bound_ppm,
        "bytes": len(text),
    }
    print(json.dumps({"spent": watch.spent, "peak": peak, **said}))


def measured(kind, path):
    """What a process says of one plan."""
    # A file of 100,000 Steps has two million values, eight times what is read unasked.
    env = {
        **os.environ,
        "DSEC_MAX_NODES": "4000000",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime")]),
    }
    done = subprocess.run(
        [sys.executable, __file__, "--child", kind, path],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr or done.returncode)
    return json.loads(done.stdout)


def compare(kind, sizes, rounds):
    """Print a line for each size; the seconds that planning the largest took."""
    print(
        f"\n{kind:8}" + "".join(f"{stage:>9}" for stage in (*STAGES, "plan", "json", "loop")),
        "us/Step  peak MiB",
    )
    seconds = 0.0
    for steps in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "dsandbox.yaml")
            Path(path).write_text(contract(steps, kind != "cpu"))
            runs = [measured(kind, path) for _ in range(rounds)]
        spent = {
            stage: statistics.median(run["spent"].get(stage, 0.0) for run in runs)
            for stage in (*STAGES, "json")
        }
        seconds = sum(spent[stage] for stage in STAGES if stage not in NOT_PLANNING)
        peak, loop = max(run["peak"] for run in runs), statistics.median(run["loop"] for run in runs)
        times = "".join(f"{spent[stage]:9.3f}" for stage in STAGES)
        print(
            f"{steps:<8}{times}{seconds:9.3f}{spent['json']:9.3f}{loop:9.0f}",
            f"{seconds / steps * 1e6:7.0f} {peak:9.0f}",
            f" {runs[0]['order']}, {runs[0]['trials']} trials, {runs[0]['over_ppm']} ppm over the bound",
            flush=True,
        )
    return seconds


def main():
    """Measure; with --check 1 when planning the largest contract takes more than the budget."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--check", action="store_true")
    options.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = options.parse_args()
    if args.child:
        child(*args.child)
        return 0
    print("CPU s by stage; us/Step of planning, which is all but read and check")
    most = max(compare(kind, args.sizes, args.rounds) for kind in args.kinds)
    return int(args.check and most > BUDGET_S)


if __name__ == "__main__":
    sys.exit(main())
