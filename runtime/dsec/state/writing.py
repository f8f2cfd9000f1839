"""Writes one state: a delta upon the one before it, or an anchor of its own. Runs beside the training."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from dsec.savefolder import alone
from dsec.state import quantising
from dsec.state.blocks import BLOCK_BYTES, EQUAL, Encoded
from dsec.state.coding import codec_name, compressor, hash_name, hasher
from dsec.state.layout import Placed, kept, same_shapes
from dsec.state.statefile import FORMAT, VERSION, Writing, name_of, places, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

LONGEST_CHAIN = 16
"""Deltas after which an anchor is due: what a reader reads at most beside it."""
ANCHOR_SHARE = 0.5
"""Share of the state that the deltas since the anchor may come to before a new one is due."""


class Base(NamedTuple):
    """The state before: its bytes are still at hand."""

    file: str
    id: str
    placed: dict[str, Placed]
    data: Mapping[str, memoryview]
    """Every tensor's bytes, as they were."""
    links: int
    """Deltas since the anchor, this one included."""
    delta_bytes: int
    """What those came to."""


class Wish(NamedTuple):
    """What is to be written."""

    folder: str
    at: int
    placed: tuple[Placed, ...]
    values: dict[str, Any]
    keep: int
    """Newest states that stay; 0: all."""
    quantise: tuple[str, ...] = ()
    """Patterns of names (fnmatch) of the tensors that are kept as INT8."""


class Component(NamedTuple):
    """What one tensor came to."""

    nbytes: int
    written: int
    encodings: dict[str, int]
    """Blocks per encoding."""
    changed: int | None
    """Elements that differ from the state before; None: there was nothing to compare with."""
    greatest_error: float | None = None
    relative_error: float | None = None


class Result(NamedTuple):
    """What was written."""

    at: int
    file: str
    id: str
    nbytes: int
    """Of the file."""
    tracked: int
    """Of the tensors."""
    anchor: bool
    """Whether it needs no other file."""
    wall_s: float
    cpu_s: float
    components: dict[str, Component]
    links: int
    delta_bytes: int


class _Tools(NamedTuple):
    compress: Callable[[Any], bytes]
    hash: Callable[[Any], str]
    numpy: bool


def write_state(wish: Wish, data: Mapping[str, memoryview], base: Base | None) -> Result:
    """Write the state, whose bytes `data` holds by tensor; raises OSError, and then nothing of it stays."""
    begun, cpu = time.monotonic(), time.process_time()
    tools = _Tools(compressor(codec_name()), hasher(hash_name()), _has_numpy())
    os.makedirs(wish.folder, exist_ok=True)
    with alone(wish.folder):
        sweep(wish.folder)
        before = _usable(wish, base)
        number = 1 + max((place.number for place in places(wish.folder)), default=0)
        file = Writing(wish.folder)
        try:
            entries, components = _tensors(wish, data, before, tools, file)
            anchor = before is None or _independent(components)
            record = _record(wish, entries, None if anchor else before)
            name = name_of(number, wish.at)
            told = file.commit(record, name)
        except BaseException:
            file.drop()
            raise
        if wish.keep:
            prune(wish.folder, keep=wish.keep)
    tracked = sum(one.nbytes for one in kept(wish.placed))
    links, since = (0, 0) if anchor or before is None else (before.links + 1, before.delta_bytes + file.size)
    spent = (time.monotonic() - begun, time.process_time() - cpu)
    return Result(wish.at, name, told, file.size, tracked, anchor, *spent, components, links, since)


def _has_numpy() -> bool:
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True


def _usable(wish: Wish, base: Base | None) -> Base | None:
    """The base, unless an anchor is due or its file is gone."""
    if base is None or base.links >= LONGEST_CHAIN:
        return None
    if base.delta_bytes > ANCHOR_SHARE * sum(one.nbytes for one in base.placed.values()):
        return None
    return base if os.path.exists(os.path.join(wish.folder, base.file)) else None


def _independent(components: dict[str, Component]) -> bool:
    """Whether no tensor was compared with the one before."""
    return all(one.changed is None for one in components.values())


