"""What a journal of a million records costs: writing, reading, resuming, packing; time and memory.

A run of Steps is made up record by record through the real encoder and the real journal (two
records per attempt, as the executor writes them). Each figure is of a fresh process, in CPU seconds;
memory is the peak of that process.

    python benchmarks/journal.py [--records 1000000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "runtime")]

STEPS = 100


def write(path: str, records: int) -> None:
    """Write the journal as an executor would, synced as its rules ask."""
    from dsec import journal as journals
    from dsec.events import Exit, RunStart, Spawn, encode

    journals.PACK_BYTES = 1 << 62  # packing is measured by itself
    journal = journals.Journal(path, clock=time.monotonic)
    journal.append(journals.header_payload(journals.Header("j", "hash", "/work", 1, "boot")))
    journal.append(encode(RunStart(0, 1, 1, 1, "boot", 1, False)))
    for number in range(records // 2):
        step, iteration = f"S{number % STEPS}", number // STEPS
        at = number * 900
        log = f"logs/{step}@{iteration}.1.log"
        journal.append(encode(Spawn(at, step, iteration, 1, 4000 + number, 77, 78, (), log, "")))
        journal.append(
            encode(Exit(at + 800, step, iteration, 1, "ok", 0, None, "", 800, 650, 9000, None, None, None))
        )
        journal.settle()
    journal.close()


def read(path: str) -> None:
    """Read and fold it, as status, report and resume do."""
    from dsec.resume import read_run
    from dsec.rundir import RunDir

    told = read_run(RunDir("j", os.path.dirname(path)))
    print(len(told.state.finished))


def check(path: str) -> None:
    """Take it apart without decoding anything."""
    from dsec.journal import walk

    with open(path, "rb") as file:
        print(walk(file.read(), len, name=path))


def pack(path: str) -> None:
    """Pack it in place."""
    from dsec import packing

    packed = packing.pack(path)
    assert packed is not None
    print(packed[1])


def measured(what: str, path: str, records: int) -> tuple[float, float]:
    """CPU seconds and peak memory in MiB of a process that does one thing."""
    code = (
        f"import sys, resource, json; sys.path[:0] = {[str(ROOT / 'benchmarks'), str(ROOT / 'runtime')]!r}\n"
        f"import journal\n"
        f"getattr(journal, {what!r})({path!r}{f', {records}' if what == 'write' else ''})\n"
        "usage = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(json.dumps([usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    cpu, peak = json.loads(done.stdout.splitlines()[-1])
    return cpu, peak


def main() -> int:
    """Measure all, in order."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "journal")
        print(f"{'':34}{'CPU s':>8}{'us/record':>11}{'peak MiB':>10}{'file MiB':>10}")
        for what, label in (
            ("write", "write, synced each 0.25 s"),
            ("check", "check every record"),
            ("read", "read and fold (status, resume)"),
            ("pack", "pack"),
            ("read", "read and fold, packed"),
        ):
            cpu, peak = measured(what, path, asked.records)
            size = os.path.getsize(path) / (1 << 20)
            print(f"{label:34}{cpu:8.1f}{cpu * 1e6 / asked.records:11.1f}{peak:10.0f}{size:10.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
