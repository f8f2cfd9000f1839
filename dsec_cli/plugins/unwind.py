"""Functions as the unwind tables know them: start and size of each, through the sorted search table.

Shape of the tables: System V ABI, and the Linux Standard Base on `.eh_frame_hdr`.
"""

from __future__ import annotations

import struct

from dsec_cli.plugins.elf import PT_GNU_EH_FRAME, Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.elf import Image

_PAIR = struct.Struct("<ii")
_SIZES = {0x0: 8, 0x2: 2, 0x3: 4, 0x4: 8, 0xA: 2, 0xB: 4, 0xC: 8}


def function_ranges(image: Image) -> list[tuple[int, int]]:
    """(start, end) of every function with unwind data, by start; [] where there is none."""
    header = next((one for one in image.segments if one.kind == PT_GNU_EH_FRAME), None)
    if header is None:
        return []
    try:
        return _through_table(image, header.vaddr)
    except (Malformed, struct.error):
        image.problems.append("the table of unwind data is outside of the file")
        return []


def function_starts(image: Image) -> tuple[list[tuple[int, int]], Sizes]:
    """(start, entry) of every function by start, and what tells sizes by their entries, when asked."""
    header = next((one for one in image.segments if one.kind == PT_GNU_EH_FRAME), None)
    sizes = Sizes(image)
    if header is None:
        return [], sizes
    try:
        return sorted(_table(image, header.vaddr)), sizes
    except (Malformed, struct.error):
        image.problems.append("the table of unwind data is outside of the file")
        return [], sizes


def _through_table(image: Image, header: int) -> list[tuple[int, int]]:
    sizes = Sizes(image)
    found = ((start, sizes.of(entry)) for start, entry in _table(image, header))
    return sorted((start, start + size) for start, size in found if size)


def _table(image: Image, header: int) -> list[tuple[int, int]]:
    """(start, entry) as the search table has them."""
    version, pointer, count_kind, table_kind = image.take(header, 4)
    if version != 1 or table_kind != 0x3B or count_kind not in (0x03, 0x0B) or pointer & 0x0F not in _SIZES:
        image.problems.append("the table of unwind data has a shape that we do not read")
        return []
    at = header + 4 + _SIZES[pointer & 0x0F]
    (count,) = struct.unpack("<I", image.take(at, 4))
    held = min(count, (image.left(at + 4)) // _PAIR.size)
    if held < count:
        image.problems.append(f"{count} functions are announced in the unwind data, {held} fit")
    pairs = _PAIR.iter_unpack(image.take(at + 4, held * _PAIR.size))
    return [(header + start, header + entry) for start, entry in pairs]


class Sizes:
    """Sizes of functions by the addresses of their entries; common heads are read once."""

    __slots__ = ("_encodings", "_image")

    def __init__(self, image: Image) -> None:
        self._image = image
        self._encodings: dict[int, int] = {}

    def of(self, entry: int) -> int:
        """Bytes of code that the entry at an address covers; 0 where it cannot be told."""
        image = self._image
        length, back = struct.unpack("<II", image.take(entry, 8))
        if length in (0, 0xFFFFFFFF) or back == 0:
            return 0
        head = entry + 4 - back
        kind = self._encodings.get(head)
        if kind is None:
            kind = self._encodings[head] = _encoding(image, head)
        width = _SIZES.get(kind & 0x0F, 0)
        if width not in (4, 8):
            return 0
        raw = image.take(entry + 8 + width, width)
        return int.from_bytes(raw, "little")


def _encoding(image: Image, head: int) -> int:
    """How the addresses of a common head's entries are written (letter R of its augmentation)."""
    raw = image.take(head, min(64, image.left(head)))
    end = raw.find(b"\0", 9)
    if end < 0:
        return 0xFF
    letters, at = raw[9:end], end + 1
    at = _skip(raw, _skip(raw, at)) + 1
    if not letters.startswith(b"z"):
        return 0x00
    at = _skip(raw, at)
    for letter in letters[1:]:
        if letter == ord("R"):
            return raw[at] if at < len(raw) else 0xFF
        at += 1 if letter == ord("L") else 0
        if letter == ord("P"):
            at += 1 + _SIZES.get(raw[at] & 0x0F, 8) if at < len(raw) else 1
    return 0x00


def _skip(raw: bytes, at: int) -> int:
    """The place behind a variable-length number."""
    while at < len(raw) and raw[at] & 0x80:
        at += 1
    return at + 1
