"""One rate that all sessions of a server share: a token bucket in memory that its processes share."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STATE = struct.Struct("=QQQ")
"""Bits above the bucket, nanoseconds of the monotonic clock at which that was so, bits a second promised."""
_BURST_NS = 50_000_000
_LEAST_BURST = 64 * 1024 * 8
_SECOND = 1_000_000_000


class RateBudget:
    """Counts what several processes send or take, and says how long each has to wait."""

    def __init__(
        self, rate_bps: int, *, fd: int | None = None, clock: Callable[[], int] | None = None
    ) -> None:
        """`fd`: of another process's budget; None: a new one."""
        self.rate_bps = max(1, rate_bps)
        self.fd = os.memfd_create("dsec-netcheck-rate") if fd is None else fd
        if fd is None:
            os.ftruncate(self.fd, _STATE.size)
        self._room = mmap.mmap(self.fd, _STATE.size)
        self._clock = clock or time.monotonic_ns
        self._lock = threading.Lock()
        self._burst = max(_LEAST_BURST, self.rate_bps * _BURST_NS // _SECOND)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """POSIX locks keep processes apart, and a lock of this process its threads."""
        with self._lock:
            fcntl.lockf(self.fd, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self.fd, fcntl.LOCK_UN)

    def charge(self, count: int) -> float:
        """Count bytes; the seconds after which they are within the rate, 0.0: they are."""
        with self._locked():
            level, at_ns, promised = _STATE.unpack_from(self._room)
            now = self._clock()
            level = max(0, level - max(0, now - at_ns) * self.rate_bps // _SECOND) + count * 8
            _STATE.pack_into(self._room, 0, level, now, promised)
        over: float = (level - self._burst) / self.rate_bps
        return max(0.0, over)

    def take(self, count: int, *, until: float | None = None) -> None:
        """Count bytes, and sleep until they are within the rate, or until a moment of the monotonic clock."""
        wait_s = self.charge(count)
        if until is not None:
            wait_s = min(wait_s, until - time.monotonic())
        if wait_s > 0:
            time.sleep(wait_s)

    def step(self, most: int) -> int:
        """Bytes to move at once: few enough that a low rate is kept smoothly."""
        return max(4096, min(most, self._burst // 16))

    def promise(self, wanted_bps: int) -> int:
        """Set a steady rate aside, at most what is not promised yet; 0: all of it is."""
        with self._locked():
            level, at_ns, promised = _STATE.unpack_from(self._room)
            granted = max(0, min(wanted_bps, self.rate_bps - promised))
            _STATE.pack_into(self._room, 0, level, at_ns, promised + granted)
        return int(granted)

    def release(self, granted_bps: int) -> None:
        """Give a promised rate back."""
        with self._locked():
            level, at_ns, promised = _STATE.unpack_from(self._room)
            _STATE.pack_into(self._room, 0, level, at_ns, max(0, promised - granted_bps))

    def forget(self) -> None:
        """Take every promise back: sessions that were killed gave nothing back."""
        self.release(1 << 62)

    def close(self) -> None:
        """Give the memory back."""
        self._room.close()
        os.close(self.fd)
