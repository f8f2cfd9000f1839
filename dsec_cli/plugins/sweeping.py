"""Finds the functions of a large image that matter, without decoding all of it.

Bytes that would be a gate into the kernel, and distances that would lead to a wanted import, are looked
for at every offset; only the functions that hold one are decoded. Ways between functions stay unknown.
"""

from __future__ import annotations

from bisect import bisect_right

from dsec_cli.plugins.bytesearch import gate_pairs, words_of
from dsec_cli.plugins.functions import Function, Functions, find_stubs
from dsec_cli.plugins.unwind import function_starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dsec_cli.plugins.decoding import Door
    from dsec_cli.plugins.elf import Image, Segment
    from dsec_cli.plugins.symbols import Bindings, Symbol

_GAP = 1 << 21
"""Targets that are nearer to each other than this are looked for at once."""
_MOST_FUNCTION = 1 << 20


def sweep(
    image: Image, symbols: tuple[Symbol, ...], bindings: Bindings, door: Door, wanted: frozenset[str]
) -> Functions:
    """The functions that hold a gate or refer to a wanted import, decoded."""
    found = Functions()
    texts = tuple(one for one in image.loads if one.executable)
    table, sizes = function_starts(image)
    found.unwind = len(table)
    starts = [start for start, _ in table]
    find_stubs(image, texts, bindings, found, starts, lambda at: starts[at] + sizes.of(table[at][1]))
    named = {at for at, symbol in enumerate(symbols) if symbol.name in wanted}
    slots = {slot for slot, at in bindings.named.items() if at in named}
    targets = slots | {stub for stub, slot in found.stubs.items() if slot in slots}
    found.pairs = [at for segment in texts for at in gate_pairs(image, segment)]
    places = set(found.pairs)
    for segment in texts if starts and targets else ():
        places.update(distances(image, segment, targets))
    for at in sorted({bisect_right(starts, address) - 1 for address in places} - {-1}):
        start, entry = table[at]
        _decode(image, door, (start, start + sizes.of(entry)), found)
    found.starts = sorted(found.by_start)
    return found


def distances(image: Image, segment: Segment, targets: set[int]) -> Iterator[int]:
    """Addresses of four bytes that, as a distance from behind them, lead to a target.

    The upper half of such a distance can have few values only: those are looked for at every offset.
    """
    try:
        import numpy as np
    except ImportError:
        return
    aims = np.array(sorted(targets), dtype="<i8")
    spans = _spans(aims.tolist())
    shift = segment.vaddr - segment.offset
    for words, begin in words_of(np, image, segment.offset, segment.offset + segment.filesz):
        for low, high in spans:
            yield from _leading(np, words, begin + shift, (low, high), aims=aims)


def _leading(np: Any, words: Any, where: int, span: tuple[int, int], *, aims: Any) -> Iterator[int]:
    """Those of a piece of code, as words of two bytes from `where` on, that lead to one of `aims`."""
    first = (span[0] - where - 2 * len(words) - 4) >> 16
    last = (span[1] - where - 4) >> 16
    uppers = words[1:] - np.uint16(first & 0xFFFF)
    at = (uppers <= np.uint16(min(last - first, 0xFFFF))).nonzero()[0]
    reached = where + 2 * at + 4 + (words[at + 1].astype("<i2").astype("<i8") << 16) + words[at]
    place = np.searchsorted(aims, reached)
    hit = aims[np.minimum(place, len(aims) - 1)] == reached
    yield from (where + 2 * at[hit]).tolist()


def _spans(targets: list[int]) -> list[tuple[int, int]]:
    """Few ranges that hold all targets."""
    spans = [(targets[0], targets[0] + 1)]
    for one in targets[1:]:
        if one - spans[-1][1] > _GAP:
            spans.append((one, one + 1))
        else:
            spans[-1] = (spans[-1][0], one + 1)
    return spans


def _decode(image: Image, door: Door, extent: tuple[int, int], found: Functions) -> None:
    start, end = extent
    end = min(end, start + _MOST_FUNCTION)
    code = bytes(image.take(start, end - start))
    found.by_start[start] = Function(start, end, door.flow(code, start, whole=True), known=True)
