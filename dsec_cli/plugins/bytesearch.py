"""Searches files for bytes, a piece at a time: quick, and without holding all of them.

What several checks look for in a large file is looked for in one pass over it, by numpy where it is.
"""

from __future__ import annotations

from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dsec_cli.plugins.elf import Image, Segment

_PIECE = 1 << 22
CHUNK = 1 << 18
"""Bytes that are compared at once: they and the results stay in the processor's cache."""
_WORTH_NUMPY = 32 << 20
_GATES = (b"\x0f\x05", b"\xcd\x80", b"\x0f\x34")
"""syscall, int 0x80, sysenter."""
_TOGETHER = (*_GATES, b"\xff\x25", b"\x7fE", b"vd", b"/p")
"""Beginnings of what is looked for in every file: gates, linkage stubs, ELF headers, names of files."""


def find_all(image: Image, wanted: bytes, start: int = 0, end: int | None = None) -> Iterator[int]:
    """The offsets of some bytes in a stretch of the file, ascending."""
    stop = image.size if end is None else min(end, image.size)
    begun = _begun(image).get(wanted[:2]) if image.size >= _WORTH_NUMPY else None
    if begun is None:
        yield from _one_by_one(image, wanted, start, stop)
        return
    for at in begun[bisect_left(begun, start) : bisect_left(begun, stop - len(wanted) + 1)]:
        if len(wanted) == 2 or image.data[at : at + len(wanted)] == wanted:
            yield at


def _one_by_one(image: Image, wanted: bytes, start: int, stop: int) -> Iterator[int]:
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
    found = [at for pair in _GATES for at in find_all(image, pair, start, end)]
    return sorted(at - segment.offset + segment.vaddr for at in found)


def _begun(image: Image) -> dict[bytes, list[int]]:
    """Where each of the pairs stands that are looked for together; {} without numpy."""
    if image.pairs is None:
        image.pairs = {}
        try:
            import numpy as np
        except ImportError:
            return image.pairs
        codes = [int.from_bytes(pair, "little") for pair in _TOGETHER]
        found: dict[int, list[int]] = {code: [] for code in codes}
        room = np.empty(CHUNK // 2, dtype=bool), np.empty(CHUNK // 2, dtype=bool)
        for words, where in words_of(np, image, 0, image.size):
            _compare(np, words, where, found=found, room=room)
        image.pairs = {pair: sorted(found[code]) for pair, code in zip(_TOGETHER, codes, strict=True)}
    return image.pairs


def words_of(np: Any, image: Image, start: int, end: int) -> Iterator[tuple[Any, int]]:
    """All words of two bytes in a stretch of the file: pieces by turns at even and at odd distances.

    Each with the offset where it begins. Four bytes that begin in a piece are whole in it.
    """
    for begin in range(start, end, CHUNK):
        stop = min(begin + CHUNK + 2, end)
        yield np.frombuffer(image.data, dtype="<u2", count=(stop - begin) // 2, offset=begin), begin
        odd = image.data[begin + 1 : min(stop + 1, end)]  # a copy is quicker than words that lie askew
        yield np.frombuffer(odd, dtype="<u2", count=len(odd) // 2), begin + 1


def _compare(np: Any, words: Any, begin: int, *, found: dict[int, list[int]], room: tuple[Any, Any]) -> None:
    """Add the offsets of some words in a piece that stands at `begin`."""
    words = words[: CHUNK // 2]
    hit, one = (space[: len(words)] for space in room)
    first, *others = found
    np.equal(words, np.uint16(first), out=hit)
    for code in others:
        np.equal(words, np.uint16(code), out=one)
        np.logical_or(hit, one, out=hit)
    for at in hit.nonzero()[0].tolist():
        found[int(words[at])].append(begin + 2 * at)
