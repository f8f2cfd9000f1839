"""System calls that a plugin's grants allow: numbers, and arguments where a number says too little."""

from __future__ import annotations

from typing import NamedTuple

from dsec.sandbox import hostcalls
from dsec.sandbox.seccomp import ABSENT, ALLOW, ENOSYS, KILL, NOTIFY, REFUSED, Rule, Test
from dsec.sandbox.syscalls import NUMBERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.plugins.grants import Grants

_NEVER_WORDS = """
ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise process_mrelease add_key
request_key keyctl bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register mount
umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick
mount_setattr statmount listmount setns unshare init_module finit_module delete_module create_module
kexec_load kexec_file_load reboot swapon swapoff sethostname setdomainname iopl ioperm modify_ldt acct
vhangup quotactl quotactl_fd nfsservctl syslog settimeofday clock_settime adjtimex clock_adjtime
move_pages migrate_pages uselib _sysctl sysfs lookup_dcookie fanotify_init fanotify_mark
name_to_handle_at open_by_handle_at memfd_secret lsm_set_self_attr get_kernel_syms query_module
"""
_NEVER = _NEVER_WORDS.split()
"""What no grant gives: others' processes, keys, mounts, the machine's state, ways past the filter."""
_HARMLESS = (
    0x5401, 0x802C542A, 0x5413, 0x540F, 0x541B, 0x5411, 0x5421, 0x5450, 0x5451, 0x5460, 2,
    0x40049409, 0x4020940D, 0x80086601, 0x8905,
)  # fmt: skip
"""TCGETS, TCGETS2, TIOCGWINSZ, TIOCGPGRP, FIONREAD, TIOCOUTQ, FIONBIO, FIONCLEX, FIOCLEX, FIOQSIZE, FIGETBSZ,
FICLONE, FICLONERANGE, FS_IOC_GETFLAGS, SIOCATMARK: they read, or concern the descriptor alone."""
_INTERFACES = (
    0x8910, 0x8912, 0x8913, 0x8915, 0x8917, 0x8919, 0x891B, 0x891D, 0x8921, 0x8927, 0x8933,
)  # fmt: skip
"""SIOCGIF...: to read what network interfaces there are."""
_GPU_TYPES = (0x4600, 0x6400, 0x4B00, 0x6D00)
"""Requests of nvidia (F), DRM (d), KFD (K) and nvidia-modeset (m); those of nvidia-uvm have no type."""
_PRCTL = (
    2, 3, 7, 15, 16, 21, 23, 27, 29, 30, 34, 38, 39, 41, 42, 48, 66, 0x53564D41,
)  # fmt: skip
"""PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP,
PR_CAPBSET_READ, PR_GET_SECUREBITS, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, PR_MCE_KILL_GET,
PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_SET_THP_DISABLE, PR_GET_THP_DISABLE, PR_SVE_GET_VL, PR_GET_MDWE,
PR_SET_VMA."""
_PARENTS = (1, 4, 36)
"""PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER: between a process and those it begins."""
_OWNERS = (8, 10, 15, 1024, 1026)
"""F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY: signals for others, or for all who open a file."""
_PROT_EXEC, _PROT_WRITE, _MAP_ANONYMOUS, _SHM_EXEC = 4, 2, 0x20, 0x8000
_CLONE_THREAD, _NEW_SPACES = 0x10000, 0x7E020000
_FASTOPEN = 0x20000000
_STARTING = ("fork", "vfork", "execve", "execveat")
_NET = ("socket", "socketpair", "connect", "bind", "listen", "accept", "accept4")
_BY_FIRST = (
    "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64", "sched_setparam",
    "sched_setscheduler", "sched_setaffinity", "sched_setattr", "pidfd_open", "setpgid",
)  # fmt: skip
_SENDING = frozenset(("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"))
_LOADING = (
    "openat",
    "close",
    "read",
    "pread64",
    "fstat",
    "newfstatat",
    "mmap",
    "munmap",
    "mprotect",
    "lseek",
)
_OF_CHILDREN_WORDS = """
read write open openat close stat fstat lstat newfstatat poll lseek mmap mprotect munmap brk
rt_sigaction rt_sigprocmask ioctl pipe pipe2 dup dup2 dup3 getpid getppid wait4 waitid exit exit_group
clone fork vfork kill fcntl getcwd chdir umask setsid setpgid getpgid getpgrp getuid geteuid getgid
getegid close_range set_robust_list rseq clone3 execve execveat gettid tgkill sigaltstack pidfd_open
pidfd_send_signal
"""
_OF_CHILDREN = _OF_CHILDREN_WORDS.split()
"""What a process that starts others needs at the least, whatever its scan says."""


