"""Scans a plugin: the file and its package taken apart, the libraries around it mapped, the checks asked."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dsec import __version__
from dsec_cli.plugins import summing
from dsec_cli.plugins.analysis import analyse
from dsec_cli.plugins.apis import BY_NAME
from dsec_cli.plugins.check import find_checks
from dsec_cli.plugins.constants import Sockets, judge
from dsec_cli.plugins.decoding import open_door
from dsec_cli.plugins.facts import Facts
from dsec_cli.plugins.following import follow_lookups, loaded_names
from dsec_cli.plugins.hosting import gather
from dsec_cli.plugins.libraries import Finder, open_image, package_folders
from dsec_cli.plugins.mapcache import VERSION
from dsec_cli.plugins.package import Package, Unit, exports_of, reach
from dsec_cli.plugins.uses import WATCHED, uses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.plugins.decoding import Door
    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.hosting import Host
    from dsec_cli.plugins.result import Finding, Scan
    from dsec_cli.plugins.uses import Use

_MOST_UNITS = 64


@dataclass(frozen=True, slots=True)
class Options:
    """What a scan is asked for."""

    sysroot: str = "/"
    libc: str = ""
    cache: str = ""
    """Folder of library maps; "": none."""
    door: str = ""
    """Name of the disassembler; "": the quickest that is installed, `none`: none."""
    exact_bytes: int = 64 << 20
    """Files up to this size are decoded instruction by instruction."""


def scan(path: str, options: Options) -> Scan:
    """Scan a shared object; NotElf and OSError where it cannot be read at all."""
    image = open_image(path)
    door = open_door(options.door) if options.door != "none" else None
    finder = Finder(image.machine, options.sysroot, _given(options.libc))
    package = Package(_units(path, image, finder, door, options))
    bundled = {unit.name for unit in package.units[1:]}
    needed = [name for unit in package.units for name in unit.analysis.image.names(1) if name not in bundled]
    first = uses(package)
    needed += [name for name in loaded_names(package, first) if finder.find(name, ()) is not None]
    host = (
        gather(_with_libc(needed, finder), finder, door, cache=options.cache, sysroot=options.sysroot)
        if door
        else None
    )
    facts = _facts(package, host, finder, first)
    findings = sorted({one for check in find_checks() for one in check.check(facts)}, key=_order)
    return summing.summed(facts, findings, path=path, image=image, tools=_tools(door))


def _given(libc: str) -> dict[str, str]:
    """Libraries that the user named: a libc brings the loader beside it."""
    if not libc:
        return {}
    found = {"libc.so.6": libc}
    loader = os.path.join(os.path.dirname(os.path.abspath(libc)), "ld-linux-x86-64.so.2")
    return found | ({"ld-linux-x86-64.so.2": loader} if os.path.exists(loader) else {})


def _with_libc(needed: list[str], finder: Finder) -> list[str]:
    """What is needed; a plugin without a libc of its own lives in a process that has one."""
    if any(name.startswith(("libc.", "libc-")) for name in needed):
        return needed
    return [*needed, "libc.so.6"] if finder.find("libc.so.6", ()) is not None else needed


def _tools(door: Door | None) -> tuple[tuple[str, str], ...]:
    reader = (door.name, door.version) if door is not None else ("disassembler", "none")
    return (("dsec", __version__), reader, ("library maps", str(VERSION)))


def _units(path: str, image: Image, finder: Finder, door: Door | None, options: Options) -> list[Unit]:
    """The plugin and the libraries of its package, nearest first."""
    found = [_unit(os.path.basename(path), path, image, door, options)]
    waiting = [(image, path)]
    seen: set[str] = set()
    while waiting and len(found) < _MOST_UNITS:
        outer, where = waiting.pop(0)
        folders = package_folders(outer, where)
        for name in outer.names(1):
            if name in seen:
                continue
            seen.add(name)
            library = finder.find(name, folders)
            if library is not None and library.inside:
                found.append(_unit(library.name, library.path, library.image, door, options))
                waiting.append((library.image, library.path))
    return found


def _unit(name: str, path: str, image: Image, door: Door | None, options: Options) -> Unit:
    wanted = WATCHED | {"syscall"} if image.size > options.exact_bytes else None
    analysis = analyse(image, door, wanted=wanted)
    return Unit(name, path, analysis, exports_of(analysis))


def _facts(package: Package, host: Host | None, finder: Finder, first: list[Use]) -> Facts:
    lookups = follow_lookups(package, host, finder, first)
    load = reach(package, package.roots(load=True))
    called = reach(package, package.roots(load=False))
    found = uses(package) if package.extra else first
    images = [unit.analysis.image for unit in package.units]
    sockets = _sockets(found)
    judged = [(use, judge(use, images[use.unit], sockets)) for use in found]
    return Facts(package, load, called, found, judged, host, lookups)


def _sockets(found: Iterable[Use]) -> Sockets:
    """What is done with the sockets that are made."""
    domains: set[int] | None = set()
    rules = set()
    for use in found:
        rules.add(BY_NAME.get(use.name))
        if use.name != "socket" or domains is None:
            continue
        value = use.arguments[0] if use.arguments is not None else None
        domains = domains | value if isinstance(value, frozenset) else None
    known = frozenset(domains) if domains else None
    return Sockets(known, connects=bool(rules & {"connect?", "net:egress"}), listens="listen?" in rules)


_RANKS = {"error": 0, "warning": 1, "info": 2}


def _order(one: Finding) -> tuple[object, ...]:
    return (_RANKS[one.severity], not one.blind, one.code, one.file, one.address or 0, one.message, one.chain)
