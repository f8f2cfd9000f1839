"""The libraries around a plugin: what each name that it imports leads to in the kernel."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from dsec_cli.plugins import mapcache
from dsec_cli.plugins.elf import EM_X86_64
from dsec_cli.plugins.libcmap import LibraryMap, map_library
from dsec_cli.plugins.notes import build_id
from dsec_cli.plugins.unwind import function_starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.plugins.decoding import Door
    from dsec_cli.plugins.libraries import Finder, Library

_LIBC = ("libc.so.6", "libc.musl-x86_64.so.1", "libc.so")
_LOADER = "ld-linux-x86-64.so.2"


@dataclass(slots=True)
class Host:
    """Maps of the libraries that the plugin is loaded with, in the loader's order."""

    libraries: list[tuple[Library, LibraryMap]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unmapped: list[str] = field(default_factory=list)
    """Libraries that are there, but could not be mapped, with the reason."""
    services: tuple[str, ...] = ()
    """Name services that the target's nsswitch.conf names."""

    def libc(self) -> Library | None:
        """The C library."""
        return next((one for one, _ in self.libraries if one.name in _LIBC), None)

    def provides(self, name: str) -> Library | None:
        """The library that exports a name, as code or as data."""
        held = (one for one, found in self.libraries if name in found.exports or name in found.objects)
        return next(held, None)

    def has_function(self, name: str) -> bool:
        """Whether a library exports a function of that name."""
        return any(name in found.exports for _, found in self.libraries)

    def reach(self, names: Iterable[str]) -> tuple[set[int], set[str]]:
        """The system calls that names lead to, and the names that no library here provides."""
        reached: set[int] = set()
        unknown: set[str] = set()
        seen: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            held = (
                [self._late(name)]
                if name in _LATE
                else [self._start() if name == "@start" else self._of(name)]
            )
            for one in held:
                if one is None:
                    unknown.add(name)
                    continue
                reached.update(one[0])
                waiting += one[1]
        return reached, unknown

    def _of(self, name: str) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
        for _, found in self.libraries:
            held = found.of(name)
            if held is not None:
                return held
        return None

    def _start(self) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
        """What the loader does to start a program."""
        found = next((held for library, held in self.libraries if library.name == _LOADER), None)
        return found.of("@start") if found is not None else None

    def _late(self, name: str) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
        """Everything of the libraries that libc loads by itself for a purpose."""
        wanted = {"@nss": "libnss_", "@libgcc_s": "libgcc_s"}.get(name)
        if wanted is None:
            return (), ()
        calls: set[int] = set()
        names: set[str] = set()
        loaded = self._with_needed(
            [library.name for library, _ in self.libraries if library.name.startswith(wanted)]
        )
        for library, found in self.libraries:
            exports = ["@load"] if library.name in loaded else []
            if library.name.startswith(wanted):
                exports.append("@all")
            for export in exports:
                held = found.of(export) or ((), ())
                calls.update(held[0])
                names.update(held[1])
        return tuple(sorted(calls)), tuple(sorted(names))

    def _with_needed(self, names: list[str]) -> set[str]:
        """Libraries and all that they need."""
        needed = {library.name: found.needed for library, found in self.libraries}
        found: set[str] = set()
        while names:
            name = names.pop()
            if name not in found:
                found.add(name)
                names += needed.get(name, ())
        return found

    def loads(self) -> tuple[set[int], set[str]]:
        """What the libraries' own constructors lead to."""
        reached, unknown = set(), set()
        for _, found in self.libraries:
            held = found.of("@load") or ((), ())
            more, missing = self.reach(held[1])
            reached |= more | set(held[0])
            unknown |= missing
        return reached, unknown


_LATE = frozenset(("@nss", "@gconv", "@libgcc_s"))


def gather(needed: Iterable[str], finder: Finder, door: Door, *, cache: str, sysroot: str) -> Host:
    """Map every library that is needed, and those that libc loads late; `cache`: a folder, or ""."""
    host = Host()
    waiting = list(needed)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        library = finder.find(name, ())
        if library is None:
            host.missing.append(name)
            continue
        found = _mapped(library, door, cache, host)
        if found is not None:
            host.libraries.append((library, found))
            waiting += found.needed
    _add_late(host, finder, door, cache=cache, sysroot=sysroot)
    return host


def _mapped(library: Library, door: Door, cache: str, host: Host) -> LibraryMap | None:
    image = library.image
    if image.machine != EM_X86_64:
        host.unmapped.append(f"{library.name}: only libraries for x86-64 are disassembled")
        return None
    if library.name in _LIBC and not function_starts(image)[0]:
        host.unmapped.append(f"{library.name}: it has no unwind data (musl), so its map would have holes")
        return None
    path = os.path.join(cache, mapcache.key(image.data, build_id(image), door.name)) if cache else ""
    found = mapcache.load(path) if path else None
    if found is None:
        found = map_library(image, door)
        if path:
            mapcache.store(path, found)
    return found


def _add_late(host: Host, finder: Finder, door: Door, *, cache: str, sysroot: str) -> None:
    """The libraries that libc loads by name: those of nsswitch.conf, and the unwinder."""
    if host.libc() is None:
        return
    host.services = _services(os.path.join(sysroot, "etc/nsswitch.conf"))
    known = {library.name for library, _ in host.libraries}
    waiting = [*(f"libnss_{one}.so.2" for one in host.services), "libgcc_s.so.1", _LOADER]
    while waiting:
        name = waiting.pop(0)
        if name in known:
            continue
        known.add(name)
        library = finder.find(name, ())
        found = _mapped(library, door, cache, host) if library is not None else None
        if library is not None and found is not None:
            host.libraries.append((library, found))
            waiting += found.needed


def _services(path: str) -> tuple[str, ...]:
    """The services that a nsswitch.conf names; `files` and `dns` are part of newer libcs, too."""
    found: set[str] = set()
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                _, colon, rest = line.split("#")[0].partition(":")
                words = rest.replace("[", " [").split()
                found.update(word for word in words if colon and word.isidentifier())
    except OSError:
        return ("dns", "files")
    return tuple(sorted(found))