_BY_PATH = (
    "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "utime", "utimes", "futimesat",
    "setxattr", "lsetxattr", "setxattrat", "removexattr", "lremovexattr", "removexattrat", "file_setattr",
)  # fmt: skip
_BY_DESCRIPTOR = ("fchmod", "fchown", "fsetxattr", "fremovexattr", "utimensat")
"""Calls that change what is said of a file, not its bytes: Landlock leaves those alone."""
_IPC = (
    "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv",
    "msgctl", "mq_open", "mq_unlink",
)  # fmt: skip


class Filter(NamedTuple):
    """What `seccomp.restrict` takes."""

    allowed: frozenset[int]
    rules: dict[int, Rule]
    otherwise: int


def filter_of(calls: Iterable[int], grants: Grants, *, pid: int, alone: bool) -> Filter:
    """The filter of a plugin; `calls`: what its scan says, `pid`: its own, `alone`: in its own namespace.

    Who runs other programs gets what those may need: all calls that the kernel had when this was written,
    but for those that nobody gets.
    """
    names = _rules(grants, pid=pid, alone=alone)
    rules = {NUMBERS[name]: rule for name, rule in names.items() if name in NUMBERS}
    if grants.execute:
        return Filter(frozenset(NUMBERS.values()), rules, ENOSYS)
    held = frozenset(calls) | hostcalls.answering() | hostcalls.loading()
    if grants.networked() or grants.kinds:
        held |= _of(_LOADING)  # name services, and what is loaded later
    if "process" in grants.kinds:
        held |= _of(_OF_CHILDREN)
    if "gpu" in grants.kinds:  # the driver's own library asks for much that no scan of the plugin shows
        held = frozenset(NUMBERS.values()) - _of(_STARTING)
    kept = {number: rule for number, rule in rules.items() if number in held}
    return Filter(held, kept, KILL)


def _of(names: Iterable[str]) -> frozenset[int]:
    return frozenset(NUMBERS[name] for name in names)


def _rules(grants: Grants, *, pid: int, alone: bool) -> dict[str, Rule]:
    found = dict.fromkeys(_NEVER, REFUSED)
    found |= {
        "ioctl": Rule(tuple(_requests(grants))),
        "prctl": Rule(((Test(0, _PRCTL + (_PARENTS if grants.children() else ())),),)),
        "fcntl": Rule(((Test(1, _OWNERS, among=False),),)),
        "personality": Rule(((Test(0, (0xFFFFFFFF,)),),)),
        "clone": Rule((_cloning(grants),)),
        "clone3": ABSENT,
    }
    if not grants.children():
        found |= dict.fromkeys(_STARTING, REFUSED)
    elif not grants.execute:
        found |= dict.fromkeys(("execve", "execveat"), REFUSED)
    if "code-gen" not in grants.kinds:
        found |= _without_made_code()
    if "ipc" not in grants.kinds and "gpu" not in grants.kinds:
        found |= dict.fromkeys(_IPC, REFUSED)
    found |= _attributes(grants)
    found |= _sockets(grants)
    return found | (_first() if alone else _others(pid, signals="process" in grants.kinds))


def _attributes(grants: Grants) -> dict[str, Rule]:
    """Modes, owners, times and attributes of files: not for those who may write none.

    No filter can read a path, so who may write some files can change them of others of its user, too.
    """
    if grants.write:
        return {}
    found = dict.fromkeys((*_BY_PATH, *_BY_DESCRIPTOR), REFUSED)
    # A watch on a folder says which files others open, also where nothing may be read.
    return found if grants.read else found | {"inotify_add_watch": REFUSED}


