"""Reading what Steps tell of themselves: `RUN_DIR/metrics/STEP@ITERATION.ATTEMPT.jsonl`."""

from __future__ import annotations

import json
import os
import stat

from dsec.record import Record

_MOST_BYTES = 4 << 20
"""How much is read at a time."""
_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Told(Record):
    """One sign of life."""

    mono_us: int | None
    """When, on the machine's monotonic clock; None: its writer (no SDK) did not say."""
    wall_ms: int | None
    pid: int | None
    rank: int | None
    metrics: dict[str, float]
    """Empty: a heartbeat."""


def name(step: str, *, iteration: int, attempt: int) -> str:
    """The file of an attempt, relative to the run's folder."""
    return f"metrics/{step}@{iteration}.{attempt}.jsonl"


def read_told(path: str, offset: int = 0) -> tuple[list[Told], int]:
    """What was told from `offset` on, and where to read on; a line not yet whole is left for later.

    Lines that are no JSON object are passed over: a Step may write what it likes. A file that became
    shorter is read from its start.
    """
    try:
        # A Step may put anything there: a pipe must not hold the reader up.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return [], offset
    try:
        there = os.fstat(fd)
        if not stat.S_ISREG(there.st_mode):
            return [], offset
        offset = 0 if there.st_size < offset else offset
        data = os.pread(fd, _MOST_BYTES, offset)
    except OSError:
        return [], offset
    finally:
        os.close(fd)
    end = data.rfind(b"\n") + 1
    if not end and len(data) == _MOST_BYTES:
        end = len(data)
    found = [parse_told(line) for line in data[:end].splitlines()]
    return [one for one in found if one is not None], offset + end


def parse_told(line: bytes) -> Told | None:
    """One line; None: it is none of ours. `{"loss": 0.3}` alone will do, too."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    if type(data.get("mono_us")) is not int:
        return Told(None, None, None, None, _numbers(data))
    given = data.get("metrics")
    return Told(
        data["mono_us"],
        _whole(data.get("wall_ms")),
        _whole(data.get("pid")),
        _whole(data.get("rank")),
        _numbers(given) if isinstance(given, dict) else {},
    )


def _whole(value: object) -> int | None:
    return value if type(value) is int else None


def _numbers(data: dict[str, object]) -> dict[str, float]:
    return {name: number for name, value in data.items() if (number := _number(value)) is not None}


def _number(value: object) -> float | None:
    if isinstance(value, str):
        return _NUMBERS.get(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value
