"""The audit file of a run: samples of devices, Steps and the machine, as JSON lines beside the journal.

It is evidence, not state: the run never reads it, a torn last line is left out, and where it cannot
be written the run goes on without it.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FORMAT = "dsec.audit/1"


def append(path: str, job: str, sample: Mapping[str, object]) -> bool:
    """Add a sample with one write; False where it cannot be written."""
    line = _line(sample)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return False
    try:
        if not os.fstat(fd).st_size:
            line = _line({"format": FORMAT, "job": job}) + line
        return os.write(fd, line) == len(line)
    except OSError:
        return False
    finally:
        os.close(fd)


def _line(data: Mapping[str, object]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def samples(path: str) -> list[dict[str, Any]]:
    """All whole samples, in order; none where there is no such file or it is of another version."""
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return []
    found = [one for line in lines if (one := _read(line)) is not None]
    if not found or found[0].get("format") != FORMAT:
        return []
    return [one for one in found[1:] if "at_us" in one]


def _read(line: bytes) -> dict[str, Any] | None:
    """What a line holds; None where it is torn."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
