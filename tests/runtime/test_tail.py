"""A journal that is read while it grows, whatever the pieces it grows by."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec import tail
from dsec.errors import StoredFormError
from dsec.events import Drop, RunEnd, encode
from dsec.journal import Header, header_payload, record
from dsec.tail import Tail

HEADER = Header("j", "hash", "/folder", 1, "boot")
EVENTS = [Drop(at, f"S{at}", 0, "it failed") for at in range(6)]
WHOLE = record(header_payload(HEADER)) + b"".join(record(encode(event)) for event in EVENTS)


@given(cuts=st.lists(st.integers(0, len(WHOLE)), max_size=6), piece=st.sampled_from((300, 1 << 22)))
def test_every_event_once_and_in_order(cuts, piece, tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "journal"
    path.write_bytes(b"")
    reader, found, at = Tail(str(path)), [], 0
    before, tail._PIECE = tail._PIECE, piece
    try:
        for cut in (*sorted(cuts), len(WHOLE)):
            with path.open("ab") as file:
                file.write(WHOLE[at:cut])
            at = cut
            found += reader.events()
    finally:
        tail._PIECE = before
    assert found == EVENTS
    assert reader.header == HEADER
    assert reader.events() == []
    assert reader.anew == 0


def test_a_torn_tail_that_is_cut_and_written_over_is_no_loss(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(WHOLE + record(encode(EVENTS[0]))[:-7])
    reader = Tail(str(path))
    assert reader.events() == EVENTS
    last = RunEnd(9, "succeeded", "")
    path.write_bytes(WHOLE + record(encode(last)))
    assert reader.events() == [last]


def test_another_journal_in_its_place_is_read_from_the_start(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(WHOLE)
    reader = Tail(str(path))
    assert reader.events() == EVENTS
    (tmp_path / "new").write_bytes(WHOLE)
    os.replace(tmp_path / "new", path)
    assert reader.events() is None
    assert reader.events() == EVENTS
    path.write_bytes(WHOLE[:200])
    assert reader.events() is None


def test_damage_is_said_in_words(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(WHOLE[:100] + b"\0" + WHOLE[101:])
    with pytest.raises(StoredFormError, match="damaged at byte"):
        Tail(str(path)).events()


@given(most=st.integers(1, 2 * len(WHOLE)), piece=st.sampled_from((300, 1 << 22)))
def test_a_limit_leaves_the_rest_for_the_next_look(most, piece, tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "journal"
    path.write_bytes(WHOLE)
    reader, found = Tail(str(path)), []
    before, tail._PIECE = tail._PIECE, piece
    try:
        for _ in range(len(WHOLE)):
            found += reader.events(most)
            assert reader.read + reader.unread == len(WHOLE)
            if not reader.unread:
                break
    finally:
        tail._PIECE = before
    assert found == EVENTS
