"""Searches large files for bytes, a piece at a time: quick, and without holding all of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.elf import Image, Segment

_PIECE = 1 << 22
_SLICE = 1 << 19
_WORTH_NUMPY = 32 << 20
_PAIRS = (b"\x0f\x05", b"\xcd\x80", b"\x0f\x34")
"""syscall, int 0x80, sysenter."""


def find_all(image: Image, wanted: bytes, start: int = 0, end: int | None = None) -> Iterator[int]:
    """The offsets of some bytes in a stretch of the file, ascending."""
    stop = image.size if end is None else min(end, image.size)
    more = len(wanted) - 1
    for begin in range(start, stop, _PIECE):
        piece = image.data[begin : min(begin + _PIECE + more, stop)]
        at = piece.find(wanted)
        while at >= 0:
            yield begin + at
            at = piece.find(wanted, at + 1)


def gate_pairs(image: Image, segment: Segment) -> list[int]:
    """The addresses in a segment of bytes that would enter the kernel if they ran."""
    start, end = segment.offset, segment.offset + segment.filesz
    if segment.filesz < _WORTH_NUMPY:
        found = [at for pair in _PAIRS for at in find_all(image, pair, start, end)]
    else:
        found = list(_pairs_at_once(image, start, end))
    return sorted(at - segment.offset + segment.vaddr for at in found)


def _pairs_at_once(image: Image, start: int, end: int) -> Iterator[int]:
    """All three pairs in one go, by numpy where it is."""
    try:
        import numpy as np
    except ImportError:
        for pair in _PAIRS:
            yield from find_all(image, pair, start, end)
        return
    wanted = [int.from_bytes(pair, "little") for pair in _PAIRS]
    for begin in range(start, end, _SLICE):
        raw = image.data[begin : min(begin + _SLICE + 1, end)]
        for shift in (0, 1):
            words = np.frombuffer(raw, dtype="<u2", count=(len(raw) - shift) // 2, offset=shift)
            hit = (words == wanted[0]) | (words == wanted[1]) | (words == wanted[2])
            yield from (begin + shift + 2 * at for at in np.flatnonzero(hit).tolist())
