"""What the snapshots that a run takes by itself cost it: when its first Step starts, its wall time, its CPU.

The same job (two Steps that count on both cores) runs with `--snapshots never`, `always` and `auto`, one
after the other in each round; the code is a folder of 300 small files. Of `always` a start and a finish
are taken within seconds, which is the worst case: runs shorter than 20 s get none by themselves.

    python benchmarks/marks.py [--rounds 5] [--seconds 4]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WHEN = ("never", "auto", "always")
CONTRACT = """\
version: "1.0.0"
name: marks
baseline: {{cpu: 2, memory: 256MiB}}
elasticity: {{gpu: {{min_count: 0, max_count: 0}}}}
fault_tolerance: {{level: pauseable, checkpoint_grace_period: 10s}}
dependencies: []
steps:
  - {{id: a, run: "{python} count.py {loops}", timeout: 600s}}
  - {{id: b, run: "{python} count.py {loops}", timeout: 600s}}
"""
COUNT = "import sys\ntotal = 0\nfor n in range(int(sys.argv[1])):\n    total += n * n % 7\n"


def made(folder: Path, seconds: float) -> None:
    """The project; the Steps' length is that of a loop timed here."""
    begun = time.process_time()
    exec(COUNT.replace("sys.argv[1]", "'2000000'"), {})
    loops = int(2_000_000 * seconds / (time.process_time() - begun))
    (folder / "dsandbox.yaml").write_text(CONTRACT.format(python=sys.executable, loops=loops))
    (folder / "count.py").write_text(COUNT)
    for number in range(300):
        (folder / f"module_{number}.py").write_text(f"VALUE = {number}\n" * 200)


def once(folder: Path, when: str, job: str) -> dict[str, float]:
    """One run: seconds."""
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "HOME": str(folder / "home")}
    code = "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"
    words = [sys.executable, "-c", code, "run", "-q", "--job-id", job, "--snapshots", when]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    subprocess.run(words, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = (folder / ".dsec" / "runs" / job / "journal").read_bytes().splitlines()
    records = [json.loads(line[18:]) for line in lines]
    first = min(one["at_us"] for one in records if one.get("event") == "spawn") / 1e6
    end = max(one["at_us"] for one in records if one.get("event") == "exit") / 1e6
    return {"first Step starts": first, "last Step ends": end, "wall": wall, "CPU": cpu}


def main() -> int:
    """Print medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    asked = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {when: [] for when in WHEN}
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        made(folder, asked.seconds)
        for number in range(asked.rounds):
            for when in WHEN:
                found[when].append(once(folder, when, f"{when}-{number}"))
    print(f"load {os.getloadavg()[0]:.1f}, {asked.rounds} rounds, medians in s")
    for name in found["never"][0]:
        row = {when: statistics.median(one[name] for one in found[when]) for when in WHEN}
        extra = "  ".join(f"{when} {value:.3f}" for when, value in row.items())
        print(f"{name:18}  {extra}  always/never {row['always'] / row['never']:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
