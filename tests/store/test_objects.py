"""Bytes in, bytes out, under their hash."""

from __future__ import annotations

import os

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from dsec.store import Missing, StoreProblem, open_store
from dsec.store.compression import Codec, Zlib


def test_an_id_is_what_b3sum_prints(store):
    assert store.put_bytes(b"abc") == "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 5 << 20])
def test_what_is_put_in_comes_out(place, size):
    data = os.urandom(min(size, 1 << 20)) * -(-size // (1 << 20)) if size else b""
    data = data[:size]
    with open_store(str(place)) as store:
        name = store.put_bytes(data)
        assert store.get_bytes(name) == data
    with open_store(str(place)) as store:
        assert store.get_bytes(name) == data
        assert name in store


def test_many_small_ones_and_large_ones_in_turn(place):
    parts = [os.urandom(7 * at) + b"x" * 1000 * at for at in range(200)] + [b"y" * (3 << 20), b"last"]
    with open_store(str(place)) as store:
        names = [store.put_bytes(part) for part in parts]
    with open_store(str(place)) as store:
        assert [store.get_bytes(name) for name in names] == parts
        assert store.verify().damage == ()


def test_equal_bytes_are_kept_once(place):
    with open_store(str(place)) as store:
        first = store.put_bytes(os.urandom(100_000) * 2)
    with open_store(str(place)) as store:
        before = store.usage()
        assert store.put_bytes(store.get_bytes(first)) == first
        assert store.usage() == before


def test_what_is_not_there_is_missing(store):
    with pytest.raises(Missing, match="nothing with the id"):
        store.get_bytes("0" * 64)
    assert "0" * 64 not in store


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "ab" * 31, "ab " * 32, "\u0661" * 64])
def test_an_id_that_is_none(store, text):
    with pytest.raises(StoreProblem, match="is no id"):
        store.get_bytes(text)


@given(st.binary(max_size=3000), st.integers(0, 40))
def test_a_frame_decompresses_to_what_was_packed(data, times):
    data = data * (times + 1)
    codec = Codec()
    for packed in (codec.pack(data), codec.pack_piece(data), Codec(Zlib()).pack(data)):
        assert codec.unpack(*packed, len(data)) == data


def test_floats_are_split_into_planes_and_come_back():
    import array
    import random

    draw = random.Random(1)
    floats = array.array("f", [draw.gauss(0, 0.02) for _ in range(1 << 16)]).tobytes()
    halves = b"".join(floats[at + 2 : at + 4] for at in range(0, len(floats), 4))
    for data, planes, most in ((floats, 4, 0.92), (halves, 2, 0.75), (halves + b"x", 2, 0.75)):
        code, stored = Codec().pack_piece(data)
        assert code >> 4 == planes
        assert len(stored) < most * len(data)
        assert Codec().unpack(code, stored, len(data)) == data


def test_what_cannot_be_compressed_is_stored_plainly():
    data = os.urandom(1 << 18)
    assert Codec().pack_piece(data) == (0, data)
    assert Codec().pack(data) == (0, data)


def test_the_ids_of_a_large_store_are_found(place):
    parts = [b"%d" % at for at in range(5000)]
    with open_store(str(place)) as store:
        names = [store.put_bytes(part) for part in parts]
    with open_store(str(place)) as store:
        assert all(name in store for name in names)
        absent = [blake3(b"no %d" % at).hexdigest() for at in range(2000)]
        assert not any(name in store for name in absent)
        assert not any(edge * 64 in store for edge in "0f")
