"""Asks: are all numbers of system calls known, and is the kernel entered through its usual gate."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding
from dsec_cli.plugins.syscalls import I386, name_of
from dsec_cli.plugins.uses import X32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.resolving import Site
    from dsec_cli.plugins.result import Finding

_GATES = {"int80": "gate-int80", "sysenter": "gate-sysenter"}


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each site that is unresolved or uncommon."""
    for unit, site in facts.package.sites():
        if site.gate in _GATES:
            told = "a number that is not known"
            if site.numbers is not None:
                told = ", ".join(I386.get(one, f"#{one}") for one in sorted(site.numbers))
            yield finding(_GATES[site.gate], told, facts, unit=unit, node=site.function, ip=site.ip)
        elif site.numbers is None:
            gate = "through libc's syscall()" if site.gate == "libc" else "by a syscall instruction"
            yield finding(site.reason, gate, facts, unit=unit, node=site.function, ip=site.ip)
        else:
            yield from _x32(facts, unit, site)


def _x32(facts: Facts, unit: int, site: Site) -> Iterator[Finding]:
    for number in sorted(site.numbers or ()):
        if X32 <= number < X32 + 1024:
            told = name_of(number & ~X32)
            yield finding("gate-x32", told, facts, unit=unit, node=site.function, ip=site.ip)


CHECK = Check(
    "numbers",
    ("nr-computed", "nr-table", "syscall-escapes", "gate-int80", "gate-sysenter", "gate-x32"),
    check,
)
