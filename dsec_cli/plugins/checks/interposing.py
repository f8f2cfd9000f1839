"""Asks: does the plugin export names of libc, which other code would then call instead."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding

_ALWAYS = frozenset(
    ["_init", "_fini", "_end", "_edata", "__bss_start", "__data_start", "data_start", "_start", "main"]
)
_WELL_KNOWN = frozenset(
    [
        "malloc",
        "calloc",
        "realloc",
        "free",
        "open",
        "open64",
        "openat",
        "close",
        "read",
        "write",
        "getenv",
        "connect",
        "socket",
        "send",
        "recv",
        "execve",
        "system",
        "fork",
        "stat",
        "fstat",
        "access",
        "fopen",
        "fclose",
        "mmap",
        "mprotect",
        "dlopen",
        "dlsym",
        "printf",
        "puts",
        "memcpy",
        "strlen",
        "getaddrinfo",
        "pthread_create",
        "exit",
    ]
)
_SHOWN = 8


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each library of the package that does."""
    libc = facts.host.libc() if facts.host is not None else None
    known = _WELL_KNOWN
    if libc is not None and facts.host is not None:
        known = frozenset(next(found.exports for one, found in facts.host.libraries if one is libc)) - _ALWAYS
    for index, unit in enumerate(facts.package.units):
        names = sorted(name for name in unit.exports if name in known and name not in _ALWAYS)
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield finding("interposition", ", ".join(names[:_SHOWN]) + more, facts, unit=index)


CHECK = Check("interposing", ("interposition",), check)
