"""Everything that is decoded: what was encoded comes back, and of other bytes only our own words."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.store import packform, pieces, statcache, trees
from dsec.store.compression import Codec, CodecError, Zlib, Zstd
from dsec.store.segment import Segment

IDS = st.binary(min_size=32, max_size=32)
NAMES = st.binary(min_size=1, max_size=20).filter(
    lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
)
FILES = st.tuples(
    NAMES, st.just(trees.FILE), st.integers(0, 0o777), st.integers(-(1 << 62), 1 << 62),
    st.integers(0, 1 << 50), IDS, st.just(b""),
)  # fmt: skip
PIECED = st.tuples(
    NAMES, st.just(trees.PIECES), st.just(0o644), st.just(0), st.integers(0, 1 << 50), IDS, IDS
)
LINKS = st.binary(min_size=1, max_size=30).flatmap(
    lambda to: st.tuples(
        NAMES, st.just(trees.LINK), st.just(0o777), st.just(5), st.just(len(to)), IDS, st.just(to)
    )
)
ROWS = st.lists(FILES | PIECED | LINKS, max_size=8, unique_by=lambda row: row[0]).map(sorted)


def mutated(data: bytes, at: int, bit: int, cut: int) -> bytes:
    """The bytes with one bit flipped, or cut off."""
    if not data:
        return data
    at %= len(data)
    flipped = data[:at] + bytes((data[at] ^ (1 << bit),)) + data[at + 1 :]
    return flipped[: len(flipped) - cut] if cut else flipped


MUTATIONS = st.tuples(st.integers(0, 10_000), st.integers(0, 7), st.integers(0, 3))


@given(ROWS)
def test_a_tree_comes_back(rows):
    assert trees.decoded(trees.encoded(rows)) == rows


@pytest.mark.battery
@given(ROWS, MUTATIONS)
def test_a_tree_that_is_none(rows, how):
    data = mutated(trees.encoded(rows), *how)
    try:
        again = trees.decoded(data)
    except trees.TreeError:
        return
    assert trees.encoded(again) == data


@given(st.binary(max_size=300))
def test_any_bytes_are_a_tree_or_none(data):
    for decode, error in ((trees.decoded, trees.TreeError), (pieces.decoded, pieces.ListError)):
        with pytest.raises(error):
            decode(data)


def row(name=b"a", kind=trees.FILE, mode=0o644, size=1, extra=b""):
    return (name, kind, mode, 0, size, bytes(32), extra)


@pytest.mark.parametrize(
    "rows",
    [
        [row(b"..")], [row(b".")], [row(b"")], [row(b"a/b")], [row(b"/etc")], [row(b"a\0")],
        [row(b"b"), row(b"a")], [row(b"a"), row(b"a")], [row(kind=ord("x"))], [row(mode=0o4755)],
        [row(mode=0o100644)], [row(kind=trees.LINK, size=0)], [row(kind=trees.LINK, size=1 << 20)],
        [row(kind=trees.PIECES)],
    ],
)  # fmt: skip
def test_a_hostile_tree_is_none(rows):
    with pytest.raises(trees.TreeError):
        trees.decoded(trees.encoded(rows))


def test_a_tree_of_a_newer_version_says_so():
    data = bytearray(trees.encoded([]))
    data[4] = 2
    with pytest.raises(trees.TreeError, match="newer version"):
        trees.decoded(bytes(data))


def test_a_tree_that_promises_much_takes_no_memory():
    with pytest.raises(trees.TreeError, match="too short"):
        trees.decoded(b"DSTR\1\0\0\0" + b"\xff" * 4)
    with pytest.raises(pieces.ListError):
        pieces.decoded(b"DSLS\1\0\0\0" + b"\xff" * 12)


@given(st.lists(st.tuples(st.integers(1, pieces.PIECE_BYTES), IDS), max_size=6), MUTATIONS)
def test_a_list_comes_back(runs, how):
    size = sum(length for length, _ in runs)
    data = pieces.encoded(runs, size)
    assert pieces.decoded(data) == (runs, size)
    try:
        again = pieces.decoded(mutated(data, *how))
    except pieces.ListError:
        return
    assert pieces.encoded(*again) == mutated(data, *how)


FRAMES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=5)


@given(FRAMES, st.lists(IDS, max_size=6, unique=True), MUTATIONS)
def test_tables_of_a_pack_come_back_and_no_flip_passes(sizes, ids, how):
    frames, at = [], packform.HEADER.size
    for stored, plain in sizes:
        frames.append(packform.Frame(at, stored, plain, 1, os.urandom(16)))
        at += stored
    objects = [(one, 0, 0, 0, 0) for one in sorted(ids)]
    name, tail = packform.ending(objects, frames)
    whole = packform.header() + bytes(at - packform.HEADER.size) + tail
    tables = read(whole)
    assert (tables.name, tables.frames, len(tables)) == (name, tuple(frames), len(objects))
    where = how[0] % (len(tail) + packform.HEADER.size)
    where = where if where < packform.HEADER.size else at + where - packform.HEADER.size
    with pytest.raises((packform.PackError, packform.NewerPackError)):
        read(mutated(whole, where, how[1], 0))
    with pytest.raises((packform.PackError, packform.NewerPackError)):
        read(whole[: len(whole) - 1 - how[2]])


def read(whole: bytes) -> packform.Tables:
    head = whole[: packform.HEADER.size]
    packform.check_header(head)
    place = packform.where(whole[-packform.TRAILER.size :], len(whole))
    return packform.read_tables(head, whole[place[0] : -packform.TRAILER.size], place)


@pytest.mark.parametrize(
    ("begin", "objects", "frames"),
    [(0, 0, 0), (1 << 60, 0, 0), (16, 0xFFFFFFFF, 0), (16, 0, 0xFFFFFFFF), (200, 0, 0), (16, 1, 0)],
)
def test_tables_that_are_said_to_be_elsewhere(begin, objects, frames):
    """Refused by their numbers alone: nothing of that size is ever asked for."""
    trailer = packform.TRAILER.pack(begin, objects, frames, bytes(32), packform.END)
    with pytest.raises(packform.PackError, match="tables are not where"):
        packform.where(trailer, packform.HEADER.size + packform.TRAILER.size)


def test_one_id_twice_is_refused():
    frame = packform.Frame(packform.HEADER.size, 0, 10, 0, bytes(16))
    for names in ((b"a" * 32, b"a" * 32), (b"b" * 32, b"a" * 32)):
        _, tail = packform.ending([(name, 0, at, 1, 0) for at, name in enumerate(names)], [frame])
        with pytest.raises(packform.PackError, match="objects are not where"):
            packform.check_objects(read(packform.header() + tail))


def test_frames_that_overlap_or_are_too_large_are_refused():
    at = packform.HEADER.size
    for frames in (
        [packform.Frame(at, 0, 1, 0, bytes(16)), packform.Frame(at + 1, 0, 1, 0, bytes(16))],
        [packform.Frame(at, 0, packform.LARGEST_FRAME + 1, 0, bytes(16))],
    ):
        _, tail = packform.ending([], frames)
        trailer = packform.TRAILER.unpack(tail[-packform.TRAILER.size :])
        tail = tail[: -packform.TRAILER.size] + packform.TRAILER.pack(at, *trailer[1:])
        with pytest.raises(packform.PackError, match="not one after the other"):
            read(packform.header() + tail)


def test_objects_outside_their_frames_are_refused():
    frame = packform.Frame(packform.HEADER.size, 0, 10, 0, bytes(16))
    for one in ((b"a" * 32, 0, 5, 6, 0), (b"a" * 32, 1, 0, 0, 0), (b"a" * 32, 0, 1 << 31, 1, 0)):
        _, tail = packform.ending([one], [frame])
        with pytest.raises(packform.PackError, match="objects are not where"):
            packform.check_objects(read(packform.header() + tail))


def test_a_pack_of_a_newer_version_says_so():
    head = packform.HEADER.pack(packform.MAGIC, 9, 9, 0)
    with pytest.raises(packform.NewerPackError):
        packform.check_header(head)


@given(st.lists(IDS, min_size=1, max_size=300, unique=True), st.lists(IDS, max_size=30))
def test_ids_are_found_and_others_are_not(ids, others):
    rows = sorted((one, 1, 2, 3, 4) for one in ids)
    segment = Segment(b"xyz" + b"".join(packform.OBJECT.pack(*one) for one in rows), 3, len(rows))
    for at, one in enumerate(rows):
        assert segment.find(one[0]) == at
        assert segment.row(at) == one
    assert all(segment.find(one) == -1 for one in set(others) - set(ids))


def test_ids_that_are_not_evenly_spread_are_found():
    ids = [bytes(30) + at.to_bytes(2, "big") for at in range(3000)]
    segment = Segment(b"".join(packform.OBJECT.pack(one, 0, 0, 0, 0) for one in ids), 0, len(ids))
    assert [segment.find(one) for one in ids] == list(range(3000))
    assert segment.find(b"\xff" * 32) == -1
    assert segment.find(bytes(30) + (5000).to_bytes(2, "big")) == -1


SEEN = st.dictionaries(
    st.binary(max_size=10),
    st.tuples(st.binary(max_size=20), st.binary(max_size=80), st.binary(max_size=50), st.binary(max_size=64)),
    max_size=6,
)


@given(SEEN, MUTATIONS)
def test_a_cache_comes_back_and_a_damaged_one_is_empty(folders, how):
    rows = [(path, statcache.Seen(*parts, (1, 2, 3, 4), bytes(32))) for path, parts in folders.items()]
    data = statcache.encoded([statcache.packed(*row) for row in rows], ["ab" * 32])
    cache = statcache.StatCache(data, frozenset(["ab" * 32]))
    assert cache.vouched
    assert {path: cache.get(path) for path in folders} == dict(rows)
    assert not statcache.StatCache(data, frozenset()).vouched
    assert len(statcache.StatCache(mutated(data, *how), frozenset(["ab" * 32]))) == 0


@pytest.mark.parametrize("compressor", [Zstd, Zlib])
def test_a_bomb_does_not_go_off(compressor):
    bomb = compressor().compress(bytes(64 << 20), 1)
    for size in (0, 10, 1 << 20, (64 << 20) - 1):
        with pytest.raises(CodecError):
            compressor().decompress(bomb, size)


@given(st.integers(0, 255), st.binary(max_size=100), st.integers(0, 200))
def test_any_bytes_decompress_to_that_length_or_to_none(code, stored, size):
    try:
        assert len(Codec().unpack(code, stored, size)) == size
    except CodecError:
        return


@given(st.binary(min_size=1, max_size=200), MUTATIONS)
def test_a_damaged_frame_never_gives_another_length(data, how):
    code, stored = Codec().pack_piece(data * 200)
    try:
        assert len(Codec().unpack(code, mutated(stored, *how), len(data) * 200)) == len(data) * 200
    except CodecError:
        return
