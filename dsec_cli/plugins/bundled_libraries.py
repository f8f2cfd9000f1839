"""The shared objects of a package that its entrypoint needs, in the order in which they can be loaded."""

from __future__ import annotations

import posixpath

from dsec_cli.plugins.elf import NotElf, read_image
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.signing.bundle import Package

_NEEDED, _SONAME, _RPATH, _RUNPATH = 1, 14, 15, 29


def images_of(package: Package, entry: str) -> tuple[bytes, ...]:
    """The bytes of what is loaded, the entrypoint last; raises NotElf where that cannot be done from memory.

    A loader takes a library that is there already for one that is needed by its SONAME alone.
    """
    order: list[str] = []
    waiting = [(entry, False)]
    seen: set[str] = set()
    while waiting:
        path, done = waiting.pop()
        if done:
            order.append(path)
            continue
        if path in seen:
            continue
        seen.add(path)
        waiting.append((path, True))
        waiting += [(one, False) for one in _needed(package, path)]
    return tuple(package.files[path] for path in order)


def _needed(package: Package, path: str) -> list[str]:
    try:
        image = read_image(package.files[path])
    except NotElf as problem:
        raise NotElf(say("{path} cannot be loaded: it is {why}", path=path, why=str(problem))) from None
    found = []
    for name in image.names(_NEEDED):
        for folder in _folders(image, posixpath.dirname(path)):
            held = posixpath.normpath(posixpath.join(folder, name))
            if held in package.files:
                _check_name(package.files[held], held, name)
                found.append(held)
                break
    return found


def _check_name(data: bytes, path: str, wanted: str) -> None:
    image = read_image(data)
    if wanted not in image.names(_SONAME):
        text = say("{path} is needed as {wanted}, which is not its SONAME", path=path, wanted=wanted)
        raise NotElf(text)


def _folders(image: Image, origin: str) -> list[str]:
    """Folders of the package that RUNPATH and RPATH name."""
    found = []
    for tag in (_RUNPATH, _RPATH):
        for text in image.names(tag):
            for element in text.split(":"):
                where = element.replace("${ORIGIN}", "$ORIGIN")
                if where == "$ORIGIN" or where.startswith("$ORIGIN/"):
                    found.append(posixpath.normpath(posixpath.join(origin, "." + where[len("$ORIGIN") :])))
    return found
