"""Landlock: what keeps a Step's files apart inside its sandbox."""

from __future__ import annotations

import ctypes
import errno
import os

from dsec_cli.doctor.check import Answer, Check, fine, problem
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_CREATE_RULESET, _VERSION = 444, 1
"""The system call has one number on every architecture."""
_MEANING = {
    1: say("files"), 2: say("renames between folders"), 3: say("truncation"), 4: say("TCP ports"),
    5: say("device controls"), 6: say("signals and abstract sockets"), 7: say("a log of denials"),
}  # fmt: skip


def look(_host: Host) -> Answer:
    """The version of its interface, by asking the kernel."""
    return told(*version())


def version() -> tuple[int, int]:
    """(version, 0) or (0, errno)."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return (found, 0) if found > 0 else (0, ctypes.get_errno())


def told(number: int, wrong: int) -> Answer:
    """What the version can do, or why there is none."""
    if number:
        upto = joined(", ", [text for at, text in _MEANING.items() if at <= number])
        return fine(say("Landlock version {number}: {what}", number=number, what=upto))
    if wrong == errno.EOPNOTSUPP:
        return problem(
            say("Landlock is built in, but switched off"),
            mend=say("add landlock to lsm= on the kernel's command line"),
        )
    if wrong == errno.ENOSYS:
        return problem(
            say("this kernel has no Landlock"), mend=say("a kernel of 5.13 or newer with Landlock built in")
        )
    return problem(
        say("Landlock cannot be used: {why}", why=os.strerror(wrong)),
        mend=say("most likely a container's seccomp profile: a newer container runtime allows it"),
    )


CHECK = Check("landlock", look, words=("sandbox",))
