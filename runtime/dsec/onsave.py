"""A Step's side of making room: it says that it can save its state, and does so when it is asked.

`on_save(callback)` writes a line `PID TICKS ready` to a file beside the attempt's metrics. When the
runtime needs what the Step holds it sends SIGUSR1 to each process that did so, and to no other. The
callback is called in the main thread between two instructions; once it returned the line
`PID TICKS saved` is written and the process exits with code 75. The instance starts again later,
with a higher `attempt`. A process that does not answer within its grace is ended as it is.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SIGNAL = signal.SIGUSR1
"""Sent only to processes that asked for it."""
LEFT = 75
"""Exit code after saving: try again later (EX_TEMPFAIL)."""


def path_of(metrics: str) -> str:
    """The file in which processes say that they can save, by the one of the attempt's metrics."""
    return f"{metrics.removesuffix('.jsonl')}.saves"


def on_save(callback: Callable[[], object]) -> bool:
    """Call this when the Step has to make room, then leave; False: no runtime is there to ask.

    The main thread has to call it. A later call replaces the callback.
    """
    metrics = os.environ.get("DSEC_METRICS", "")
    if not metrics.endswith(".jsonl"):
        return False
    path = path_of(metrics)

    def save(number: int, frame: object) -> None:  # noqa: ARG001  # as handlers are called
        signal.signal(SIGNAL, signal.SIG_IGN)  # asked once is enough
        callback()
        note(path, "saved")
        raise SystemExit(LEFT)

    signal.signal(SIGNAL, save)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    note(path, "ready")
    return True


def note(path: str, word: str) -> None:
    """Add what this process says of itself."""
    pid = os.getpid()
    with open(f"/proc/{pid}/stat", "rb") as file:
        text = file.read()
    ticks = int(text[text.rfind(b")") + 2 :].split()[19])
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, f"{pid} {ticks} {word}\n".encode())
    finally:
        os.close(fd)


def read(path: str) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Processes (pid, start time) that can save, and those that have."""
    ready: set[tuple[int, int]] = set()
    saved: set[tuple[int, int]] = set()
    try:
        with open(path, "rb") as file:
            lines = file.read(1 << 20).splitlines()
    except OSError:
        return ready, saved
    for line in lines:
        words = line.split()
        if len(words) == 3 and words[0].isdigit() and words[1].isdigit():
            (saved if words[2] == b"saved" else ready).add((int(words[0]), int(words[1])))
    return ready, saved
