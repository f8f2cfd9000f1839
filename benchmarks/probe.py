"""What the probe (dsec run --probe) costs per call that it stands before, and per start of a Python.

A small C program makes each call many times, alternately with and without the library; medians of the
rounds, in nanoseconds of CPU time per call.

    python benchmarks/probe.py [--rounds 7]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "runtime")]

SOURCE = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
                          return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv) {
    char block[4096] = {0};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int null = open("/dev/null", O_WRONLY), file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    double t = cpu();
    for (int i = 0; i < 1000000; i++) if (write(null, block, 64) != 64) return 1;
    printf("%f ", (cpu() - t) / 1000000); t = cpu();
    for (int i = 0; i < 5000; i++) if (pwrite(file, block, 4096, 0) != 4096) return 1;
    printf("%f ", (cpu() - t) / 5000); t = cpu();
    for (int i = 0; i < 5000000; i++) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); }
    printf("%f ", (cpu() - t) / 5000000); t = cpu();
    for (int i = 0; i < 100; i++) { pwrite(file, block, 4096, 0); fsync(file); }
    printf("%f\n", (cpu() - t) / 100);
    return argc < 2;
}
"""
NAMES = ("write of 64 B to /dev/null", "pwrite of 4 KiB to a file", "mutex lock + unlock", "pwrite + fsync")


def main() -> int:
    """Measure, alternately."""
    from dsec.probes import library

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    built = library(os.environ)
    if not built.path:
        print(f"no probe here: {built.why}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.c").write_text(SOURCE)
        subprocess.run(["cc", "-O2", "-o", f"{folder}/m", f"{folder}/m.c", "-lpthread"], check=True)
        Path(folder, "out").mkdir()
        with_it = {**os.environ, "LD_PRELOAD": built.path, "DSEC_PROBE": f"{folder}/out"}
        rows: dict[bool, list[list[float]]] = {False: [], True: []}
        starts: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(asked.rounds):
            for probed, env in ((False, dict(os.environ)), (True, with_it)):
                done = subprocess.run(
                    [f"{folder}/m", f"{folder}/file"], env=env, check=True, capture_output=True, text=True
                )
                rows[probed].append([float(word) for word in done.stdout.split()])
                before = os.times()
                subprocess.run([sys.executable, "-c", "import json"], env=env, check=True)
                after = os.times()
                starts[probed].append(
                    after.children_user
                    + after.children_system
                    - before.children_user
                    - before.children_system
                )
    print(f"{'ns of CPU per call':32}{'without':>10}{'with':>10}{'more':>10}")
    for at, name in enumerate(NAMES):
        off, on = (statistics.median(row[at] for row in rows[probed]) for probed in (False, True))
        print(f"{name:32}{off:10.0f}{on:10.0f}{on - off:10.0f}")
    off, on = (statistics.median(starts[probed]) * 1000 for probed in (False, True))
    print(f"start of a Python: {off:.0f} ms of CPU without, {on:.0f} with")
    return 0


if __name__ == "__main__":
    sys.exit(main())
