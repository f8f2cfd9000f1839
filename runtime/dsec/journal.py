"""The journal of a run: an append-only file of checksummed lines, and how it survives damage.

One record per line: 8 hex digits of the payload's length in bytes, a space, 8 hex digits of its
CRC-32, a space, the payload (JSON, UTF-8), LF. `cut -c19-` turns a journal into JSON lines.

Durability. An append is one write(2), so a killed executor loses nothing. `settle` is called
after each batch of events, before anything is started because of them, and syncs the file when
0.25 s passed since the last sync or when an attempt of 0.25 s or more ended in the batch: power
loss costs at most the last quarter second of short Steps and never a long one. The end of a run
is always synced.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from math import inf
from os import write
from zlib import crc32

from dsec.errors import DSecError, StoredFormError
from dsec.record import Record
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = "dsec.journal/1"
SYNC_EVERY_S = 0.25
RESERVE_BYTES = 256 * 1024
"""Kept beside the journal and given up when the disk is full, so that a run can end in order."""

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_HEAD = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8}) (?=\{)")


class DiskFullError(DSecError):
    """The journal cannot grow; the run must stop where it is."""


class Recorded(Record):
    """What a journal holds: its payloads, the length of the good part, and what follows it."""

    payloads: list[str]
    good_bytes: int
    torn_bytes: int


def record(payload: str) -> bytes:
    """One line of a journal."""
    data = payload.encode("utf-8", "surrogatepass")
    return b"%08x %08x %b\n" % (len(data), crc32(data), data)


def read(data: bytes, *, name: str) -> Recorded:
    """Take a journal apart; a torn tail is reported, damage in the middle is refused in words."""
    payloads: list[str] = []
    at = 0
    while True:
        payload = _record_at(data, at)
        if payload is None:
            break
        payloads.append(payload.decode("utf-8", "surrogatepass"))
        at += 19 + len(payload)
    if at < len(data) and (after := _next_record(data, at)):
        raise StoredFormError(
            say(
                "{name} is damaged at byte {at}: {shown}, and good again from byte {after}",
                name=name,
                at=at,
                shown=_shown(data[at : at + 24]),
                after=after,
            ),
            hint="restore the file, or run the job anew under another job id",
        )
    return Recorded(payloads, at, len(data) - at)


def _record_at(data: bytes, at: int) -> bytes | None:
    """The payload of the record at `at`, or None where no whole good record stands."""
    head = _HEAD.match(data, at)
    if head is None:
        return None
    start = at + 18
    end = start + int(head[1], 16)
    if data[end : end + 1] != b"\n":
        return None
    payload = data[start:end]
    return payload if crc32(payload) == int(head[2], 16) else None


def _next_record(data: bytes, at: int) -> int:
    """Where the next good record after a bad place begins; 0: nowhere, so the bad place is a torn tail."""
    for head in _HEAD.finditer(data, at + 1):
        if _record_at(data, head.start()) is not None:
            return head.start()
    return 0


def _shown(data: bytes) -> str:
    if data and not data.strip(b"\0"):
        return "a block of zeros"
    return f"not a record ({data[:24]!r})"


class Header(Record):
    """First record: which run of which plan this is the journal of."""

    job: str
    plan: str
    """Hash of the plan."""
    folder: str
    """The contract's folder, absolute."""
    wall_ms: int
    boot: str


def header_payload(header: Header) -> str:
    """The first record's payload."""
    return json.dumps({"format": FORMAT, **header._asdict()}, ensure_ascii=False, separators=(",", ":"))


def read_header(payloads: list[str], *, name: str) -> Header:
    """The journal's header; refuses a journal without one or of another version."""
    data = json.loads(payloads[0]) if payloads else None
    if not isinstance(data, dict) or "format" not in data:
        raise StoredFormError(say("{name} is no journal: its first record names no format", name=name))
    form = data.pop("format")
    if form != FORMAT:
        raise StoredFormError(
            say(
                "{name} has the format {form!r}; this dsec reads {format}",
                name=name,
                form=form,
                format=FORMAT,
            ),
            hint="use a newer dsec",
        )
    if sorted(data) != sorted(Header._fields):
        raise StoredFormError(
            say(
                "{name} has a header with other keys than {format} has: {data}",
                name=name,
                format=FORMAT,
                data=", ".join(sorted(data)),
            )
        )
    return Header(**data)


class Journal:
    """An open journal that this process alone appends to."""

    def __init__(self, path: str, *, clock: Callable[[], float]) -> None:
        """Open `path`, or make it; raises BlockingIOError when another process holds the journal."""
        self._path = path
        self._reserve = f"{path}.reserve"
        self._clock = clock
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._length = os.fstat(self._fd).st_size
        self._set_aside()
        self._synced_at = clock()
        self.sync_due = inf
        """When, by the clock, `settle` will sync; infinite: nothing is unsynced."""
        self.full = False
        """The disk is full: only what fits into the reserve was kept, and the run must end."""

    def cut(self, length: int) -> None:
        """Forget what follows the first `length` bytes (a torn tail)."""
        os.ftruncate(self._fd, length)
        self._length = length

    def _set_aside(self) -> None:
        reserve = os.open(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.posix_fallocate(reserve, 0, RESERVE_BYTES)
        except OSError as problem:
            os.unlink(self._reserve)
            if problem.errno in _NO_SPACE:
                os.close(self._fd)
                raise DiskFullError(
                    say("{path}: no space for a journal", path=self._path), hint="free some space first"
                ) from None
            # Some file systems cannot set space aside; then a full disk costs the last ends.
        finally:
            os.close(reserve)

    def append(self, payload: str, *, long: bool = False) -> None:
        """Write one record; `long` marks the end of an attempt that would be dear to repeat."""
        # As `record` does, in place: this is the executor's hot path.
        data = payload.encode("utf-8", "surrogatepass")
        line = b"%08x %08x %b\n" % (len(data), crc32(data), data)
        try:
            written = write(self._fd, line)
        except OSError as problem:
            if problem.errno not in _NO_SPACE:
                raise
            written = 0
        if written != len(line) and not self._write_again(line):
            return
        self._length += len(line)
        if self.sync_due == inf:
            self.sync_due = self._synced_at + SYNC_EVERY_S
        if long:
            self.sync_due = -inf

    def _write_again(self, line: bytes) -> bool:
        """There was no space: leave no part of the line behind, and write it into the reserve's place."""
        os.ftruncate(self._fd, self._length)
        kept = not self.full and self._give_up_reserve()
        self.full = True
        if not kept:
            return False
        try:
            written = write(self._fd, line)
        except OSError as problem:
            if problem.errno not in _NO_SPACE:
                raise
            written = 0
        if written != len(line):
            os.ftruncate(self._fd, self._length)
        return written == len(line)

    def _give_up_reserve(self) -> bool:
        if not os.path.exists(self._reserve):
            return False
        os.unlink(self._reserve)
        return True

    def settle(self) -> None:
        """End of a batch: make it durable where the policy above asks for it."""
        if self.sync_due != inf and self.sync_due <= self._clock():
            self.sync()

    def sync(self) -> None:
        """Make every record so far durable."""
        os.fdatasync(self._fd)
        self._synced_at = self._clock()
        self.sync_due = inf

    def close(self) -> None:
        """Sync, give the reserve back and let go of the file (and so of the lock)."""
        self.sync()
        self._give_up_reserve()
        os.close(self._fd)
