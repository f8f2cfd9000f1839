"""Shared memory (/dev/shm): data loaders, NCCL and calls between sandboxes live there."""

from __future__ import annotations

import os

from dsec_cli.doctor.check import ABSENT, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_GIB = 2**30
_LITTLE = _GIB


def look(host: Host) -> Answer:
    """Its size, which containers set to 64 MiB unless told otherwise."""
    path = os.path.join(host.root, "dev", "shm")
    if not os.path.isdir(path):
        return Answer(ABSENT, (say("there is no /dev/shm"),))
    stat = os.statvfs(path)
    size, free = stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize
    text = say("shared memory: {free:.2f} of {size:.2f} GiB are free", free=free / _GIB, size=size / _GIB)
    if size < _LITTLE:
        return problem(text, mend=say("start the container with --shm-size=8g or --ipc=host"))
    if free < _LITTLE // 4:
        return problem(text, mend="ls -lS /dev/shm")
    return fine(text)


CHECK = Check("shm", look)
