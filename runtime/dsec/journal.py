"""The journal of a run: an append-only file of checksummed lines, and how it survives damage.

One record per line: 8 hex digits of the payload's length in bytes, a space, 8 hex digits of its
CRC-32, a space or a plus, the payload (JSON, UTF-8), LF. `cut -c19-` turns a journal into JSON lines.

Durability. An append is one write(2), so a killed executor loses nothing. `settle` is called
after each batch of events, before anything is started because of them, and syncs the file when
0.25 s passed since the last sync or when an attempt of 0.25 s or more ended in the batch: power
loss costs at most the last quarter second of short Steps and never a long one. The end of a run
is always synced.

A plus says: all before this record was on the disk when it was written. What follows the last one
may have got there in part and in any order when the power went, so a hole in it (a block of zeros
with good records behind it) is a crash's doing and costs what follows it. A hole before a plus is
not, and such a journal is refused.

A long journal is packed when it is closed or taken over (see `dsec.packing`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from errno import EDQUOT, EFBIG, EINVAL, ENOSPC
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
PACK_BYTES = 16 << 20
"""A journal this long is packed."""
PACKED = b'{"packed":'
"""How the payload of packed records begins."""

_NO_SPACE = (ENOSPC, EDQUOT, EFBIG)
_LINE = b"%08x %08x %b\n"
_AFTER_SYNC = b"%08x %08x+%b\n"
_HEAD = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8})([ +])(?=\{)")


class DiskFullError(DSecError):
    """The journal cannot grow; the run must stop where it is."""


class Recorded(Record):
    """What a journal holds: its payloads, the length of the good part, and what follows it."""

    payloads: list[str]
    good_bytes: int
    torn_bytes: int
    lost: int = 0
    """Whole records in what follows: written, but behind a place that never reached the disk."""


class Walked(Record):
    """How far a journal is good, and what follows."""

    good_bytes: int
    torn_bytes: int
    lost: int


def record(payload: str) -> bytes:
    """One line of a journal."""
    data = payload.encode("utf-8", "surrogatepass")
    return _LINE % (len(data), crc32(data), data)


def read(data: bytes, *, name: str) -> Recorded:
    """Take a journal apart; what a crash leaves at its end is reported, other damage is refused in words."""
    payloads: list[str] = []
    walked = walk(data, payloads.append, name=name)
    return Recorded(payloads, *walked)


def walk(data: bytes, take: Callable[[str], object], *, name: str) -> Walked:
    """As `read`, each payload handed to `take`: a long journal need not be held in pieces."""
    at = 0
    marked = False
    matched, length = _HEAD.match, len(data)
    while head := matched(data, at):
        start = at + 18
        end = start + int(head[1], 16)
        if end >= length or data[end] != 10:  # LF
            break
        payload = data[start:end]
        if crc32(payload) != int(head[2], 16):
            break
        if payload.startswith(PACKED):
            from dsec.packing import unpacked  # most journals are short

            for one in unpacked(payload):
                take(one)
        else:
            try:
                text = payload.decode("utf-8", "surrogatepass")
            except UnicodeDecodeError as problem:
                raise StoredFormError(
                    say("{name} holds a record that is no text: {problem}", name=name, problem=problem),
                    hint="restore the file, or run the job anew under another job id",
                ) from None
            take(text)
        marked = marked or head[3] == b"+"
        at = end + 1
    lost = _judge(data, at, name=name, marked=marked) if at < length else 0
    return Walked(at, length - at, lost)


def _judge(data: bytes, at: int, *, name: str, marked: bool) -> int:
    """How many good records follow a bad place that a crash explains; refuse one that it does not."""
    lost = after = 0
    damaged = False
    headless = at == 0 and not data[:18].strip(b"\0")
    own = _HEAD.match(data, at)  # of a record whose head reached the disk, and whose rest did not
    marked = marked or (own is not None and own[3] == b"+")
    for head in _HEAD.finditer(data, at + 1):
        if not _is_good(data, head):
            continue
        after = after or head.start()
        lost += 1
        # Without any mark a good part is not known to have been of a journal that has them.
        damaged = damaged or head[3] == b"+" or not (marked or headless)
    if damaged:
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
    return lost


def _is_good(data: bytes, head: re.Match[bytes]) -> bool:
    start = head.start() + 18
    end = start + int(head[1], 16)
    return data[end : end + 1] == b"\n" and crc32(data[start:end]) == int(head[2], 16)


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
    data = _parsed(payloads[0]) if payloads else None
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
    for field, of in Header.__annotations__.items():
        if type(data[field]).__name__ != of:
            raise StoredFormError(
                say("{name} is no journal: its first record has no valid {field}", name=name, field=field)
            )
    return Header(**data)


def _parsed(payload: str) -> object:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None


class Journal:
    """An open journal that this process alone appends to."""

    def __init__(self, path: str, *, clock: Callable[[], float]) -> None:
        """Open `path`, or make it; raises BlockingIOError when another process holds the journal."""
        self._path = path
        self._reserve = f"{path}.reserve"
        self._clock = clock
        self._fd = _opened(path)
        self._length = os.fstat(self._fd).st_size
        self._after_sync = _AFTER_SYNC
        """How the first record after a sync is written."""
        self.full = False
        """Nothing more can be kept but what fits into the reserve; the run must end."""
        self.trouble = ""
        """Why."""
        self._set_aside()
        self._synced_at = clock()
        self.sync_due = inf
        """When, by the clock, `settle` will sync; infinite: nothing is unsynced."""

    def settle_names(self) -> None:
        """Put the names on the disk, too, by which a new journal and what lies beside it will be found."""
        _settle_folders(self._path)

    def cut(self, length: int) -> None:
        """Forget what follows the first `length` bytes (a torn tail); what stays is on the disk then."""
        if length < self._length:
            os.ftruncate(self._fd, length)
        self._length = length
        self.sync()

    def pack(self) -> None:
        """Make a long journal short; where that cannot be done it stays as it is."""
        if self.full or self._length < PACK_BYTES:
            return
        from dsec.packing import pack

        packed = pack(self._path)
        if packed is not None:
            os.close(self._fd)  # the lock of the new file is held already
            self._fd, self._length = packed

    def _set_aside(self) -> None:
        reserve = os.open(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.posix_fallocate(reserve, 0, RESERVE_BYTES)
        except OSError as problem:
            os.unlink(self._reserve)
            if problem.errno in _NO_SPACE:
                os.close(self._fd)
                raise DiskFullError(
                    say(
                        "{path}: no space for a journal: {needed} KiB are set aside for it",
                        path=self._path,
                        needed=RESERVE_BYTES >> 10,
                    ),
                    hint="free some space first",
                ) from None
            # Some file systems cannot set space aside; then a full disk costs the last ends.
        finally:
            os.close(reserve)

    def append(self, payload: str, *, long: bool = False) -> None:
        """Write one record; `long` marks the end of an attempt that would be dear to repeat."""
        # As `record` does, in place: this is the executor's hot path.
        data = payload.encode("utf-8", "surrogatepass")
        line = (self._after_sync if self.sync_due == inf else _LINE) % (len(data), crc32(data), data)
        try:
            written = write(self._fd, line)
        except OSError as problem:
            written = self._refused(problem)
        if written != len(line) and not self._write_again(line):
            return
        self._length += len(line)
        if self.sync_due == inf:
            self.sync_due = self._synced_at + SYNC_EVERY_S
        if long:
            self.sync_due = -inf

    def _refused(self, problem: OSError) -> int:
        """Nothing was written, and the run must end."""
        if not self.trouble:
            full = problem.errno in _NO_SPACE
            self.trouble = (
                "the disk is full"
                if full
                else f"the journal cannot be written: {os.strerror(problem.errno or 0)}"
            )
        return 0

    def _write_again(self, line: bytes) -> bool:
        """There was no space: leave no part of the line behind, and write it into the reserve's place."""
        with contextlib.suppress(OSError):  # a part of a line is a torn tail
            os.ftruncate(self._fd, self._length)
        kept = not self.full and self._give_up_reserve()
        self.full = True
        self.trouble = self.trouble or "the disk is full"
        if not kept:
            return False
        try:
            written = write(self._fd, line)
        except OSError as problem:
            written = self._refused(problem)
        if written != len(line):
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._length)
        return written == len(line)

    def _give_up_reserve(self) -> bool:
        try:
            os.unlink(self._reserve)
        except OSError:
            return False
        return True

    def settle(self) -> None:
        """End of a batch: make it durable where the policy above asks for it."""
        if self.sync_due != inf and self.sync_due <= self._clock():
            self.sync()

    def sync(self) -> None:
        """Make every record so far durable; where the disk refuses, the run must end."""
        try:
            os.fdatasync(self._fd)
        except OSError as problem:
            if problem.errno != EINVAL:  # a file that knows no syncing (a pipe, some network disks)
                self._refused(problem)
                self.full = True
                # The kernel forgets what it could not write: a later sync would succeed and mean nothing.
                self._after_sync = _LINE
        self._synced_at = self._clock()
        self.sync_due = inf

    def close(self) -> None:
        """Sync, give the reserve back and let go of the file (and so of the lock)."""
        self.sync()
        self._give_up_reserve()
        self.pack()
        os.close(self._fd)

    def let_go(self) -> None:
        """Leave the file as it is, the reserve given back: nobody goes on with the run now."""
        self._give_up_reserve()
        os.close(self._fd)

    def drop(self) -> None:
        """Close the file, and no more: its folder is gone."""
        os.close(self._fd)


def _opened(path: str) -> int:
    """The journal's descriptor, locked; once more where somebody put a packed journal in its place."""
    while True:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _settle_folders(path: str) -> None:
    run = os.path.dirname(os.path.abspath(path))
    runs = os.path.dirname(run)
    above = [os.path.dirname(runs), os.path.dirname(os.path.dirname(runs))]
    first = len(os.listdir(runs)) < 2
    for folder in (run, runs, *(above if first else ())):
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue  # not ours to look into
        try:
            with contextlib.suppress(OSError):  # some network disks cannot
                os.fsync(handle)
        finally:
            os.close(handle)
