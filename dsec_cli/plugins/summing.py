"""Sums up what is known of a plugin: system calls and permissions by tier, each with the nearest way."""

from __future__ import annotations

import os
from collections import defaultdict

from dsec.hashing import blake3_of
from dsec_cli.plugins.elf import ET_DYN, MACHINES, PT_INTERP
from dsec_cli.plugins.notes import build_id
from dsec_cli.plugins.package import OUTSIDE
from dsec_cli.plugins.result import TIERS, Call, Coverage, Identity, Need, Scan
from dsec_cli.plugins.straying import stray_gates
from dsec_cli.plugins.symbols import read_versions
from dsec_cli.plugins.syscalls import NUMBERS, name_of
from dsec_cli.plugins.uses import X32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding
    from dsec_cli.plugins.uses import Use

_RANK = {tier: at for at, tier in enumerate(TIERS)}
_DLOPEN = ("dlopen", "dlclose", "dlsym")


def summed(
    facts: Facts, findings: list[Finding], *, path: str, image: Image, tools: tuple[tuple[str, str], ...]
) -> Scan:
    """The whole answer."""
    return Scan(
        _identity(facts, path, image),
        _needs(facts),
        _calls(facts) if _mapped(facts) else None,
        _loader(facts, image) if _mapped(facts) else (),
        tuple(findings),
        _coverage(facts),
        tuple(_assumptions(facts)),
        tools,
    )


def _mapped(facts: Facts) -> bool:
    """Whether the system calls can be told at all: not without a C library, nor of code that is not read."""
    read = all(unit.analysis.graph is not None for unit in facts.package.units)
    return read and facts.host is not None and facts.host.libc() is not None


def _identity(facts: Facts, path: str, image: Image) -> Identity:
    libc = facts.host.libc() if facts.host is not None else None
    return Identity(
        os.path.basename(path),
        image.size,
        blake3_of()(image.data).hexdigest(),  # type: ignore[arg-type] # any buffer will do
        build_id(image),
        MACHINES.get(image.machine, f"machine {image.machine}"),
        "shared object" if _is_library(image) else "program",
        f"{libc.name} {build_id(libc.image) or 'without build id'}" if libc is not None else "",
        image.names(1),
        tuple(unit.name for unit in facts.package.units[1:]),
        read_versions(image),
    )


def _is_library(image: Image) -> bool:
    return image.kind == ET_DYN and not any(one.kind == PT_INTERP for one in image.segments)


def _needs(facts: Facts) -> tuple[Need, ...]:
    """Each permission once, in its earliest tier; targets of all its uses in that tier or earlier."""
    found: dict[str, list[tuple[str, str, Use]]] = defaultdict(list)
    for use, judged in facts.judged:
        tier = facts.tier(use.unit, use.function)
        for permission, target in judged.asks:
            found[permission].append((tier, target, use))
        for permission, target in judged.perhaps:
            found[permission].append(("linked" if tier == "linked" else "unknown", target, use))
    for name in _linked_only(facts):
        found.setdefault(name[0], [])
    needs = []
    # In a file that was only swept, a use may be where nobody looked.
    unused = "reachable" if any(unit.analysis.swept for unit in facts.package.units) else "linked"
    for permission, entries in found.items():
        if not entries:
            needs.append(Need(permission, ("",), unused, tuple(_linked_names(facts, permission)), 0))
            continue
        known = [entry for entry in entries if entry[0] in ("load", "reachable")]
        unsure = [entry for entry in entries if entry[0] == "unknown"]
        entries = known or unsure or entries
        tier = min((entry[0] for entry in entries), key=_RANK.__getitem__)
        here = [entry for entry in entries if entry[0] == tier or tier == "load"]
        ways = [
            (facts.way(use.unit, use.function, use.ip, use.name), use) for got, _, use in here if got == tier
        ]
        chain = min((way for way, _ in ways), key=lambda way: (len(way), way))
        targets = tuple(sorted({target for _, target, _ in here}))
        needs.append(Need(permission, targets, tier, chain, len(entries)))
    return tuple(sorted(needs, key=lambda need: (_RANK[need.tier], need.permission)))


