"""Finds the functions of a large image that matter, without decoding all of it.

Bytes that would be a gate into the kernel, and distances that would lead to a wanted import, are looked
for at every offset; only the functions that hold one are decoded. Ways between functions stay unknown.
"""

from __future__ import annotations

from bisect import bisect_right

from dsec_cli.plugins.bytesearch import gate_pairs
from dsec_cli.plugins.functions import Function, Functions, find_stubs
from dsec_cli.plugins.unwind import function_starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.decoding import Door
    from dsec_cli.plugins.elf import Image, Segment
    from dsec_cli.plugins.symbols import Bindings, Symbol

_CHUNK = 1 << 20
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
    find_stubs(image, texts, bindings, found, starts)
    names = {slot: symbols[at].name for slot, at in bindings.named.items()}
    slots = {slot for slot, name in names.items() if name in wanted}
    targets = slots | {stub for stub, slot in found.stubs.items() if slot in slots}
    found.pairs = [at for segment in texts for at in gate_pairs(image, segment)]
    places = set(found.pairs)
    for segment in texts if starts else ():
        places.update(_distances(image, segment, targets))
    for at in sorted({bisect_right(starts, address) - 1 for address in places} - {-1}):
        start, entry = table[at]
        _decode(image, door, (start, start + sizes.of(entry)), found)
    found.starts = sorted(found.by_start)
    return found


def _distances(image: Image, segment: Segment, targets: set[int]) -> Iterator[int]:
    """Addresses of four bytes that, as a distance from behind them, lead to a target."""
    try:
        import numpy as np
    except ImportError:
        return
    spans = _spans(sorted(targets)) if targets else []
    ramp = np.arange(0, _CHUNK, 4, dtype="<u4")
    reached = np.empty(_CHUNK // 4, dtype="<u4")
    for begin in range(0, segment.filesz, _CHUNK):
        raw = image.data[segment.offset + begin : segment.offset + min(begin + _CHUNK + 3, segment.filesz)]
        for shift in range(4):
            count = min(_CHUNK, len(raw) - shift) // 4
            if count <= 0:
                continue
            words = np.frombuffer(raw, dtype="<u4", count=count, offset=shift)
            behind = segment.vaddr + begin + shift + 4
            for low, high in spans:
                # Sums wrap at 32 bits; what is left is checked.
                np.add(words, ramp[:count], out=reached[:count])
                np.subtract(reached[:count], np.uint32((low - behind) & 0xFFFFFFFF), out=reached[:count])
                for at in np.flatnonzero(reached[:count] < np.uint32(high - low)).tolist():
                    distance = int(words[at]) - ((int(words[at]) & 0x80000000) << 1)
                    if behind + 4 * at + distance in targets:
                        yield behind + 4 * at - 4


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