def _tensors(
    wish: Wish, data: Mapping[str, memoryview], before: Base | None, tools: _Tools, file: Writing
) -> tuple[list[dict[str, Any]], dict[str, Component]]:
    entries: list[dict[str, Any]] = []
    components: dict[str, Component] = {}
    for placed in wish.placed:
        entry: dict[str, Any] = {"name": placed.name, "dtype": placed.dtype, "shape": list(placed.shape)}
        entries.append(entry)
        if placed.alias:
            entry["alias"] = placed.alias
            continue
        mine = data[placed.name]
        entry.update(nbytes=placed.nbytes, width=placed.width)
        found = _as_int8(wish, placed, mine, tools, file, entry) if tools.numpy else None
        components[placed.name] = found or _lossless(placed, mine, before, tools, file, entry)
    return entries, components


def _lossless(
    placed: Placed, mine: memoryview, before: Base | None, tools: _Tools, file: Writing, entry: dict[str, Any]
) -> Component:
    """Write one tensor so that it comes back bit by bit."""
    other = before.placed.get(placed.name) if before else None
    theirs = None
    if before is not None and other is not None and same_shapes(placed, other):
        theirs = before.data[placed.name]
    blocks: list[Any] = []
    kinds: dict[str, int] = {}
    changed = written = 0
    for now, then in _pairs(mine, theirs):
        encoded = _encoded(now, then, placed.width, tools)
        kinds[encoded.kind] = kinds.get(encoded.kind, 0) + 1
        changed += encoded.changed or 0
        written += encoded.nbytes
        if encoded.kind == EQUAL:
            blocks.append([EQUAL])
        else:
            blocks.append(_block(encoded, file.add(encoded.parts), tools.hash(now)))
    entry["blocks"] = blocks
    return Component(placed.nbytes, written, kinds, None if theirs is None else changed)


def _encoded(now: memoryview, then: memoryview | None, width: int, tools: _Tools) -> Encoded:
    if tools.numpy:
        from dsec.state import encoding

        return encoding.encode(now, then, width, tools.compress)
    from dsec.state import pagewise

    return pagewise.encode(now, then, tools.compress)


def _as_int8(
    wish: Wish, placed: Placed, mine: memoryview, tools: _Tools, file: Writing, entry: dict[str, Any]
) -> Component | None:
    """Write one tensor quantised, if that was asked for and it can be; None: it cannot."""
    from fnmatch import fnmatchcase

    if placed.dtype not in quantising.FLOATS or not any(
        fnmatchcase(placed.name, one) for one in wish.quantise
    ):
        return None
    error = quantising.Error(0.0, 0.0, 0.0)
    found = []
    for now, _ in _pairs(mine, None):
        one = quantising.quantised(now, placed.dtype, tools.compress)
        if one is None:
            return None
        encoded, back, wrong = one
        error = error.plus(wrong)
        found.append((encoded, tools.hash(back)))
    entry["blocks"] = [_block(encoded, file.add(encoded.parts), told) for encoded, told in found]
    entry["lossy"] = {"greatest": error.greatest, "relative": error.relative}
    written = sum(encoded.nbytes for encoded, _ in found)
    kinds = {quantising.INT8: len(found)}
    return Component(placed.nbytes, written, kinds, None, error.greatest, error.relative)


def _pairs(mine: memoryview, theirs: memoryview | None) -> Iterator[tuple[memoryview, memoryview | None]]:
    for at in range(0, len(mine), BLOCK_BYTES):
        end = at + BLOCK_BYTES
        yield mine[at:end], None if theirs is None else theirs[at:end]


def _block(encoded: Encoded, offset: int, told: str) -> list[Any]:
    return [encoded.kind, offset, [int(one) for one in encoded.lengths], encoded.changed, told]


def _record(wish: Wish, entries: list[dict[str, Any]], before: Base | None) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": list(VERSION),
        "at": wish.at,
        "base": None if before is None else {"file": before.file, "id": before.id},
        "hash": hash_name(),
        "codec": codec_name(),
        "tensors": entries,
        "values": wish.values,
    }


def prune(folder: str, *, keep: int) -> list[str]:
    """Take away what is neither among the newest `keep` states nor a base of one; gives the names.

    What cannot be read is left alone, and so is everything that it might need.
    """
    from dsec.state.problems import StateError
    from dsec.state.reading import chain_of

    every = places(folder)
    needed: set[str] = set()
    for place in every[-keep:]:
        try:
            needed.update(link.path for link in chain_of(place, every))
        except (StateError, OSError):
            return []
    gone = []
    for place in every[:-keep]:
        if place.path not in needed:
            os.unlink(place.path)
            gone.append(os.path.basename(place.path))
    return gone
