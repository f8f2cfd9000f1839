"""What the broker costs a run: CPU per Step and time to the first Step on 8 simulated GPUs.

`python benchmarks/sharing.py [--rounds 7] [--steps 300]`: Steps of /bin/true that take a GPU each, in turns

    off      with DSEC_BROKER=off: the run shares with nobody
    alone    the only run, which starts the broker
    two-off  two such runs at a time, of half as many Steps each, which do not know of each other
    two      two such runs that share

CPU is that of the runs and all their processes; that of the broker, which outlives them, is shown by itself.
The time to the first Step counts from the start of the command.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from executor import plan_of

from dsec.broker import place
from dsec.plan import Demand, Plan
from dsec.planfile import save_plan, seal
from dsec.simgpu.building import library
from dsec.simgpu.scenario import box, of_box

ROOT = Path(__file__).resolve().parents[1]
DSEC = "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"
GPUS = 8


def on_gpus(steps: int) -> Plan:
    """Each Step takes a GPU, and needs the one that had that GPU's turn before."""
    plan = plan_of([[at - GPUS] if at >= GPUS else [] for at in range(steps)])
    one_gpu = Demand(0, 0, 1, 0, (), 0, 0)
    return seal(plan._replace(steps=tuple(step._replace(demand=one_gpu) for step in plan.steps)))


class Bench:
    """A folder in memory, simulated GPUs, and plans to run."""

    def __init__(self, root: Path, steps: int) -> None:
        self.root, self.steps = root, steps
        (root / "rules").write_text(of_box(box(f"{GPUS}xh100")))
        (root / "run").mkdir(mode=0o700)
        self.env = {
            **os.environ,
            "LD_LIBRARY_PATH": library(str(root / "cache"), os.environ),
            "SIM_GPU_SCENARIO": str(root / "rules"),
            "XDG_RUNTIME_DIR": str(root / "run"),
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime"))),
        }
        self.broker = place.named({name.encode(): value.encode() for name, value in self.env.items()})

    def measure(self, runs: int, *, share: bool) -> tuple[float, float, float]:
        """Milliseconds of CPU per Step, to the first Step, and of the broker's CPU per Step."""
        self.end_broker()
        env = self.env if share else {**self.env, "DSEC_BROKER": "off"}
        folders = [self.root / f"job{at}" for at in range(runs)]
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            save_plan(str(folder / "plan.json"), on_gpus(self.steps // runs))
        command = [sys.executable, "-c", DSEC, "run", "plan.json", "--job-id", "j", "--quiet"]
        began = time.time()
        processes = [
            subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL) for folder in folders
        ]
        cpu_s = 0.0
        for process in processes:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if status:
                raise SystemExit(f"a run ended with {process.returncode}")
            cpu_s += usage.ru_utime + usage.ru_stime
        own_s = _cpu_s(place.holder(self.broker)) if share else 0.0
        first_s = min(_first_s(folder) for folder in folders) - began
        return cpu_s * 1000 / self.steps, first_s * 1000, own_s * 1000 / self.steps

    def end_broker(self) -> None:
        """So that each round starts its own."""
        pid = place.holder(self.broker)
        while pid and os.path.exists(f"/proc/{pid}"):
            os.kill(pid, signal.SIGTERM)
            time.sleep(0.05)
        shutil.rmtree(self.broker, ignore_errors=True)


def _cpu_s(pid: int) -> float:
    text = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(text[11]) + int(text[12])) / os.sysconf("SC_CLK_TCK")


def _first_s(folder: Path) -> float:
    """When the first Step was started, on the calendar."""
    lines = (folder / ".dsec/runs/j/journal").read_bytes().splitlines()[1:]
    events = [json.loads(line[18:]) for line in lines]
    start = next(one for one in events if one["event"] == "run-start")
    spawn = next(one for one in events if one["event"] == "spawn")
    return float(start["wall_ms"] / 1e3 + (spawn["at_us"] - start["at_us"]) / 1e6)


def main() -> int:
    """Print medians, and ratios to the same without a broker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    kinds = {"off": (1, False), "alone": (1, True), "two-off": (2, False), "two": (2, True)}
    found: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        bench = Bench(Path(folder), args.steps)
        for at in range(args.rounds + 1):
            for kind, (runs, share) in kinds.items():
                measured = bench.measure(runs, share=share)
                if at:  # the first round fills caches
                    found[kind].append(measured)
        bench.end_broker()
    for kind, rounds in found.items():
        cpu, first, own = (statistics.median(column) for column in zip(*rounds, strict=True))
        base = found["two-off" if kind.startswith("two") else "off"]
        ratio = statistics.median(one[0] / off[0] for one, off in zip(rounds, base, strict=True))
        text = f"{cpu:.3f} ms CPU per Step ({ratio:.2f}x), {first:.0f} ms to the first, broker {own:.3f} ms"
        sys.stdout.write(f"{kind:8}{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
