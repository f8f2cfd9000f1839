"""Shared memory (/dev/shm): data loaders, NCCL and calls between sandboxes live there."""

from __future__ import annotations

import os

from dsec_cli.doctor.check import ABSENT, Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_PLACE = "/dev/shm"  # noqa: S108  # it is looked at, nothing is put there
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
        return problem(text, mend=_larger(host))
    if _read_only(host.text("proc/self/mountinfo") or ""):
        text = say("shared memory may not be written to: /dev/shm is mounted read-only")
        return problem(text, mend=as_root("mount -o remount,rw /dev/shm"))
    if free < _LITTLE // 4:
        return problem(text, mend="ls -lS /dev/shm")
    return fine(text)


def _larger(host: Host) -> str:
    """By who made this machine: a container has what it was started with."""
    if host.environ.get("KUBERNETES_SERVICE_HOST"):
        return say(
            "mount an emptyDir with medium: Memory at /dev/shm of the pod (it counts for its memory limit)"
        )
    if host.there(".dockerenv") or host.there("run/.containerenv"):
        return say(
            "start the container with --shm-size=8g or --ipc=host (compose: shm_size: 8g); a running one "
            "cannot be changed"
        )
    command = as_root("mount -o remount,size=50% /dev/shm")
    return say("{command}; in a container: --shm-size=8g or --ipc=host", command=command)


def _read_only(mountinfo: str) -> bool:
    """Whether the last mount of /dev/shm is for reading alone."""
    rows = [line.split() for line in mountinfo.splitlines()]
    options = [words[5] for words in rows if len(words) > 5 and words[4] == _PLACE]
    return bool(options) and "ro" in options[-1].split(",")


CHECK = Check("shm", look)
