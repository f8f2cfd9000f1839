"""Saving and reading back a large state: shards against one file, and how long other threads stand still.

Each way saves the same arrays and syncs them, in turn within each round, in a fresh process, so what
the machine does besides hits all alike. "stall" is the longest time that a thread that wants to run
every millisecond had to wait: what a save costs a data loader in the same process.

    python benchmarks/save.py [--mib 512] [--rounds 5] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "runtime")]
WAYS = ("pickle", "np.save", "sharded 1", "sharded 4")


def synced(path: str, write) -> None:  # type: ignore[no-untyped-def]
    """Write a file by `write` and put it on the disk."""
    with open(path, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


def save(way: str, state, folder: str) -> None:  # type: ignore[no-untyped-def]
    """Save the state in one of WAYS."""
    import pickle

    import numpy as np

    from dsec.sdk import save_sharded

    if way == "pickle":
        synced(f"{folder}/state.pickle", lambda file: pickle.dump(state, file))
    elif way == "np.save":
        for name, array in state.items():
            synced(f"{folder}/{name}.npy", lambda file, array=array: np.save(file, array))
    else:
        save_sharded(f"{folder}/saves", state, shards=int(way.split()[1]))


def load(way: str, state, folder: str) -> None:  # type: ignore[no-untyped-def]
    """Read it back, as far as it must be to be used."""
    import pickle

    import numpy as np

    from dsec.sdk import load_sharded

    if way == "pickle":
        with open(f"{folder}/state.pickle", "rb") as file:
            pickle.load(file)
    elif way == "np.save":
        for name in state:
            np.load(f"{folder}/{name}.npy")
    else:
        load_sharded(f"{folder}/saves")


def forget(folder: str) -> None:
    """Take what was saved out of the page cache: a resumed job reads from the disk."""
    for place, _, names in os.walk(folder):
        for name in names:
            handle = os.open(os.path.join(place, name), os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


class Ticker(threading.Thread):
    """Wants to run every millisecond; remembers its longest wait."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.longest_s = 0.0
        self.going = True

    def run(self) -> None:
        """Tick until told to stop."""
        before = time.perf_counter()
        while self.going:
            time.sleep(0.001)
            now = time.perf_counter()
            self.longest_s = max(self.longest_s, now - before)
            before = now


def one(way: str, mib: int, folder: str) -> None:
    """Save and read back once; prints figures as JSON."""
    import numpy as np

    rng = np.random.default_rng(0)
    state = {f"layer{at}": rng.random((mib << 20) // 8 // 8) for at in range(8)}
    ticker = Ticker()
    ticker.start()
    time.sleep(0.05)
    ticker.longest_s = 0.0
    cpu, began = time.process_time(), time.perf_counter()
    save(way, state, folder)
    wall, stall, cpu = time.perf_counter() - began, ticker.longest_s, time.process_time() - cpu
    forget(folder)
    began = time.perf_counter()
    load(way, state, folder)
    read = time.perf_counter() - began
    ticker.going = False
    print(json.dumps({"save s": wall, "stall ms": stall * 1000, "CPU s": cpu, "load s": read}))


def main() -> int:
    """Measure all ways, interleaved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--one", default=None, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        one(asked.one, asked.mib, asked.folder)
        return 0
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(asked.rounds):
        for way in WAYS:
            folder = tempfile.mkdtemp(dir=asked.folder)
            words = [sys.executable, __file__, "--one", way, "--mib", str(asked.mib), "--folder", folder]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            found[way].append(json.loads(done.stdout))
            shutil.rmtree(folder)
    names = list(found["pickle"][0])
    print(f"{asked.mib} MiB, {asked.rounds} rounds, medians; the ratio is to pickle")
    print(f"{'':12}" + "".join(f"{name:>16}" for name in names))
    for way, rows in found.items():
        cells = []
        for name in names:
            mine = statistics.median(row[name] for row in rows)
            base = statistics.median(row[name] for row in found["pickle"])
            cells.append(f"{mine:9.2f} {mine / base:5.2f}x")
        print(f"{way:12}" + "".join(f"{cell:>16}" for cell in cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
