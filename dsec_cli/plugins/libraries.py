"""Finds the libraries that a plugin needs: in its package, then where the target's loader looks."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass

from dsec_cli.plugins.elf import Image, NotElf, read_image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MULTIARCH = {62: "x86_64-linux-gnu", 183: "aarch64-linux-gnu"}
_CONF = "etc/ld.so.conf.d"
_MOST_LIBRARIES = 256


@dataclass(frozen=True, slots=True)
class Library:
    """A shared object that is loaded with the plugin."""

    name: str
    path: str
    image: Image
    inside: bool
    """Whether it comes with the plugin, so that it is part of what is judged."""


def open_image(path: str) -> Image:
    """Map a file and read its headers; OSError, NotElf."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        if not size:
            raise NotElf("an empty file")
        return read_image(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ))
    finally:
        os.close(descriptor)


def system_folders(machine: int, sysroot: str) -> tuple[str, ...]:
    """Where the loader looks, below the root of the target's file system."""
    arch = _MULTIARCH.get(machine, "")
    plain = [
        f"lib/{arch}",
        f"usr/lib/{arch}",
        "lib64",
        "usr/lib64",
        "lib",
        "usr/lib",
        f"usr/local/lib/{arch}",
    ]
    named: list[str] = []
    conf = os.path.join(sysroot, _CONF)
    try:
        files = sorted(os.listdir(conf))
    except OSError:
        files = []
    for file in files:
        named += _conf_lines(os.path.join(conf, file))
    wanted = [os.path.join(sysroot, one.lstrip("/")) for one in (*plain, *named) if one.strip("/")]
    return tuple(dict.fromkeys(one for one in wanted if os.path.isdir(one)))


def _conf_lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.strip() for line in file if line.strip().startswith("/")]
    except OSError:
        return []


class Finder:
    """Opens libraries by name, each once."""

    __slots__ = ("_folders", "_known", "given", "machine", "missing")

    def __init__(self, machine: int, sysroot: str, given: dict[str, str]) -> None:
        self.machine = machine
        self.given = given
        """Libraries that the user named, by soname."""
        self.missing: list[str] = []
        self._folders = system_folders(machine, sysroot)
        self._known: dict[str, Library | None] = {}

    def find(self, name: str, package: Iterable[str]) -> Library | None:
        """A needed library; `package`: folders of the plugin where the loader would look first."""
        if name not in self._known and len(self._known) < _MOST_LIBRARIES:
            self._known[name] = self._find(name, tuple(package))
        return self._known.get(name)

    def _find(self, name: str, package: tuple[str, ...]) -> Library | None:
        if name in self.given:
            return self._open(name, self.given[name], inside=False)
        if "/" in name:
            return None
        for folders, inside in ((package, True), (self._folders, False)):
            for folder in folders:
                found = self._open(name, os.path.join(folder, name), inside=inside)
                if found is not None:
                    return found
        self.missing.append(name)
        return None

    def _open(self, name: str, path: str, *, inside: bool) -> Library | None:
        try:
            image = open_image(path)
        except (OSError, NotElf, ValueError):
            return None
        if image.machine != self.machine:
            return None
        return Library(name, os.path.realpath(path), image, inside)


def package_folders(image: Image, path: str) -> tuple[str, ...]:
    """The folders that RUNPATH and RPATH name, as far as they lie beside the file or below its package."""
    origin = os.path.dirname(os.path.realpath(path))
    found = []
    for tag in (29, 15):
        for text in image.names(tag):
            for element in text.split(":"):
                where = element.replace("${ORIGIN}", "$ORIGIN")
                if where == "$ORIGIN" or where.startswith("$ORIGIN/"):
                    found.append(os.path.normpath(origin + where[len("$ORIGIN") :]))
    return tuple(dict.fromkeys(found))
