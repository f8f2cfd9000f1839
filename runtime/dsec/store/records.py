"""Records: documents under names, each a file that is there whole or not at all.

dsec.record 1 BLAKE3-OF-THE-REST
at NANOSECONDS
trees ID ...
contents ID ...

DOCUMENT
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat

from dsec.hashing import blake3_of
from dsec.store import scratch
from dsec.store.outcomes import Expected
from dsec.store.values import Damaged, Missing, NameTaken, Record, StoreProblem
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from dsec.store.disk import Disk

_DIGITS = frozenset(b"0123456789")
_HEX = frozenset(b"0123456789abcdef")
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_LONGEST = 240
"""Bytes of a record's file name; file systems take 255."""
_NO_LINKS = frozenset((errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK))
"""What a file system says that has no second names for files."""
_FIRST = b"dsec.record 1 "


_LEDGER = ".written"
"""What follows the name of the records' folder: the file in which stands what was written, and deleted."""
_MOST_LEDGER = 64 << 20
_MOST_RECORD = 256 << 20


def _note(folder: str, sign: str, file: str, seal: str) -> None:
    """A line of the ledger; without it only `verify` knows less."""
    with Expected(OSError):
        fd = os.open(
            folder.rstrip("/") + _LEDGER,
            os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK,
            0o600,
        )
        try:
            os.write(fd, os.fsencode(f"{sign} {file} {seal}\n"))
        finally:
            os.close(fd)


def expected(folder: str) -> dict[str, str]:
    """Of each record that was written and not deleted since: its file, and the hash that it begins with."""
    try:
        with open(folder.rstrip("/") + _LEDGER, "rb") as ledger:
            lines = os.fsdecode(ledger.read(_MOST_LEDGER)).split("\n")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in lines:
        match line.split(" "):
            case ["+", file, seal] if len(seal) == 64:
                found[file] = seal
            case ["-", file, *_]:
                found.pop(file, None)
            case _:
                continue  # torn when a machine stopped
    return found


def _reading(path: str) -> BinaryIO:
    """A record's file, which may have been put there by somebody else: no pipe is waited for."""
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def seal_of(folder: str, file: str) -> str | None:
    """The hash that a record begins with; None: there is no such file. Raises OSError."""
    try:
        with _reading(os.path.join(folder, file)) as record:
            return record.readline(200).decode("ascii", "replace").strip().rpartition(" ")[2]
    except FileNotFoundError:
        return None


def file_of(name: str) -> str:
    """The file name of a record: ASCII other than letters, digits, `.`, `_` and `-` becomes %XX."""
    coded = b"".join(
        bytes((byte,)) if byte > 0x7F or (byte in _PLAIN and (at or byte != 0x2E)) else b"%%%02X" % byte
        for at, byte in enumerate(os.fsencode(name))
    )
    if not coded or len(coded) > _LONGEST:
        raise StoreProblem(
            say("a name of {length} bytes cannot be kept", length=len(os.fsencode(name))),
            hint=say("give it a name of 1 to 80 characters"),
        )
    return os.fsdecode(coded)


def name_of(file: str) -> str | None:
    """The name of the record in this file; None for a file that no record has."""
    first, *coded = os.fsencode(file).split(b"%")
    try:
        plain = (bytes((int(part[:2], 16),)) + part[2:] for part in coded)
        name = os.fsdecode(first + b"".join(plain))
        return name if file_of(name) == file else None
    except (ValueError, StoreProblem):
        return None


def encoded(record: Record) -> bytes:
    """The bytes of a record's file."""
    ids = (" ".join(("trees", *record.trees)), " ".join(("contents", *record.contents)))
    rest = f"at {record.at_ns}\n{ids[0]}\n{ids[1]}\n\n".encode() + record.document
    return _FIRST + blake3_of()(rest).hexdigest().encode() + b"\n" + rest


def _seal(record: Record) -> str:
    return encoded(record)[len(_FIRST) :].partition(b"\n")[0].decode()


