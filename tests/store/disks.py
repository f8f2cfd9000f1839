"""Disks that get full, or take the process along, at the n-th effect on them."""

from __future__ import annotations

import errno
import os
import signal

from dsec.store.disk import Disk

EFFECTS = ("make_folder", "create", "write", "sync", "sync_folder", "rename", "link", "remove")


class FailingDisk(Disk):
    """The n-th effect fails, and so does every one after it; half of what is to be written is written."""

    def __init__(self, fail_at, number=errno.ENOSPC):
        self.done, self.fail_at, self.number = 0, fail_at, number

    def _next(self, what):
        self.done += 1
        if self.done >= self.fail_at and what != "remove":
            raise OSError(self.number, os.strerror(self.number))

    def write(self, fd, data):
        try:
            self._next("write")
        except OSError:
            super().write(fd, bytes(data)[: len(data) // 2])
            raise
        super().write(fd, data)


def _counted(name):
    real = getattr(Disk, name)

    def effect(self, *args):
        self._next(name)
        return real(self, *args)

    return effect


for _name in EFFECTS:
    if _name != "write":
        setattr(FailingDisk, _name, _counted(_name))


class Deadly(FailingDisk):
    """The process is killed just before the n-th effect; of a write, half is done."""

    def _next(self, what):
        self.done += 1
        if self.done == self.fail_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, fd, data):
        self.done += 1
        if self.done == self.fail_at:
            os.write(fd, bytes(data)[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        Disk.write(self, fd, data)
