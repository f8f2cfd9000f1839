"""Comparing two environments of 2,000 packages: the fingerprint's form against JSON.

Both files are opened and read each time. Best and median of many rounds, in turn; wall time, as there is no
other process. With --check, leaves with 1 when a target is missed.

    python benchmarks/fingerprint.py [--packages 2000] [--changed 16] [--rounds 300] [--check]
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "runtime")]

from dsec_cli.snapshot.package.fingerprint import HEAD_BYTES, Fingerprint, differences, encoded, root_of  # noqa: E402


def environment(count: int, *, changed: int = 0) -> list[tuple[str, str, dict[str, object]]]:
    """Entries as a snapshot has them; the first ones of `changed` have another version."""
    draw = random.Random(1)
    return [
        (
            "package",
            f"package-{at}",
            {
                "version": "9.9" if at < changed else f"1.{at}",
                "record": draw.randbytes(16).hex(),
                "installer": "pip",
                "artifact": None,
                "origin": "index",
                "source": None,
            },
        )
        for at in range(count)
    ]


def mapped(path: Path) -> Fingerprint:
    """A fingerprint of which only what is needed is read."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return Fingerprint(mmap.mmap(fd, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(fd)


def by_fingerprint(one: Path, two: Path) -> int:
    """Number of differences, each with what it was and is."""
    return len(list(differences(mapped(one), mapped(two))))


def equal(one: Path, two: Path) -> int:
    """0 for equal environments: only the beginnings of the files are read."""
    roots = []
    for path in (one, two):
        fd = os.open(path, os.O_RDONLY)
        roots.append(root_of(os.pread(fd, HEAD_BYTES, 0)))
        os.close(fd)
    return int(roots[0] != roots[1])


def by_json(one: Path, two: Path) -> int:
    """The same of JSON documents."""
    before, after = ({(k, n): facts for k, n, facts in json.loads(path.read_bytes())} for path in (one, two))
    return sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--packages", type=int, default=2000)
    parser.add_argument("--changed", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        places = {}
        for name, changed in (("one", 0), ("same", 0), ("other", options.changed)):
            items = environment(options.packages, changed=changed)
            places[name] = Path(folder, name)
            places[name].write_bytes(encoded(items))
            Path(folder, f"{name}.json").write_text(json.dumps(items))
        json_places = {name: Path(f"{path}.json") for name, path in places.items()}
        cases: dict[str, Callable[[], int]] = {
            "fingerprint, equal": lambda: equal(places["one"], places["same"]),
            "fingerprint, changed": lambda: by_fingerprint(places["one"], places["other"]),
            "JSON, changed": lambda: by_json(json_places["one"], json_places["other"]),
        }
        assert cases["fingerprint, changed"]() == cases["JSON, changed"]() == options.changed
        took: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(options.rounds):
            for name, case in cases.items():
                began = time.perf_counter()
                case()
                took[name].append(1e6 * (time.perf_counter() - began))
        print(f"{options.packages} packages, {options.changed} changed, {places['one'].stat().st_size} bytes")
    targets = {"fingerprint, equal": 50.0, "fingerprint, changed": 1000.0}
    missed = False
    for name, times in took.items():
        most = targets.get(name)
        missed |= most is not None and min(times) > most
        told = f", at most {most:g}" if most is not None else ""
        print(f"  {name:<22} best {min(times):8.0f} us, median {statistics.median(times):8.0f} us{told}")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