def _linked_only(facts: Facts) -> list[tuple[str, str]]:
    """(permission, name) of imports that no code of the package refers to, or whose code was not read."""
    from dsec_cli.plugins.apis import BY_NAME

    used = {use.name for use in facts.uses}
    found = []
    for name in facts.package.imports():
        permission = BY_NAME.get(name)
        if permission is not None and name not in used:
            found.append((_WIDEST.get(permission, permission), name))
    return found


_WIDEST = {
    "open?": "read:fs",
    "connect?": "net:egress",
    "listen?": "net:listen",
    "socket?": "net:local",
    "exec?": "exec",
    "clone?": "process",
    "prctl?": "process",
    "dynload?": "dynload",
    "memory?": "runtime",
    "env?": "env",
    "ioctl?": "runtime",
    "fcntl?": "runtime",
    "syslog?": "net:local",
}


def _linked_names(facts: Facts, permission: str) -> list[str]:
    return sorted(name for granted, name in _linked_only(facts) if granted == permission)[:1]


def _calls(facts: Facts) -> tuple[Call, ...]:
    """Every system call with its earliest tier, an own gate before libc's, then the shortest way."""
    best: dict[int, tuple[tuple[object, ...], Call]] = {}

    def offer(number: int, tier: str, chain: tuple[str, ...], *, direct: bool) -> None:
        key = (_RANK[tier], not direct, len(chain), chain)
        if number not in best or key < best[number][0]:
            best[number] = (key, Call(name_of(number), number, tier, chain, direct))

    for use in facts.uses:
        if use.gate and use.name in NUMBERS:
            tier = facts.tier(use.unit, use.function)
            way = facts.way(use.unit, use.function, use.ip, use.gate)
            offer(NUMBERS[use.name], tier, way, direct=True)
    for unit, site in facts.package.sites():
        for number in site.numbers or ():
            plain = number & ~X32
            if site.gate not in ("int80", "sysenter"):
                way = facts.way(unit, site.function, site.ip, site.gate)
                offer(plain, facts.tier(unit, site.function), way, direct=True)
    assert facts.host is not None  # who calls has one
    for name in facts.package.imports():
        tier = facts.tier(OUTSIDE, name)
        for number in facts.host.reach((name,))[0]:
            offer(number, tier, facts.way(OUTSIDE, name), direct=False)
    return tuple(call for _, call in sorted(best.values(), key=lambda pair: pair[1].number))


def _loader(facts: Facts, image: Image) -> tuple[str, ...]:
    """What loading takes: the loader's own calls, and the constructors of the libraries around."""
    if facts.host is None:
        return ()
    numbers = facts.host.reach(_DLOPEN)[0] | facts.host.loads()[0]
    if not _is_library(image):
        numbers |= facts.host.reach(("@start",))[0]  # of the loader, which starts programs
    return tuple(sorted(name_of(number) for number in numbers))


def _coverage(facts: Facts) -> Coverage:
    size = sum(
        one.filesz for unit in facts.package.units for one in unit.analysis.image.loads if one.executable
    )
    graphs = [unit.analysis.graph for unit in facts.package.units]
    if any(graph is None for graph in graphs) or any(unit.analysis.swept for unit in facts.package.units):
        return Coverage(size, None, None, None, None, None, None)
    known = [graph for graph in graphs if graph is not None]
    functions = [one for graph in known for one in graph.functions.by_start.values()]
    indirect = sum(len(one.flow.indirect) for one in functions)
    return Coverage(
        size,
        min(size, sum(one.end - one.start for one in functions)),
        len(functions),
        sum(len(one.flow.gates) for one in functions),
        sum(len(stray_gates(graph)) for graph in known),
        indirect,
        sum(one.flow.invalid for one in functions),
    )


def _assumptions(facts: Facts) -> list[str]:
    host = facts.host
    if host is None:
        return []
    found = []
    libc = host.libc()
    if libc is not None:
        found.append(f"the plugin runs with {libc.name}, build id {build_id(libc.image) or 'none'}")
    else:
        found.append("no C library is known, so what its functions do is not counted")
    if host.services:
        found.append(f"name services are those of nsswitch.conf here: {', '.join(host.services)}")
    found.append("nobody preloads another library (LD_PRELOAD) or replaces one on the way")
    return found
