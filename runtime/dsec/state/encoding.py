"""One block of a tensor in the fewest bytes: what changed since its base, or itself. With numpy.

Encodings, the cheapest of which a block gets:

- `equal`: nothing; the block is its base's.
- `runs`: stretches that changed, as (first element, length) in pairs of u32, then their values XORed with
  the base's, byte plane by byte plane.
- `scatter`: elements that changed here and there: the distances between them, a byte each (255: a u32
  in a second list), then their values XORed with the base's, byte plane by byte plane.
- `xor`: all elements XORed with the base's, byte plane by byte plane (near values share sign and exponent).
- `planes`: all elements themselves, byte plane by byte plane.
- `raw`: the bytes.
- `pages`: what `dsec.state.pagewise` writes where numpy is missing.

A byte plane holds the n-th byte of every element; each is compressed on its own where that helps.
Which one is least is known from counting what changed and from compressing a sample.
"""

from __future__ import annotations

from dsec.state import pagewise
from dsec.state.blocks import EQUAL, PLANES, RAW, RUNS, SCATTER, XOR, Encoded, Stored, cut, packed
from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SCATTERED = 0.35
"""Share of elements above which distances cost more than XORing everything."""
_LONG = 16
"""Elements a changed stretch must have on average for stretches to be cheaper than distances."""
_SAMPLE = 1 << 14


def encode(now: memoryview, base: memoryview | None, width: int, compress: Callable[[Any], bytes]) -> Encoded:
    """The block in its cheapest encoding; `now` and `base` have one length, `width` is bytes per element."""
    import numpy as np

    kind = np.dtype(f"<u{width}")
    mine = np.frombuffer(now, kind)
    if base is None:
        return _whole(np, mine, None, compress)
    theirs = np.frombuffer(base, kind)
    differs = mine != theirs
    count = int(np.count_nonzero(differs))
    if not count:
        return Encoded(EQUAL, (), (), 0)
    if count <= _SCATTERED * mine.size:
        return _few(np, mine, theirs, np.flatnonzero(differs), compress)
    return _whole(np, mine, theirs, compress)._replace(changed=count)


def _few(np: Any, mine: Any, theirs: Any, where: Any, compress: Callable[[Any], bytes]) -> Encoded:
    """The elements `where` the block changed, as stretches or one by one."""
    values = mine[where] ^ theirs[where]
    breaks = np.flatnonzero(np.diff(where) != 1)
    stretches = int(breaks.size) + 1
    if where.size >= _LONG * stretches:
        first = where[np.concatenate(([0], breaks + 1))]
        last = where[np.concatenate((breaks, [where.size - 1]))]
        heads = np.stack((first, last - first + 1), axis=1).astype("<u4")
        encoded = packed(RUNS, _planes(np, values), compress, int(where.size))
        raw = _bytes(np, heads)  # a few pairs: not worth compressing, and their number is their length
        return encoded._replace(parts=(raw, *encoded.parts), lengths=(raw.size, *encoded.lengths))
    gaps = np.diff(where, prepend=-1) - 1
    wide = gaps >= 255
    steps = np.where(wide, 255, gaps).astype(np.uint8)
    far = gaps[wide].astype("<u4")
    return packed(SCATTER, [steps, _bytes(np, far), *_planes(np, values)], compress, int(where.size))


