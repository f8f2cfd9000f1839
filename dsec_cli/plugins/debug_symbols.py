"""Names of inner functions: the file's own symbol table, which strip takes away and no loader reads.

Nothing is concluded from these names, for the file may say there what it likes; they only name addresses
that were found otherwise.
"""

from __future__ import annotations

import re
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.elf import Image

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SHT_SYMTAB, _STT_FUNC, _STT_IFUNC = 2, 2, 10
_MOST_SECTIONS = 4096
_MOST_SYMBOLS = 1 << 20
_NAME = re.compile(rb"[A-Za-z0-9_.$@]{1,200}\0")
"""A name of another form could be taken for a part of the report around it."""


def inner_names(image: Image) -> dict[int, str]:
    """The functions of the symbol table by address; of several at one address the first by name."""
    found: dict[int, str] = {}
    sections = _sections(image)
    for kind, offset, size, link in sections:
        if kind == _SHT_SYMTAB and link < len(sections):
            _, start, length, _ = sections[link]
            raw = bytes(image.data[offset : offset + min(size, _MOST_SYMBOLS * _SYMBOL.size)])
            _read(raw, bytes(image.data[start : start + length]), found)
    return found


def _sections(image: Image) -> list[tuple[int, int, int, int]]:
    """(kind, offset, size, link) of each section header that the file holds."""
    (table,) = struct.unpack("<Q", image.data[40:48])
    size, count = struct.unpack("<HH", image.data[58:62])
    if size != _SECTION.size:
        return []
    raw = bytes(image.data[table : table + min(count, _MOST_SECTIONS) * size])
    rows = _SECTION.iter_unpack(raw[: len(raw) // size * size])
    return [(kind, offset, length, link) for _, kind, _, _, offset, length, link, _, _, _ in rows]


def _read(raw: bytes, strings: bytes, found: dict[int, str]) -> None:
    for name, info, _, section, value, _ in _SYMBOL.iter_unpack(
        raw[: len(raw) // _SYMBOL.size * _SYMBOL.size]
    ):
        if info & 15 not in (_STT_FUNC, _STT_IFUNC) or not section or not value:
            continue
        match = _NAME.match(strings, name)
        if match:
            text = match[0][:-1].decode()
            found[value] = min(found.get(value, text), text)
