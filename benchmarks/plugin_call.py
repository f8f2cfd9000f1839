"""Round trip of a call of a plugin in its sandbox: 64 bytes in, some 12 out.

Builds the C example, scans it, starts it as `dsec plugin call` does, and times calls one after another;
beside it a bare echo through a socket pair between two Python processes, which no line of this kind can
beat. Goal: at most 100 us at the median.

    python benchmarks/plugin_call.py [--calls 20000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "runtime")]
GOAL_US = 100.0
INPUT = b'{"text": "so much depends upon a red wheel barrow and on rain"}'


def terms(folder: Path):  # type: ignore[no-untyped-def]
    """The example, and what its scan gives it."""
    from dsec.plugins.process import Terms
    from dsec_cli.plugins.scanning import Options, scan

    shutil.copytree(ROOT / "examples" / "plugins", folder, dirs_exist_ok=True)
    example = folder / "word-count-c"
    subprocess.run(["make", "-s", "-B", "-C", str(example)], check=True)
    path = str(example / "entrypoint.so")
    found = scan(path, Options("/", "", "", "", 64 << 20))
    return Terms((Path(path).read_bytes(),), tuple(one.number for one in found.calls or ()))


def timed(call, count: int) -> list[float]:  # type: ignore[no-untyped-def]
    """Microseconds of each call."""
    clock = time.perf_counter_ns
    found = []
    for _ in range(count):
        begun = clock()
        call(INPUT)
        found.append((clock() - begun) / 1000)
    return found


def echo(count: int) -> list[float]:
    """The same through a socket pair and back."""
    mine, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        mine.close()
        while data := theirs.recv(4096):
            theirs.sendall(data)
        os._exit(0)
    theirs.close()

    def call(data: bytes) -> None:
        mine.sendall(data)
        mine.recv(4096)

    found = timed(call, count)
    mine.close()
    os.waitpid(child, 0)
    return found


def main() -> int:
    """Measure, print, and say whether the goal is met."""
    from dsec.plugins.process import PluginProcess

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rows: dict[str, list[list[float]]] = {"plugin": [], "echo": []}
    with tempfile.TemporaryDirectory() as folder:
        held = terms(Path(folder))
        for _ in range(args.rounds):
            with PluginProcess(held) as plugin:
                timed(plugin.call, 200)
                rows["plugin"].append(timed(plugin.call, args.calls))
            rows["echo"].append(echo(args.calls))
    middle = {}
    for name, rounds in rows.items():
        p50 = statistics.median(statistics.median(one) for one in rounds)
        p99 = statistics.median(sorted(one)[len(one) * 99 // 100] for one in rounds)
        middle[name] = p50
        print(f"{name:7} p50 {p50:6.1f} us  p99 {p99:6.1f} us")
    print(f"plugin / echo: {middle['plugin'] / middle['echo']:.2f}")
    met = middle["plugin"] <= GOAL_US
    print(f"goal of {GOAL_US:.0f} us at the median: {'met' if met else 'missed'}")
    return not met


if __name__ == "__main__":
    sys.exit(main())
