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
_MOST = 4


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each, the first few of them."""
    for index, unit in enumerate(facts.package.units):
        for at in _found(unit.analysis.image):
            yield finding("embedded-elf", f"at offset {at:#x} of the file", facts, unit=index)


def _found(image: Image) -> Iterator[int]:
    headers = (at for at in find_all(image, _MAGIC, 4) if _is_header(image.data[at : at + 64]))
    yield from islice(headers, _MOST)


def _is_header(raw: bytes) -> bool:
    """Whether more than the four letters are there, which parsers of ELF files hold as well."""
    if len(raw) < 52 or raw[4] not in (1, 2) or raw[5] not in (1, 2) or raw[6] != 1:
        return False
    kind, machine, version = struct.unpack("<HHI" if raw[5] == 1 else ">HHI", raw[16:24])
    return bool(1 <= kind <= 4 and 0 < machine < 300 and version == 1)


CHECK = Check("embedded", ("embedded-elf",), check)
