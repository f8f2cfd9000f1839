"""What a call to a resident worker costs, through the real executor.

A plan with one `call` Step of an empty function runs for many iterations; every call is granted,
journalled (two records), sent, answered and folded as in any run. Two figures, read from the journal:

- call: from just before the call is framed and sent until its answer is taken, the time that the
  journal and the report state for it;
- cycle: from one call's end to the next one's, so all that DSec adds between two calls that wait for
  each other: both journal records, scheduling, leases, both ways.

    python benchmarks/worker_call.py [--calls 5000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import compileall
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from executor import ROOT, plan_of  # a script beside this one

from dsec.plan import Command, Iterations
from dsec.planfile import save_plan, seal

TARGET_US = 100
WARM_UP = 200
"""Calls left out: the interpreter of the worker is started by the first."""


def measure(calls: int, folder: Path) -> tuple[list[float], list[float]]:
    """Microseconds per call, and from each call's end to the next one's; warm, sorted."""
    (folder / "empty.py").write_text("def nothing(ctx):\n    return None\n")
    plan = plan_of([[]])
    command = Command((), "", "empty:nothing", "{}", "w")
    steps = (plan.steps[0]._replace(command=command),)
    plan = plan._replace(steps=steps, iterations=Iterations(calls + WARM_UP, 0, 2), hash="")
    save_plan(str(folder / "plan.json"), seal(plan))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
    code = "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"
    command_line = [sys.executable, "-c", code, "run", "plan.json", "--quiet", "--job-id", "calls"]
    subprocess.run(command_line, cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)
    lines = (folder / ".dsec" / "runs" / "calls" / "journal").read_bytes().splitlines()
    records = [json.loads(line[18:]) for line in lines if b'"event":"exit"' in line][WARM_UP:]
    gaps = [after["at_us"] - before["at_us"] for before, after in itertools.pairwise(records)]
    return sorted(record["wall_us"] for record in records), sorted(gaps)


def main() -> int:
    """Measure; exit 1 when the best round misses the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", default="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    options = parser.parse_args()
    for package in (ROOT / "dsec_cli", ROOT / "runtime" / "dsec"):
        compileall.compile_dir(package, quiet=2)
    medians: dict[str, list[float]] = {"call": [], "cycle": []}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="dsec-call-", dir=options.dir) as place:
            figures = dict(zip(medians, measure(options.calls, Path(place)), strict=True))
        for name, times in figures.items():
            medians[name].append(statistics.median(times))
        print(
            "  "
            + "; ".join(
                f"{name} p50 {statistics.median(times):.0f} us, p90 {times[len(times) * 9 // 10]:.0f} us,"
                f" p99 {times[len(times) * 99 // 100]:.0f} us"
                for name, times in figures.items()
            )
        )
    middle, cycle = (statistics.median(times) for times in medians.values())
    missed = "" if middle < TARGET_US else ", MISSED"
    print(
        f"resident call: p50 {middle:.0f} us (target < {TARGET_US} us{missed}),"
        f" cycle p50 {cycle:.0f} us; medians of {options.rounds} rounds of {options.calls} calls"
    )
    return 0 if middle < TARGET_US else 1


if __name__ == "__main__":
    sys.exit(main())
