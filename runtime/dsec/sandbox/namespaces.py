"""Namespaces of a process that is to see no others, and the first process of one, which ends with it.

Where the kernel or an administrator forbids new namespaces (`user.max_user_namespaces`, AppArmor, a
container's filter), a process stays in those of its parent: then the filter has to compare process ids.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import struct
import threading

from dsec.sandbox import connections
from dsec.sandbox.kernel import PR_SET_PDEATHSIG, libc, machine, prctl, syscall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from dsec.sandbox.connections import Policy

_NEWUSER, _NEWIPC, _NEWNET, _NEWPID = 0x10000000, 0x08000000, 0x40000000, 0x20000000
_PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER = 24, 36
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAP_VERSION = 0x20080522
_MOST_CAPABILITIES = 64
DAC_OVERRIDE = 1 << 1
"""To read and write files whoever owns them."""


def enter(*, net: bool, ipc: bool) -> bool:
    """Have the next child live among processes of its own; `net`, `ipc`: these are its own, too.

    False: the kernel did not let us, and nothing has changed.
    """
    flags = _NEWPID | (_NEWNET if net else 0) | (_NEWIPC if ipc else 0)
    uid, gid = os.geteuid(), os.getegid()
    if libc().unshare(ctypes.c_int(flags)) == 0:
        return True
    if libc().unshare(ctypes.c_int(flags | _NEWUSER)) != 0:
        return False
    with contextlib.suppress(OSError):  # then its user has no name there, which changes no right
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    return True


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def available() -> bool:
    """Whether a process can have its own process ids here; asks the kernel in a child."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            code = 0 if enter(net=False, ipc=False) else 1
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def drop_capabilities(kept: int) -> None:
    """Give up what an administrator may do for good, but for `kept` where it is there; raises OSError."""
    for capability in range(_MOST_CAPABILITIES):
        if not kept >> capability & 1:
            with contextlib.suppress(OSError):  # beyond the last one, or we may not: then we have none
                prctl(_PR_CAPBSET_DROP, capability)
    header = struct.pack("=Ii", _CAP_VERSION, 0)
    kept &= _effective()
    body = struct.pack("=6I", kept, kept, 0, 0, 0, 0)
    syscall(_CAPSET[machine()], ctypes.c_char_p(header), ctypes.c_char_p(body))


def _effective() -> int:
    """The lower 32 of the capabilities that this process has."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        line = next((one for one in file if one.startswith("CapPrm:")), "CapPrm: 0")
    return int(line.split()[1], 16) & 0xFFFFFFFF


def supervise(policy: Policy | None = None) -> socket.socket | None:
    """Go on in a grandchild; this process becomes what its parent sees of it, and ends as it ended.

    Between them stands the first process of the namespace: with it ends whatever the grandchild left
    behind. Only the grandchild returns from here, and it alone keeps what was open. With a `policy` the
    first process makes connections for it; the result is the line on which it takes them over.
    """
    here, there = socket.socketpair() if policy is not None else (None, None)
    reading, writing = os.pipe()
    first = os.fork()
    if first:
        os.close(writing)
        _mirror(first, reading)
    os.close(reading)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(OSError):  # where it is no first process: what is left comes to it all the same
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child:
        _reap(child, writing, here, policy)
    os.close(writing)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if here is not None:
        here.close()
    return there


def _reap(child: int, writing: int, line: socket.socket | None, policy: Policy | None) -> NoReturn:
    """The first process: wait for the one that matters, say how it ended, end all others."""
    _close_all_but(writing, line.fileno() if line is not None else writing)
    if line is not None and policy is not None:
        threading.Thread(target=connections.serve, args=(child, line, policy), daemon=True).start()
    status = 0
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(1)
        if pid == child:
            break
    os.write(writing, struct.pack("=i", status))
    os.close(writing)
    if os.getpid() != 1:
        _end_children()
    os._exit(0)


def _end_children() -> None:
    """Without a namespace nobody else ends what the process left; its children become ours."""
    with contextlib.suppress(OSError):
        while True:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
                children = [int(one) for one in file.read().split()]
            if not children:
                return
            for one in children:
                with contextlib.suppress(OSError):
                    os.kill(one, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, 0)


def _mirror(first: int, reading: int) -> NoReturn:
    """End as the process did that matters."""
    _close_all_but(reading)
    said = os.read(reading, 4)
    _, status = os.waitpid(first, 0)
    if len(said) == 4:
        (status,) = struct.unpack("=i", said)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError):
            if number != signal.SIGKILL:
                signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        signal.pause()
    os._exit(os.waitstatus_to_exitcode(status))


def _close_all_but(*kept: int) -> None:
    """Hold nothing that the grandchild's end must close."""
    last = 2
    for one in sorted({*kept, resource.getrlimit(resource.RLIMIT_NOFILE)[0]}):
        os.closerange(last + 1, one)
        last = one
    null = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
