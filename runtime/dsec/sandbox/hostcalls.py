"""System calls that a Python process makes while it does nothing but answer on a socket."""

from __future__ import annotations

from dsec.sandbox.kernel import machine

_NUMBERS = {
    # name: (x86_64, aarch64), from asm/unistd.h
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "recvfrom": (45, 207),
    "sendto": (44, 206),
    "futex": (202, 98),
    "rt_sigreturn": (15, 139),
    "restart_syscall": (219, 128),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
_LOADING = {
    "openat": (257, 56),
    "newfstatat": (262, 79),
    "fstat": (5, 80),
    "pread64": (17, 67),
    "mprotect": (10, 226),
    "lseek": (8, 62),
    "readlink": (89, -1),
    "readlinkat": (267, 78),
    "getrandom": (318, 278),
    "rseq": (334, 293),
}


def answering() -> frozenset[int]:
    """What it makes while it waits, answers and ends."""
    return _of(_NUMBERS)


def loading() -> frozenset[int]:
    """What it makes besides while it loads a library."""
    return _of(_LOADING)


def _of(names: dict[str, tuple[int, int]]) -> frozenset[int]:
    at = ("x86_64", "aarch64").index(machine())
    return frozenset(row[at] for row in names.values() if row[at] >= 0)
