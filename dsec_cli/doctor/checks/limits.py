"""Limits of this user's processes that long runs meet at night."""

from __future__ import annotations

import resource

from dsec_cli.doctor.check import NOTE, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_FILES, _FEW_FILES = 4096, 1024
_PROCESSES = 4096
_ANY = resource.RLIM_INFINITY


def look(host: Host) -> Answer:
    """Open files, processes and locked memory."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    lines = (
        say("open files: {soft} (at most {hard})", soft=_plain(files), hard=_plain(most)),
        say("processes: {count}", count=_plain(processes)),
        say("locked memory: {count} bytes", count=_plain(locked)),
    )
    if files != _ANY and most != _ANY and most <= _FEW_FILES:
        return problem(
            say("a process may have only {count} open files", count=files),
            *lines,
            mend=say("raise the hard limit: LimitNOFILE=, or nofile in /etc/security/limits.conf"),
        )
    if processes != _ANY and processes < _PROCESSES:
        return problem(
            say("this user may have only {count} processes", count=processes), *lines, mend="ulimit -u 65536"
        )
    if host.names("sys/class/infiniband") and locked != _ANY:
        return problem(say("RDMA needs locked memory without limit"), *lines, mend="ulimit -l unlimited")
    if files != _ANY and files < _FILES:
        text = say("a process may have {count} open files", count=files)
        mend = say("ulimit -n {count} before runs with many workers", count=_wanted(most))
        return Answer(NOTE, (text, *lines), mend)
    return fine(say("limits are wide enough"), *lines)


def _wanted(most: int) -> int:
    return 65_536 if most == _ANY else min(65_536, most)


def _plain(value: int) -> str:
    return "unlimited" if value == _ANY else str(value)


CHECK = Check("limits", look, words=("ulimits",))
