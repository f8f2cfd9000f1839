"""Shared objects that the Python of the Steps, and processes of the run, have mapped: path and build id."""

from __future__ import annotations

import os
import struct

from dsec.errors import DSecError
from dsec_cli.snapshot.interpreter import python_of
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.section import Captured, Difference, Part, absent, judged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.hashes import Hashes
    from dsec_cli.snapshot.section import Pair, Scene

_NOTE = 4
_BUILD_ID = 3
MOST_NOTE = 64 << 10
MOST_TABLE = 1 << 20


def capture(scene: Scene) -> Captured:
    """List what is mapped; what a Step loads later is seen by the snapshots during a run only."""
    python = python_of(scene)
    paths = set() if isinstance(python, str) else set(python["libraries"])
    paths |= _of_run(scene)
    found = {
        path: _named(path, scene.hashes) for path in sorted(paths) if path.endswith(".so") or ".so." in path
    }
    if not found:
        return absent(python if isinstance(python, str) else "nothing is mapped")
    missing = sum(one is None for one in found.values())
    return judged([f"{missing} could not be read"] if missing else [], {"objects": found})


def _of_run(scene: Scene) -> set[str]:
    """What processes of the run have mapped, now or when an earlier snapshot of the run was taken."""
    seen: set[str] = scene.memory.setdefault("mapped", set())  # type: ignore[assignment]  # as it is made here
    for pid in scene.pids:
        seen |= _mapped(pid)
    return seen


def _named(path: str, hashes: Hashes) -> str | None:
    """The build id, or the hash of a file that has none; None: it cannot be read."""
    found = build_id(path)
    if found is not None:
        return found
    try:
        return hashes.of(path)[:39]
    except DSecError:
        return None


def _mapped(pid: int) -> set[str]:
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            lines = file.read(32 << 20).splitlines()
    except OSError:
        return set()
    fields = (line.split(None, 5) for line in lines if b"r-x" in line and b"/" in line)
    return {os.fsdecode(one[5].rstrip()).removesuffix(" (deleted)") for one in fields if len(one) == 6}


def build_id(path: str) -> str | None:
    """The build id of an ELF file in hex digits; None: it has none, or cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
                return None
            offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            table = file.read(min(size * count, MOST_TABLE))
            for at in range(0, len(table) - 55, size or 56):
                if struct.unpack_from("<I", table, at)[0] == _NOTE:
                    start, length = (
                        struct.unpack_from("<Q", table, at + 8)[0],
                        struct.unpack_from("<Q", table, at + 32)[0],
                    )
                    file.seek(start)
                    found = _from_notes(file.read(min(length, MOST_NOTE)))
                    if found:
                        return found
    except (OSError, struct.error, OverflowError, ValueError):
        return None
    return None


def _from_notes(notes: bytes) -> str:
    at = 0
    while at + 12 <= len(notes):
        names, size, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + (names + 3) // 4 * 4
        if kind == _BUILD_ID and notes[at + 12 : at + 16] == b"GNU\0":
            return notes[start : start + size].hex()
        at = start + (size + 3) // 4 * 4
    return ""


def compare(pair: Pair) -> Iterator[Difference]:
    """By the name of the file: environments lie in other folders."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    before, after = (_by_name(side.data["objects"]) for side in (pair.before, pair.after))
    for name in sorted({*before} & {*after}):
        one, two = before[name], after[name]
        if one != two and None not in (one, two):
            weight = 75 if name.startswith(("libcu", "libnccl", "libnv", "libopenblas", "libmkl")) else 35
            cause = "another build of a library that computes" if weight == 75 else ""
            yield Difference(
                "libraries",
                "changed",
                name,
                f"build {str(one)[:12]}",
                f"build {str(two)[:12]}",
                weight,
                cause,
            )


def _by_name(objects: dict[str, str | None]) -> dict[str, str | None]:
    return {os.path.basename(path): one for path, one in objects.items()}


PART = Part("libraries", "shared libraries", 75, capture, compare)
