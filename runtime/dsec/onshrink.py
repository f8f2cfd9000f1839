"""A Step's side of giving GPUs back while it runs: it says that it can, and does so when it is asked.

`on_shrink(callback)` writes a line `PID TICKS ready` to a file beside the attempt's metrics. When others
need some of the Step's GPUs the runtime writes the UUIDs of those that it may keep into another file, and
sends SIGUSR2 to each process that did so. The callback is called with them in the main thread between two
instructions; once it returned the line `PID TICKS saved` is written. The GPUs are given away when the
driver names no process of the Step on them any more.
"""

from __future__ import annotations

import os
import signal

from dsec.onsave import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SIGNAL = signal.SIGUSR2
"""Sent only to processes that asked for it."""


def path_of(metrics: str) -> str:
    """The file in which processes say that they can shrink, by the one of the attempt's metrics."""
    return f"{metrics.removesuffix('.jsonl')}.shrinks"


def keep_of(metrics: str) -> str:
    """The file that says which GPUs they may keep."""
    return f"{metrics.removesuffix('.jsonl')}.keeps"


def on_shrink(callback: Callable[[tuple[str, ...]], object]) -> bool:
    """Call this with the UUIDs of the GPUs that stay when others must go; False: nobody will ask.

    The main thread has to call it, of each process that uses GPUs. A later call replaces the callback.
    """
    metrics = os.environ.get("DSEC_METRICS", "")
    if not metrics.endswith(".jsonl"):
        return False
    path, keeps = path_of(metrics), keep_of(metrics)

    def shrink(number: int, frame: object) -> None:  # noqa: ARG001  # as handlers are called
        import json  # most are never asked

        with open(keeps, encoding="utf-8") as file:
            uuids = tuple(json.load(file))
        callback(uuids)
        note(path, "saved")

    signal.signal(SIGNAL, shrink)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    note(path, "ready")
    return True