def _whole(np: Any, mine: Any, theirs: Any, compress: Callable[[Any], bytes]) -> Encoded:
    """All elements: XORed with the base's, as planes, or as they are; the least by a sample."""
    begin = max(0, (mine.size - _SAMPLE) // 2)
    sample = mine[begin : begin + _SAMPLE]
    own = _weight(np, sample, compress)
    if theirs is not None:
        mixed = _weight(np, sample ^ theirs[begin : begin + _SAMPLE], compress)
        if mixed < own and mixed < 0.97 * sample.nbytes:
            return packed(XOR, _planes(np, mine ^ theirs), compress, None)
    if own < 0.97 * sample.nbytes:
        return packed(PLANES, _planes(np, mine), compress, None)
    return Encoded(RAW, (_bytes(np, mine),), (mine.nbytes,), None)


def _weight(np: Any, sample: Any, compress: Callable[[Any], bytes]) -> int:
    return sum(min(len(plane), len(compress(plane))) for plane in _planes(np, sample))


def _planes(np: Any, values: Any) -> list[Any]:
    width = values.dtype.itemsize
    if width == 1:
        return [_bytes(np, values)]
    rows = np.ascontiguousarray(values).view(np.uint8).reshape(-1, width)
    return [np.ascontiguousarray(rows[:, at]) for at in range(width)]


def _bytes(np: Any, values: Any) -> Any:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def decode(stored: Stored, into: memoryview, width: int, expand: Callable[[Any, int], bytes]) -> None:
    """Make the block of its base, which lies in `into`; raises StateError for what cannot be."""
    if stored.kind in pagewise.DECODED:
        pagewise.decode(stored, into, expand)
        return
    work = _DECODERS.get(stored.kind)
    if work is None:
        raise StateError(f"a block has the encoding {stored.kind!r}, which this version does not know")
    try:
        import numpy as np
    except ImportError:
        raise StateError("reading this state needs numpy: pip install numpy") from None
    work(np, stored, np.frombuffer(into, np.dtype(f"<u{width}")), expand)


def _joined(
    np: Any, parts: list[tuple[memoryview, bool]], count: int, dtype: Any, expand: Callable[[Any, int], bytes]
) -> Any:
    """Elements from their byte planes."""
    if len(parts) != dtype.itemsize:
        raise StateError(f"a block has {len(parts)} byte planes and not {dtype.itemsize}")
    rows = np.empty((count, dtype.itemsize), np.uint8)
    for at, part in enumerate(parts):
        rows[:, at] = _opened(np, part, count, expand)
    return rows.view(dtype).reshape(-1)


def _opened(np: Any, part: tuple[memoryview, bool], size: int, expand: Callable[[Any, int], bytes]) -> Any:
    data = expand(part[0], size) if part[1] else part[0]
    if len(data) != size:
        raise StateError(f"a part of a block has {len(data)} bytes and not {size}")
    return np.frombuffer(data, np.uint8)


def _of_runs(np: Any, stored: Stored, target: Any, expand: Callable[[Any, int], bytes]) -> None:
    (heads, _), *planes = cut(stored, least=2)
    if len(heads) % 8:
        raise StateError("a block's stretches are no pairs")
    pairs = np.frombuffer(heads, "<u4").reshape(-1, 2).astype(np.int64)
    lengths = pairs[:, 1]
    if int(lengths.sum()) != stored.changed or bool((pairs.sum(axis=1) > target.size).any()):
        raise StateError("a block's stretches reach beyond it")
    starts = np.repeat(pairs[:, 0] - np.cumsum(lengths) + lengths, lengths)
    target[starts + np.arange(stored.changed)] ^= _joined(np, planes, stored.changed, target.dtype, expand)


def _of_scatter(np: Any, stored: Stored, target: Any, expand: Callable[[Any, int], bytes]) -> None:
    steps, far, *planes = cut(stored, least=3)
    gaps = _opened(np, steps, stored.changed, expand).astype(np.int64)
    wide = gaps == 255
    gaps[wide] = _opened(np, far, 4 * int(np.count_nonzero(wide)), expand).view("<u4")
    where = np.cumsum(gaps + 1) - 1
    if where.size and int(where[-1]) >= target.size:
        raise StateError("a block's changes reach beyond it")
    target[where] ^= _joined(np, planes, stored.changed, target.dtype, expand)


def _of_xor(np: Any, stored: Stored, target: Any, expand: Callable[[Any, int], bytes]) -> None:
    target ^= _joined(np, cut(stored), target.size, target.dtype, expand)


def _of_planes(np: Any, stored: Stored, target: Any, expand: Callable[[Any, int], bytes]) -> None:
    target[:] = _joined(np, cut(stored), target.size, target.dtype, expand)


_DECODERS = {RUNS: _of_runs, SCATTER: _of_scatter, XOR: _of_xor, PLANES: _of_planes}
