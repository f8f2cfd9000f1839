"""Asks: are the libraries around the plugin at hand, and what will libc load by itself."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.hosting import Host
    from dsec_cli.plugins.result import Finding

_BUILT_IN = frozenset(("files", "dns"))
"""Services that newer C libraries hold themselves."""
_NAMES = (
    "getpw",
    "getgr",
    "getaddrinfo",
    "gethostby",
    "getnameinfo",
    "initgroups",
    "getserv",
    "getproto",
    "getsp",
)
_CONVERTING = ("iconv_open", "setlocale", "newlocale", "uselocale")
_PROVIDED = ("Py", "_Py", "lua", "rb_", "napi_", "JNI_")
_SHOWN = 6


def check(facts: Facts) -> Iterator[Finding]:
    """Missing libraries, names that the host must provide, name services and character sets."""
    host = facts.host
    if host is None:
        return
    for name in host.missing:
        yield finding("needed-missing", name, facts)
    for told in host.unmapped:
        yield finding("libc-unmapped", told, facts)
    imports = facts.package.imports()
    yield from _services(facts, host, imports)
    yield from _conversions(facts, imports)
    outside = [name for name in imports if host.provides(name) is None]
    strong = {s.name for unit in facts.package.units for s in unit.analysis.imports() if s.bind != 2}
    needed = [name for name in outside if name in strong]
    if needed and host.libraries:
        # An interpreter provides its own interface; what else is lacking makes a loader refuse the file.
        theirs = all(name.startswith(_PROVIDED) for name in needed)
        severity = "" if theirs or host.missing else "warning"
        more = f" and {len(needed) - _SHOWN} more" if len(needed) > _SHOWN else ""
        told = ", ".join(needed[:_SHOWN]) + more
        yield finding("host-symbols", told, facts, severity=severity, blind=bool(severity))


def _conversions(facts: Facts, imports: list[str]) -> Iterator[Finding]:
    used = [name for name in _CONVERTING if name in imports]
    if used:
        yield finding("locale-gconv", ", ".join(used), facts)


def _services(facts: Facts, host: Host, imports: list[str]) -> Iterator[Finding]:
    if not any(name.startswith(_NAMES) for name in imports):
        return
    there = {library.name for library, _ in host.libraries}
    for service in host.services:
        if f"libnss_{service}.so.2" not in there and service not in _BUILT_IN:
            yield finding(
                "nss", f"libnss_{service}.so.2 (nsswitch.conf names it)", facts, severity="info", blind=False
            )


CHECK = Check("around", ("needed-missing", "libc-unmapped", "nss", "locale-gconv", "host-symbols"), check)
