"""Asks: is another program or library hidden in the file."""

from __future__ import annotations

import struct
from itertools import islice

from dsec_cli.plugins.bytesearch import find_all
from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding

_MAGIC = b"\x7fELF"
_IDENT = (b"\x7fELF\x02\x01\x01" + bytes(9), b"\x7fELF\x01\x01\x01" + bytes(9))
"""How files for x86 begin, with 64 bits and with 32."""
_PERIODS = (1, 2, 4, 8)
"""Lengths of keys, in bytes, by which a hidden file may have been masked (xor)."""
_MOST = 4
_PIECE = 1 << 22


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each, the first few of them, also of those that a short key masks."""
    for index, unit in enumerate(facts.package.units):
        for at in _found(unit.analysis.image):
            yield finding("embedded-elf", f"at offset {at:#x} of the file", facts, unit=index)
        for at, key in _masked(unit.analysis.image):
            told = f"at offset {at:#x} of the file, masked by {key.hex()}"
            yield finding("embedded-elf", told, facts, unit=index)


def _found(image: Image) -> Iterator[int]:
    headers = (at for at in find_all(image, _MAGIC, 4) if _is_header(image.data[at : at + 64]))
    yield from islice(headers, _MOST)


def _masked(image: Image) -> list[tuple[int, bytes]]:
    """Where headers stand to whose bytes a short key was added by xor, and the key.

    Bytes that stand one period apart have the same mask, so their difference is that of the plain header.
    """
    found: dict[int, bytes] = {}
    for begin in range(0, image.size, _PIECE):
        raw = bytes(image.data[begin : min(begin + _PIECE + 64, image.size)])
        number = int.from_bytes(raw, "little")
        for period in _PERIODS:
            differences = (number ^ number >> 8 * period).to_bytes(len(raw), "little")
            for at, ident in _starts(differences, period):
                key = bytes(one ^ other for one, other in zip(raw[at:], ident[:period], strict=False))
                plain = bytes(one ^ key[place % period] for place, one in enumerate(raw[at : at + 64]))
                if any(key) and _is_header(plain):
                    found.setdefault(begin + at, key)
        if len(found) >= _MOST:
            break
    return sorted(found.items())[:_MOST]


def _starts(differences: bytes, period: int) -> Iterator[tuple[int, bytes]]:
    for ident in _IDENT:
        wanted = bytes(one ^ other for one, other in zip(ident, ident[period:], strict=False))
        at = differences.find(wanted)
        while at >= 0:
            yield at, ident
            at = differences.find(wanted, at + 1)


def _is_header(raw: bytes) -> bool:
    """Whether more than the four letters are there, which parsers of ELF files hold as well."""
    if len(raw) < 52 or raw[4] not in (1, 2) or raw[5] not in (1, 2) or raw[6] != 1:
        return False
    kind, machine, version = struct.unpack("<HHI" if raw[5] == 1 else ">HHI", raw[16:24])
    return bool(1 <= kind <= 4 and 0 < machine < 300 and version == 1)


CHECK = Check("embedded", ("embedded-elf",), check)