def decoded(name: str, data: bytes) -> Record:
    """The record in these bytes; raises Damaged and StoreProblem."""
    first, _, rest = data.partition(b"\n")
    if first.startswith(b"dsec.record ") and not first.startswith(_FIRST) and first.split()[1:2] != [b"1"]:
        raise StoreProblem(
            say("the record {name} was written by a newer version of DSec", name=name),
            hint=say("update DSec"),
        )
    found = _parts(name, rest) if first == _FIRST + blake3_of()(rest).hexdigest().encode() else None
    if found is None:
        raise Damaged(
            say("the record {name} of the store is damaged", name=name),
            hint=say("restore it from a copy, or delete it: dsec snapshot prune {name}", name=name),
        )
    return found


def _parts(name: str, rest: bytes) -> Record | None:
    """What the lines behind the first one say; None when they are not as they should be."""
    head, blank, document = rest.partition(b"\n\n")
    lines = [line.split(b" ") for line in head.split(b"\n")]
    if not blank or [line[0] for line in lines] != [b"at", b"trees", b"contents"] or len(lines[0]) != 2:
        return None
    at, *ids = lines[0][1], *lines[1][1:], *lines[2][1:]
    if not 1 <= len(at) <= 20 or not _DIGITS.issuperset(at):
        return None
    if any(len(one) != 64 or not _HEX.issuperset(one) for one in ids):
        return None
    trees, contents = (tuple(one.decode() for one in line[1:]) for line in lines[1:])
    return Record(name, document, trees, contents, int(at))


def names(folder: str) -> Iterator[str]:
    """The names of all records, sorted."""
    for file in sorted(os.listdir(folder)):
        if (name := name_of(file)) is not None:
            yield name


def read(folder: str, name: str) -> Record:
    """The record of that name; raises Missing, Damaged and StoreProblem."""
    try:
        with _reading(os.path.join(folder, file_of(name))) as file:
            data = file.read(_MOST_RECORD) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except FileNotFoundError:
        raise Missing(say("the store has no record named {name}", name=name)) from None
    return decoded(name, data)


def oldest_first(folder: str) -> list[Record]:
    """All records; raises Damaged for one that cannot be read."""
    found = [read(folder, name) for name in names(folder)]
    return sorted(found, key=lambda record: (record.at_ns, record.name))


def write(disk: Disk, folder: str, record: Record, *, aside: str) -> None:
    """Keep a record; raises NameTaken and OSError. Of two at once with one name the second is refused."""
    to = os.path.join(folder, file_of(record.name))
    fd, path = scratch.begin(disk, aside)
    try:
        disk.write(fd, encoded(record))
        disk.sync(fd)
        _name(disk, path, to)
        _note(folder, "+", file_of(record.name), _seal(record))
    except FileExistsError:
        raise NameTaken(
            say("there is a snapshot named {name} already", name=record.name),
            hint=say(
                "take another name, or forget that one first: dsec snapshot prune {name}", name=record.name
            ),
        ) from None
    finally:
        scratch.discard(disk, fd, path)
    disk.sync_folder(folder)


def _name(disk: Disk, path: str, to: str) -> None:
    """Give a whole file its name unless that is taken; raises FileExistsError."""
    try:
        disk.link(path, to)
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
    else:
        return
    folder = os.open(os.path.dirname(to), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if os.path.lexists(to):
            raise FileExistsError
        disk.rename(path, to)
    finally:
        os.close(folder)


def is_broken(folder: str, name: str) -> bool:
    """Whether the record is damaged, another one than was written, or gone though nothing deleted it."""
    file = file_of(name)
    written = expected(folder).get(file)
    try:
        read(folder, name)
    except Missing:
        return written is not None
    except Damaged:
        return True
    return written is not None and seal_of(folder, file) != written


def delete(disk: Disk, folder: str, name: str) -> None:
    """Forget a record, also one that somebody else removed; raises Missing."""
    gone = not os.path.lexists(os.path.join(folder, file_of(name)))
    noted = gone and file_of(name) in expected(folder)
    if noted or not gone:
        _note(folder, "-", file_of(name), "-")
    try:
        disk.remove(os.path.join(folder, file_of(name)))
    except FileNotFoundError:
        if noted:
            return
        raise Missing(say("the store has no record named {name}", name=name)) from None
    with Expected(OSError):
        disk.sync_folder(folder)