def _requests(grants: Grants) -> list[tuple[Test, ...]]:
    ways: list[tuple[Test, ...]] = [(Test(1, _HARMLESS),)]
    if grants.networked():
        ways.append((Test(1, _INTERFACES),))
    if "gpu" in grants.kinds:
        ways += [(Test(1, _GPU_TYPES, 0xFF00),), (Test(1, (0, 0x30000000), 0xFFFFFF00),)]
    return ways


def _cloning(grants: Grants) -> tuple[Test, ...]:
    if grants.children():
        return (Test(0, (0,), _NEW_SPACES),)
    return (Test(0, (_CLONE_THREAD,), _CLONE_THREAD | _NEW_SPACES),)


def _without_made_code() -> dict[str, Rule]:
    """Memory may be executable only where a file is mapped that nobody writes through it."""
    still = (Test(2, (0,), _PROT_EXEC),)
    mapped = (Test(2, (_PROT_EXEC,), _PROT_EXEC | _PROT_WRITE), Test(3, (0,), _MAP_ANONYMOUS))
    return {
        "mprotect": Rule((still,)),
        "pkey_mprotect": Rule((still,)),
        "mmap": Rule((still, mapped)),
        "shmat": Rule(((Test(2, (0,), _SHM_EXEC),),)),
    }


def _sockets(grants: Grants) -> dict[str, Rule]:
    """No grant, no socket; a grant gives the families, kinds and protocols that it means and no others."""
    own = (Test(0, (1,)),)
    found: dict[str, Rule] = {}
    if not grants.networked():
        found = dict.fromkeys(_NET, REFUSED)
        found["sendto"] = Rule((_to_nobody(),))
        return found | ({"socketpair": Rule((own,))} if grants.children() else {})
    ways: list[tuple[Test, ...]] = [(Test(0, (16,)), Test(2, (0,)))]  # routes and interfaces, to read
    if grants.egress or grants.listen:
        ways.append((Test(0, (2, 10)), Test(1, (1, 2), 0xF), Test(2, (0, 6, 17))))
    if grants.local:
        ways.append(own)
    found["socket"] = Rule(tuple(ways))
    found["socketpair"] = Rule((own,))
    found["sendto"] = Rule(((Test(3, (0,), _FASTOPEN),),))
    found["sendmsg"] = Rule(((Test(2, (0,), _FASTOPEN),),))
    found["sendmmsg"] = Rule(((Test(3, (0,), _FASTOPEN),),))
    if not grants.listen and not grants.local:
        found |= dict.fromkeys(("listen", "accept", "accept4"), REFUSED)
    if grants.narrow():
        found |= dict.fromkeys(("connect", "bind", "listen"), Rule(((),), REFUSED.action, NOTIFY))
        found["sendto"] = Rule((_to_nobody(),))
        found |= dict.fromkeys(("sendmsg", "sendmmsg"), REFUSED)
    return found


def _to_nobody() -> tuple[Test, ...]:
    """A message on a line that is there already."""
    return (Test(4, (0,)), Test(4, (0,), high=True), Test(3, (0,), _FASTOPEN))


def _first() -> dict[str, Rule]:
    """In a namespace: nothing names its first process, which is ours."""
    found = dict.fromkeys(_BY_FIRST, Rule(((Test(0, (1,), among=False),),)))
    return found | dict.fromkeys(("setpriority", "ioprio_set"), Rule(((Test(1, (1,), among=False),),)))


def _others(pid: int, *, signals: bool) -> dict[str, Rule]:
    """Without a namespace: nothing names another process; Landlock keeps signals within, where it can."""
    own = (Test(0, (0, pid)),)
    found = dict.fromkeys(_BY_FIRST, Rule((own,)))
    found |= dict.fromkeys(("kill", "tkill", "tgkill"), Rule(((Test(0, (pid,)),),)))
    if signals:
        found |= dict.fromkeys(_SENDING | {"pidfd_open", "setpgid"}, Rule())
    else:
        found["pidfd_send_signal"] = REFUSED
    found["setpriority"] = Rule(((Test(0, (0,)), Test(1, (0, pid))),))
    found["ioprio_set"] = Rule(((Test(0, (1,)), Test(1, (0, pid))),))
    return found


__all__ = ["ALLOW", "Filter", "filter_of"]
