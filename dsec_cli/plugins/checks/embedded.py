"""Asks: is another program or library hidden in the file."""

from __future__ import annotations

import struct

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding

_MAGIC = b"\x7fELF"
_MOST = 4


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each, the first few of them."""
    for index, unit in enumerate(facts.package.units):
        for at in _found(unit.analysis.image):
            yield finding("embedded-elf", f"at offset {at:#x} of the file", facts, unit=index)


def _found(image: Image) -> Iterator[int]:
    at, count = image.data.find(_MAGIC, 4), 0
    while at >= 0 and count < _MOST:
        if _is_header(image.data[at : at + 64]):
            count += 1
            yield at
        at = image.data.find(_MAGIC, at + 4)


def _is_header(raw: bytes) -> bool:
    """Whether more than the four letters are there, which parsers of ELF files hold as well."""
    if len(raw) < 52 or raw[4] not in (1, 2) or raw[5] not in (1, 2) or raw[6] != 1:
        return False
    kind, machine, version = struct.unpack("<HHI" if raw[5] == 1 else ">HHI", raw[16:24])
    return bool(1 <= kind <= 4 and 0 < machine < 300 and version == 1)


CHECK = Check("embedded", ("embedded-elf",), check)
