"""Why an attempt ended: the closed list of causes, and each in words."""

from __future__ import annotations

import signal as signals

CAUSES = (
    "ok",
    "exit",
    "signal",
    "timeout",
    "interrupted",
    "not-found",
    "not-executable",
    "cannot-start",
    "missing-output",
    "raised",
    "bad-result",
    "worker-lost",
)

RETRIABLE = frozenset(CAUSES) - {"ok", "interrupted"}


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; the number itself where the system has no name for it."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def words(cause: str, *, code: int | None, signal: int | None, detail: str) -> str:
    """One clause that says why an attempt ended: `exited with code 3`."""
    plain = {
        "ok": "succeeded",
        "exit": f"exited with code {code}",
        "signal": f"was killed by {signal_name(signal or 0)} (not by dsec)",
        "timeout": "ran past its timeout and was stopped",
        "interrupted": "was stopped because the run was ending",
        "not-found": "could not start: the program was not found",
        "not-executable": "could not start: the file is not executable",
        "cannot-start": "could not start",
        "missing-output": "exited 0 but did not write a declared output",
        "raised": "raised an exception",
        "bad-result": "returned a value that cannot be kept",
        "worker-lost": "lost its worker",
    }[cause]
    return f"{plain}: {detail}" if detail else plain
