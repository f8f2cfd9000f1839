"""How long a thread could have run and was not let: what a busy host adds to times that it measures."""

from __future__ import annotations


def waited_ns() -> int:
    """Of the calling thread since it began, by the kernel's scheduler; 0 where it does not tell."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
