"""Limits of this user's processes that long runs meet at night."""

from __future__ import annotations

import resource

from dsec_cli.doctor.check import NOTE, Answer, Check, as_root, fine, problem
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
            say("this user may have only {count} processes", count=processes),
            *lines,
            mend=_raised("nproc", "-u", most=resource.getrlimit(resource.RLIMIT_NPROC)[1]),
        )
    if host.names("sys/class/infiniband") and locked != _ANY and not _may_lock(host):
        return problem(
            say("RDMA needs locked memory without limit: NCCL's registrations fail with ENOMEM"),
            *lines,
            mend=_raised("memlock", "-l", most=resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]),
        )
    if files != _ANY and files < _FILES:
        text = say("a process may have {count} open files", count=files)
        mend = say("ulimit -n {count} before runs with many workers", count=_wanted(most))
        return Answer(NOTE, (text, *lines), mend)
    return fine(say("limits are wide enough"), *lines)


_CAP_IPC_LOCK = 14


def _may_lock(host: Host) -> bool:
    """Whether the limit does not hold for this process, as for root outside of containers."""
    for line in (host.text("proc/self/status") or "").splitlines():
        if line.startswith("CapEff:"):
            try:
                return bool(int(line[7:].strip() or "0", 16) >> _CAP_IPC_LOCK & 1)
            except ValueError:
                return False
    return False


def _raised(item: str, flag: str, *, most: int) -> str:
    """A user may raise a limit up to the hard one alone; beyond that it is root's to set."""
    wanted = _ANY if item == "memlock" else 65_536
    if most == _ANY or (wanted != _ANY and most >= wanted):
        return f"ulimit {flag} {_plain(wanted)}"
    value = "unlimited" if wanted == _ANY else str(wanted)
    line = f"echo '* - {item} {value}' | {as_root(f'tee /etc/security/limits.d/90-dsec-{item}.conf')}"
    return say(
        "{line}, then log in again; a service: Limit{name}={value}; a container: --ulimit {item}={number}",
        line=line,
        name=item.upper(),
        value="infinity" if wanted == _ANY else wanted,
        item=item,
        number=-1 if wanted == _ANY else wanted,
    )


def _wanted(most: int) -> int:
    return 65_536 if most == _ANY else min(65_536, most)


def _plain(value: int) -> str:
    return "unlimited" if value == _ANY else str(value)


CHECK = Check("limits", look, words=("ulimits",))
