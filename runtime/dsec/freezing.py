"""Making all processes of an attempt stand still, and go on: what they hold in memory they keep.

With a cgroup of its own the kernel does it at once; else every process is stopped (SIGSTOP), again
and again until none is left that runs, because one that runs may start another.
"""

from __future__ import annotations

import os
import signal
import time

from dsec import sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TIMES = 100
_PAUSE_S = 0.002
_STILL = b"TtZX"


class Frozen:
    """The processes of one attempt that stand still."""

    def __init__(self, find: Callable[[], Sequence[sweep.Process]], cgroup: str = "") -> None:
        """`find` gives the living processes of the attempt."""
        self._find = find
        self._file = f"{cgroup}/cgroup.freeze" if cgroup else ""
        self._stopped: dict[tuple[int, int], sweep.Process] = {}
        self.whole = self._freeze()
        """Whether none of them is left that runs."""

    def _freeze(self) -> bool:
        if self._file and _write(self._file, b"1"):
            return True
        self._file = ""
        for _ in range(_TIMES):
            moving = [one for one in self._find() if _state(one.pid) not in _STILL]
            if not moving:
                return True
            for one in moving:
                self._stopped[one.pid, one.ticks] = one
                sweep.send(one, signal.SIGSTOP)
            time.sleep(_PAUSE_S)
        return False

    def again(self) -> None:
        """Somebody else let them go on."""
        if not self._file:
            self.whole = self._freeze()

    def thaw(self) -> None:
        """Let them go on."""
        if self._file:
            _write(self._file, b"0")
        for one in self._stopped.values():
            sweep.send(one, signal.SIGCONT)


def _state(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read(4096)
    except OSError:
        return b"X"
    at = text.rfind(b")") + 2
    return text[at : at + 1]


def _write(path: str, data: bytes) -> bool:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(fd, data) == len(data)
    except OSError:
        return False
    finally:
        os.close(fd)
