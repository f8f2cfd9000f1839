"""The journal keeps what was written, says what is damaged and where, and survives a full disk."""

from __future__ import annotations

import errno
import os
import time
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.errors import StoredFormError
from dsec.events import (
    _CLOSED,
    Cancel,
    Continue,
    DeviceState,
    Drop,
    Exit,
    Notice,
    Pause,
    Retry,
    RunEnd,
    RunStart,
    Spawn,
    WorkerStart,
    WorkerStop,
    decode,
    encode,
)
from dsec.journal import FORMAT, Header, Journal, header_payload, read, read_header, record

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
counts = st.integers(0, 2**53)
maybe = st.none() | counts
devices = st.lists(texts, max_size=3).map(tuple)


def word(kind, field):
    """A word of the closed list of that field."""
    return st.sampled_from(sorted(_CLOSED[kind, field]))


json_texts = st.sampled_from(["null", "1.5", '{"a":[1,"x"]}', '"é"'])
events = st.one_of(
    st.builds(RunStart, counts, counts, counts, counts, texts, counts, st.booleans()),
    st.builds(Spawn, counts, texts, counts, counts, counts, counts, counts, devices, texts, texts),
    st.builds(
        Exit,
        at_us=counts,
        step=texts,
        iteration=counts,
        attempt=counts,
        cause=st.sampled_from(["ok", "exit", "timeout"]),
        code=maybe,
        signal=maybe,
        detail=texts,
        wall_us=counts,
        cpu_us=maybe,
        rss_kb=maybe,
        log_from=maybe,
        log_to=maybe,
        result=st.none() | json_texts,
    ),
    st.builds(Retry, counts, texts, counts, counts, counts),
    st.builds(Drop, counts, texts, counts, texts),
    st.builds(WorkerStart, counts, texts, counts, counts, counts, devices, texts),
    st.builds(WorkerStop, counts, texts, counts, maybe, maybe, texts, maybe, maybe),
    st.builds(Pause, counts, texts, counts, counts, word(Pause, "how"), texts),
    st.builds(Continue, counts, texts, counts, counts),
    st.builds(DeviceState, counts, texts, word(DeviceState, "state"), texts),
    st.builds(Notice, counts, word(Notice, "kind"), texts, st.integers(-1, 9), texts, texts),
    st.builds(Cancel, counts, word(Cancel, "reason")),
    st.builds(RunEnd, counts, word(RunEnd, "outcome"), texts),
)


@given(events)
def test_an_event_comes_back_as_it_was(event):
    assert decode(encode(event)) == event


@given(
    st.lists(st.text(max_size=30).map(lambda text: '{"x":"' + text.replace('"', "") + '"}'), max_size=5),
    st.data(),
)
def test_a_torn_tail_costs_only_itself(payloads, data):
    payloads = [payload.encode("utf-8", "replace").decode() for payload in payloads]
    whole = b"".join(map(record, payloads))
    at = data.draw(st.integers(0, len(whole)))
    found = read(whole[:at], name="journal")
    assert found.payloads == payloads[: len(found.payloads)]
    assert found.good_bytes + found.torn_bytes == at
    assert read(whole[: found.good_bytes], name="journal").payloads == found.payloads
    lengths = [len(record(payload)) for payload in payloads]
    assert len(found.payloads) == sum(sum(lengths[: n + 1]) <= at for n in range(len(lengths)))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (b"\0" * 64, "a block of zeros"),
        (b"garbage\n", "not a record"),
        (record('{"a":1}')[:-4] + b"\n", "not a record"),
    ],
)
def test_damage_in_the_middle_is_refused_with_its_place(harm, words):
    good = record('{"a":1}')
    with pytest.raises(StoredFormError) as caught:
        read(good + harm + good, name="j")
    assert f"damaged at byte {len(good)}" in str(caught.value)
    assert words in str(caught.value)


def test_zeros_at_the_end_are_a_torn_tail():
    good = record('{"a":1}')
    assert read(good + b"\0" * 4096, name="j") == (['{"a":1}'], len(good), 4096, 0)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    try:
        found = read(data, name="j")
    except StoredFormError:
        return
    assert found.good_bytes + found.torn_bytes == len(data)


def test_a_newer_version_is_refused_in_words():
    payload = header_payload(Header("j", "", "/", 0, "")).replace(FORMAT, "dsec.journal/2")
    with pytest.raises(StoredFormError, match=r"dsec\.journal/2.*this dsec reads dsec\.journal/1"):
        read_header([payload], name="j")
    with pytest.raises(StoredFormError, match="unknown kind"):
        decode('{"event":"teleport","at_us":1}')


def test_a_journal_belongs_to_one_process(tmp_path):
    first = Journal(str(tmp_path / "journal"), clock=time.monotonic)
    with pytest.raises(BlockingIOError):
        Journal(str(tmp_path / "journal"), clock=time.monotonic)
    first.close()
    Journal(str(tmp_path / "journal"), clock=time.monotonic).close()
    assert os.listdir(tmp_path) == ["journal"]


class Disk:
    """Stands for os.write on a disk with `room` bytes left; the reserve gives some back."""

    def __init__(self, room):
        self.room = room
        self.real = os.write

    def write(self, fd, data):
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self.real(fd, data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("room", range(0, 120, 7))
def test_a_full_disk_leaves_whole_records_only(tmp_path, monkeypatch, room):
    path = tmp_path / "journal"
    journal = Journal(str(path), clock=time.monotonic)
    disk = Disk(room)
    monkeypatch.setattr("dsec.journal.write", disk.write)
    unlink = os.unlink

    def free(name):
        disk.room += 100
        unlink(name)

    monkeypatch.setattr("dsec.journal.os.unlink", free)
    payloads = [f'{{"n":{n}}}' for n in range(8)]
    for payload in payloads:
        journal.append(payload)
    assert journal.full
    found = read(path.read_bytes(), name="j")
    assert found.torn_bytes == 0
    assert found.payloads == payloads[: len(found.payloads)]
    kept = sum(len(record(payload)) for payload in found.payloads)
    assert kept + len(record(payloads[0])) > room, "the space that was there was used"
    assert len(found.payloads) >= 3, "the reserve was used"


def test_long_attempts_are_synced_at_once_and_short_ones_soon(tmp_path, monkeypatch):
    now = [0.0]
    synced = []
    real = os.fdatasync
    monkeypatch.setattr("dsec.journal.os.fdatasync", lambda fd: (synced.append(now[0]), real(fd)))
    journal = Journal(str(tmp_path / "journal"), clock=lambda: now[0])
    journal.append("{}")
    journal.settle()
    assert synced == []
    assert journal.sync_due == 0.25
    journal.append("{}", long=True)
    journal.settle()
    assert synced == [0.0]
    assert journal.sync_due == inf
    now[0] = 0.3
    journal.append("{}")
    journal.settle()
    assert synced == [0.0, 0.3]
