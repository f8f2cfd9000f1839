"""What a journal is after the power went: any of the blocks that were not synced, in any order."""

from __future__ import annotations

import contextlib
import os
import time
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec import journal as journals
from dsec import packing
from dsec.errors import StoredFormError
from dsec.events import Exit, decode, encode
from dsec.journal import Header, Journal, header_payload, read, walk


class Disk:
    """The file as programs see it, and as the platters have it: blocks reach them by a sync or by chance."""

    def __init__(self, block):
        self.block = block
        self.seen = bytearray()
        self.safe = b""
        self.promised = 0
        """Records that were appended before the last sync."""

    def after_power_loss(self, survives, length):
        """What is found when the machine is on again: `survives(n)` says whether block n got through."""
        found = bytearray(self.seen)
        for at in range(0, len(found), self.block):
            if not survives(at // self.block):
                found[at : at + self.block] = self.safe[at : at + self.block].ljust(
                    min(self.block, len(found) - at), b"\0"
                )
        return bytes(found[: max(length, len(self.safe))])


def payload_of(number, size):
    return encode(Exit(number, "S" * size, number, 1, "ok", 0, None, "", 5, None, None, None, None, None))


def test_a_first_record_of_which_only_the_head_reached_the_disk_is_no_damage(tmp_path):
    disk = tmp_path / "journal"
    journal = Journal(str(disk), clock=time.monotonic)
    for number, size in enumerate((450, 1, 1, 128, 16, 16, 16)):
        journal.append(payload_of(number, size))
    os.close(journal._fd)
    whole = disk.read_bytes()
    torn = whole[:512] + bytes(512) + whole[1024:]
    recorded = read(torn, name="j")
    assert (recorded.payloads, recorded.good_bytes) == ([], 0)
    assert recorded.lost
    with pytest.raises(StoredFormError, match="damaged at byte 0"):
        read(torn.replace(b" ", b"x", 1), name="j")


@pytest.mark.battery
@given(
    sizes=st.lists(st.integers(1, 900), min_size=1, max_size=40),
    syncs=st.sets(st.integers(0, 39)),
    longs=st.sets(st.integers(0, 39)),
    block=st.sampled_from((512, 4096)),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_any_blocks_lost_since_the_last_sync_cost_only_what_was_not_synced(
    tmp_path_factory, sizes, syncs, longs, block, data
):
    path = str(tmp_path_factory.mktemp("j") / "journal")
    disk = Disk(block)
    patch = pytest.MonkeyPatch()
    real_write, real_sync = os.write, os.fdatasync

    def write(handle, line):
        disk.seen += line
        return real_write(handle, line)

    def sync(handle):
        disk.safe = bytes(disk.seen)
        disk.promised = len(payloads)
        real_sync(handle)

    payloads = []
    with patch.context() as patched:
        patched.setattr(journals, "write", write)
        patched.setattr(journals.os, "fdatasync", sync)
        clock = [0.0]
        journal = Journal(path, clock=lambda: clock[0])
        for number, size in enumerate(sizes):
            payload = payload_of(number, size)
            journal.append(payload, long=number in longs)
            payloads.append(payload)
            if number in syncs:
                clock[0] += 0.3
            journal.settle()
        os.close(journal._fd)
    left = data.draw(st.binary(min_size=30, max_size=30))
    length = data.draw(st.integers(0, len(disk.seen)))
    found = disk.after_power_loss(lambda at: left[at % 30] & 1, length)
    recorded = read(found, name="j")
    assert recorded.payloads == payloads[: len(recorded.payloads)], "nothing out of order, nothing twice"
    assert len(recorded.payloads) >= disk.promised, "what was synced is there"
    # Resuming: the rest is cut, and the journal goes on; then it is good to the last byte.
    with open(path, "wb") as file:
        file.write(found)
    again = Journal(path, clock=time.monotonic)
    again.cut(recorded.good_bytes)
    again.append(payload_of(99, 3))
    again.close()
    with open(path, "rb") as file:
        after = read(file.read(), name="j")
    assert after.payloads == [*recorded.payloads, payload_of(99, 3)]
    assert after.torn_bytes == 0


def written(tmp_path, count=200, sync_at=100):
    path = tmp_path / "journal"
    clock = [0.0]
    journal = Journal(str(path), clock=lambda: clock[0])
    for number in range(count):
        journal.append(payload_of(number, 50))
        if number == sync_at:
            clock[0] += 1
            journal.settle()
    os.close(journal._fd)
    return path


def hole(data, begin):
    return data[:begin] + b"\0" * 4096 + data[begin + 4096 :]


def test_a_hole_behind_the_last_sync_is_a_crash_and_one_before_it_is_damage(tmp_path):
    data = written(tmp_path).read_bytes()
    records = data.count(b"\n")
    late = read(hole(data, len(data) - 8192), name="j")
    assert late.lost > 10
    assert 101 < len(late.payloads) < records - late.lost
    with pytest.raises(StoredFormError, match=r"damaged at byte \d+.* good again from byte"):
        read(hole(data, 4096), name="j")


def test_a_journal_of_another_writer_keeps_being_refused(tmp_path):
    """Without a mark nothing is known of what had been synced."""
    data = written(tmp_path).read_bytes().replace(b"+{", b" {")
    with pytest.raises(StoredFormError, match="damaged"):
        read(hole(data, len(data) - 8192), name="j")


def test_a_disk_that_refuses_to_sync_ends_the_run_and_vouches_for_nothing(tmp_path, monkeypatch):
    journal = Journal(str(tmp_path / "journal"), clock=lambda: 9.0)
    journal.append("{}", long=True)

    def refuse(handle):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(journals.os, "fdatasync", refuse)
    journal.settle()
    assert journal.full
    assert journal.trouble == "the journal cannot be written: Input/output error"
    assert journal.sync_due == inf
    monkeypatch.undo()
    journal.append("{}")
    journal.close()
    assert (tmp_path / "journal").read_bytes().count(b"+") == 1, "the first record's"


def long_journal(tmp_path, monkeypatch, count=400):
    monkeypatch.setattr(journals, "PACK_BYTES", 1000)
    monkeypatch.setattr(packing, "_GROUP_BYTES", 5000)
    journal = Journal(str(tmp_path / "journal"), clock=time.monotonic)
    payloads = [header_payload(Header("j", "", "/", 7, ""))]
    payloads += [payload_of(number, 40) for number in range(count)]
    for payload in payloads:
        journal.append(payload)
    return journal, payloads


def test_a_long_journal_is_packed_when_it_is_closed_and_tells_the_same(tmp_path, monkeypatch):
    journal, payloads = long_journal(tmp_path, monkeypatch)
    before = (tmp_path / "journal").stat().st_size
    journal.close()
    assert os.listdir(tmp_path) == ["journal"]
    data = (tmp_path / "journal").read_bytes()
    assert len(data) < before / 5
    assert data.splitlines()[0][18:].decode() == payloads[0], "the header stays legible"
    assert read(data, name="j").payloads == payloads
    # It goes on, is packed again, and a tail is torn as ever.
    monkeypatch.setattr(journals, "PACK_BYTES", 1 << 30)
    again = Journal(str(tmp_path / "journal"), clock=time.monotonic)
    again.cut(len(data))
    again.append(payload_of(1, 1))
    os.close(again._fd)
    data = (tmp_path / "journal").read_bytes()
    assert read(data, name="j").payloads == [*payloads, payload_of(1, 1)]
    assert read(data[:-3], name="j").payloads == payloads


def test_a_run_goes_on_in_its_packed_journal(tmp_path, monkeypatch):
    journal, payloads = long_journal(tmp_path, monkeypatch)
    journal.pack()
    with pytest.raises(BlockingIOError):
        Journal(str(tmp_path / "journal"), clock=time.monotonic)
    journal.append(payload_of(1, 1))
    monkeypatch.setattr(journals, "PACK_BYTES", 1 << 30)
    journal.close()
    assert read((tmp_path / "journal").read_bytes(), name="j").payloads == [*payloads, payload_of(1, 1)]


class Killed(BaseException):
    """Stands for SIGKILL."""


STAGES = ["write", "fsync", "replace", "flock"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("count", range(4))
def test_a_packing_that_is_killed_at_any_step_costs_nothing(tmp_path, monkeypatch, stage, count):
    journal, payloads = long_journal(tmp_path, monkeypatch)
    journal.sync()
    left = [count]
    where = packing.fcntl if stage == "flock" else packing.os
    real, opener, opened = getattr(where, stage), os.open, []

    def kill(*given):
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(where, stage, kill)
        patched.setattr(packing.os, "open", lambda *given: opened.append(opener(*given)) or opened[-1])
        with contextlib.suppress(Killed):
            journal.pack()
    for handle in {journal._fd, *opened}:
        with contextlib.suppress(OSError):  # closed before it was killed
            os.close(handle)
    assert read((tmp_path / "journal").read_bytes(), name="j").payloads == payloads
    again = Journal(str(tmp_path / "journal"), clock=time.monotonic)
    again.pack()
    again.close()
    assert read((tmp_path / "journal").read_bytes(), name="j").payloads == payloads
    assert os.listdir(tmp_path) == ["journal"]


def test_a_packing_on_a_full_disk_leaves_the_journal_as_it_is(tmp_path, monkeypatch):
    journal, payloads = long_journal(tmp_path, monkeypatch)

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packing.os, "write", full)
    journal.close()
    assert os.listdir(tmp_path) == ["journal"]
    assert read((tmp_path / "journal").read_bytes(), name="j").payloads == payloads


@pytest.mark.parametrize(
    "harm", [lambda text: text.replace("A", "B", 5), lambda text: text.replace('"records":2', '"records":3')]
)
def test_packed_records_that_are_not_what_they_say_are_refused(tmp_path, harm):
    good = packing.packed([b'{"a":1}', b'{"b":2}'])
    assert list(packing.unpacked(good.encode())) == ['{"a":1}', '{"b":2}']
    with pytest.raises(StoredFormError, match="packed records cannot be read"):
        walk(journals.record(harm(good)), decode, name="j")
