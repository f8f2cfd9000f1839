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
    "no-folder",
    "cannot-start",
    "missing-output",
    "raised",
    "bad-result",
    "worker-lost",
)

RETRIABLE = frozenset(CAUSES) - {"ok", "interrupted", "not-found", "not-executable", "no-folder"}
"""What another attempt may mend; a file that is not there is not there the next time either."""


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; the number itself where the system has no name for it."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def words(
    cause: str, *, code: int | None, signal: int | None, detail: str, timeout_ms: int | None = None
) -> str:
    """One clause that says why an attempt ended: `exited with code 3`."""
    limit = f" of {length(timeout_ms)}" if timeout_ms else ""
    plain = {
        "ok": "succeeded",
        "exit": f"exited with code {code}",
        "signal": f"was killed by {signal_name(signal or 0)} (not by dsec)",
        "timeout": f"ran past its timeout{limit} and was stopped",
        "interrupted": "was stopped because the run was ending",
        "not-found": "could not start: the program was not found",
        "not-executable": "could not start: the file is not executable",
        "no-folder": "could not start: its folder does not exist",
        "cannot-start": "could not start",
        "missing-output": "exited 0 but did not write a declared output",
        "raised": "raised an exception",
        "bad-result": "returned a value that cannot be kept",
        "worker-lost": "lost its worker",
    }[cause]
    if cause == "not-executable" and detail and not detail.endswith("/"):
        import shlex

        detail += f" (mend it with: chmod +x {shlex.quote(detail)})"
    return f"{plain}: {detail}" if detail else plain


def length(ms: int) -> str:
    """A length of time as a contract states it: `0.4s`, `3s`, `10m`, `1h30m`."""
    if ms % 60_000 or not ms:
        return f"{ms / 1000:g}s"
    hours, minutes = divmod(ms // 60_000, 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
