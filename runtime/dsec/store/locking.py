"""Nobody removes what others are about to refer to: locks that the kernel drops with their holder."""

from __future__ import annotations

import fcntl
import os
import time

from dsec.store.values import StoreProblem
from dsec.words import say

_PAUSE_S = 0.05


def shared(path: str) -> int:
    """Wait until nobody prunes, then keep pruning out; the descriptor that holds the lock."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
    except BaseException:
        os.close(fd)
        raise
    return fd


def alone(path: str, *, wait_s: float) -> int:
    """Wait until nobody puts in, then keep them out; raises StoreProblem when that takes too long."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    until = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(fd)
                raise StoreProblem(
                    say("the store is in use by someone who puts in or prunes"),
                    hint=say("try again when that is done"),
                ) from None
            time.sleep(_PAUSE_S)
        except BaseException:
            os.close(fd)
            raise
        else:
            return fd
