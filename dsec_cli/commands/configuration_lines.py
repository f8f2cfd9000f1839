"""Tells on which line of a TOML text a key stands, which the TOML library does not."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[str | int, ...]

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_NAME = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_TABLE = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_NAME})[ \t]*\]\]?[ \t]*(?:#.*)?")
_ENTRY = re.compile(rf"[ \t]*({_NAME})[ \t]*=(.*)")
_INLINE = re.compile(rf"[{{,][ \t]*({_NAME})[ \t]*=")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|' + r"'[^']*'|#.*")


class Lines:
    """The lines of one text that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self._known: dict[Path, int] = {}
        for path, line in _places(text):
            self._known.setdefault(path, line)

    def of(self, path: Path) -> int:
        """The line of the key at `path`, or of what it belongs to, as near as can be told."""
        while path and path not in self._known:
            path = path[:-1]
        return self._known.get(path, 1)


def _places(text: str) -> Iterator[tuple[Path, int]]:
    """Each key, each table and each table of a list, with its line."""
    table: Path = ()
    counts: dict[Path, int] = {}
    open_brackets = 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = _STRINGS.sub("", line)
        if open_brackets > 0:
            open_brackets += _opened(bare)
            continue
        found = _TABLE.fullmatch(line.rstrip("\r"))
        if found:
            table = _parts(found[2])
            if found[1] == "[[":
                yield table, number
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
            continue
        entry = _ENTRY.match(line)
        if entry:
            path = (*table, *_parts(entry[1]))
            yield path, number
            yield from (((*path, *_parts(inner)), number) for inner in _INLINE.findall(entry[2]))
            open_brackets = _opened(_STRINGS.sub("", entry[2]))


def _opened(bare: str) -> int:
    return bare.count("[") + bare.count("{") - bare.count("]") - bare.count("}")


def _parts(name: str) -> Path:
    """`tool."dsec".lint` in parts."""
    return tuple(part.strip("\"'") for part in re.findall(_PART, name))
