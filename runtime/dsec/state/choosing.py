"""How a state is kept still while it is written: by a copy of it, or by a fork; which of them, and why."""

from __future__ import annotations

import contextlib
import os
import sys
import time

from dsec.state.forking import forked
from dsec.state.problems import StateError
from dsec.state.staging import Slot, copy_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.state.layout import Layout

_WORTH = 2.0
"""A fork must stand still for so many times less than a copy: pages that are changed afterwards cost, too."""
_TRIALS = 3


def chosen(wanted: str, nbytes: int) -> tuple[str, str]:
    """How states are kept still here, and why; raises StateError where what is wanted cannot be."""
    against = against_fork()
    if wanted == "fork" and against:
        raise StateError(f"copy='fork' is not possible here: {against}; use copy='staging'")
    if wanted != "auto":
        return wanted, "as asked for"
    free = _available()
    if free is None or free > 2 * nbytes:
        return "staging", "there is memory for two copies of the state"
    if against:
        return "staging", f"memory is short, but it cannot be forked: {against}"
    return "fork", f"{free >> 20} MiB of memory are free, and two copies need {2 * nbytes >> 20} MiB"


def measured(layout: Layout, slot: Slot, *, threads: int) -> tuple[str, str]:
    """The way whose pause is the shorter one, by the best of three trials of each; `slot` is faulted in."""
    if against := against_fork():
        return "staging", f"there is memory for two copies of the state, and it cannot be forked: {against}"
    copy_s = min(_copy_s(layout, slot, threads) for _ in range(_TRIALS))
    fork_s = min(_fork_s() for _ in range(_TRIALS))
    found = f"a fork took {fork_s * 1e3:.1f} ms, a copy {copy_s * 1e3:.1f} ms"
    return ("fork" if fork_s * _WORTH < copy_s else "staging"), found


def _copy_s(layout: Layout, slot: Slot, threads: int) -> float:
    """Seconds that a copy of these tensors takes."""
    begun = time.monotonic()
    copy_in(layout, slot.fit(layout.nbytes), threads=threads)
    return time.monotonic() - begun


def _fork_s() -> float:
    """Seconds that a fork of this process takes."""
    begun = time.monotonic()
    child = forked()
    if child == 0:
        os._exit(0)
    took = time.monotonic() - begun
    with contextlib.suppress(ChildProcessError):  # somebody else waits for all children
        os.waitpid(child, 0)
    return took


def against_fork() -> str:
    """Why a fork of this process might hang or harm it; "": nothing is known."""
    import threading

    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return "a forked process cannot hold this one's CUDA context"
    if threading.active_count() > 1:
        return f"{threading.active_count()} threads run, and a lock that one of them holds would stay locked"
    return ""


def is_room_for_two(nbytes: int) -> bool:
    """Whether memory holds two copies of so many bytes; where that is not known, it does."""
    free = _available()
    return free is None or free > 2 * nbytes


def _available() -> int | None:
    """Bytes that can be had without swapping (MemAvailable); None: unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        return None
    return None
