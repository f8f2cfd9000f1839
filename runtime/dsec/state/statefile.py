"""One saved state as a file: blocks first, then the record that says what they are, then its seal.

    16 bytes   "DSEC-STATE 1.0", a line feed and a zero
    blocks     of all tensors, one after another
    record     JSON in UTF-8
    trailer    record length (u64, little endian), hash algorithm (16 bytes), hash of the record
               (32 bytes), "DSECEND" and a line feed

The record is written last and the file gets its name after that, so what has a name is whole. Blocks
carry the hashes of what they decode to, so one wrong bit in them is found when they are read.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import struct
from typing import NamedTuple

from dsec.savefolder import sync_folder
from dsec.state.coding import HASHES, hasher
from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

FORMAT = "dsec.state"
VERSION = (1, 0)
MAGIC = b"DSEC-STATE 1.0\n\0"
END = b"DSECEND\n"
_TRAILER = struct.Struct("<Q16s32s8s")
_NAME = re.compile(r"(\d{12})-(\d{1,18})\.state")
_RECORD_LIMIT = 1 << 30


class Place(NamedTuple):
    """One state's file; the newest is the one that was written last."""

    number: int
    """Counts up with every save into the folder."""
    at: int
    """Which point of the training it is, as its writer says."""
    path: str


class Opened(NamedTuple):
    """A state's file, mapped; its record is whole and of a version that is known."""

    record: dict[str, Any]
    id: str
    """Hash of the record: what a delta names as its base."""
    data: memoryview


def places(folder: str) -> list[Place]:
    """Every state in the folder, the oldest first."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    found = [(name, _NAME.fullmatch(name)) for name in names]
    return sorted(Place(int(one[1]), int(one[2]), os.path.join(folder, name)) for name, one in found if one)


def name_of(number: int, at: int) -> str:
    """What a state's file is called."""
    return f"{number:012d}-{at}.state"


class Writing:
    """A file that is being written; it exists for others once it is `committed`."""

    def __init__(self, folder: str) -> None:
        """Raises OSError."""
        self.folder = folder
        self.aside = os.path.join(folder, f".{os.getpid()}.{os.urandom(4).hex()}.tmp")
        self._file = open(self.aside, "xb", buffering=1 << 20)  # noqa: SIM115 - closed by commit or drop
        self._file.write(MAGIC)
        self.size = len(MAGIC)

    def add(self, parts: Iterable[Any]) -> int:
        """Write buffers one after another and give the offset of the first."""
        begin = self.size
        for part in parts:
            self.size += self._file.write(part)
        return begin

    def commit(self, record: dict[str, Any], name: str) -> str:
        """Write the record and the seal, then give the file its name; gives the record's hash."""
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode(
            "utf-8",
            "surrogatepass",  # names of files that are no text in UTF-8 have such characters
        )
        algorithm = record["hash"]
        told = hasher(algorithm)(text)
        self._file.write(text)
        self._file.write(_TRAILER.pack(len(text), algorithm.encode(), bytes.fromhex(told), END))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.rename(self.aside, os.path.join(self.folder, name))
        sync_folder(self.folder)
        self.size += len(text) + _TRAILER.size
        return told

    def drop(self) -> None:
        """Leave nothing of it."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            os.unlink(self.aside)


@contextlib.contextmanager
def opened(path: str) -> Iterator[Opened]:
    """Map a state's file; raises StateError where it is not whole, OSError where it cannot be read."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(handle).st_size
        if size < len(MAGIC) + _TRAILER.size:
            raise StateError(f"it has {size} bytes and was cut off")
        mapped = mmap.mmap(handle, size, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)
    view = memoryview(mapped)
    record, told, end = _record(view)
    # Unmapped with the last view of it; an error on its way up may still hold one.
    yield Opened(record, told, view[:end])


def _record(view: memoryview) -> tuple[dict[str, Any], str, int]:
    """The record, its hash, and where the blocks end."""
    if bytes(view[:5]) != MAGIC[:5]:
        raise StateError("it is no state of dsec")
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise StateError(f"its form is {bytes(view[: len(MAGIC)])!r}, this version reads {MAGIC!r}")
    length, algorithm, told, end = _TRAILER.unpack(view[-_TRAILER.size :])
    if end != END:
        raise StateError("its end is missing: it was cut off or damaged")
    begin = len(view) - _TRAILER.size - length
    if begin < len(MAGIC) or length > _RECORD_LIMIT:
        raise StateError("its record is longer than the file")
    name = algorithm.rstrip(b"\0").decode("ascii", "replace")
    if name not in HASHES:
        raise StateError(f"it is hashed with {name!r}, which this version does not know")
    text = view[begin : begin + length]
    if hasher(name)(text) != told.hex():
        raise StateError("its record is damaged")
    return _understood(bytes(text)), told.hex(), begin


def _understood(text: bytes) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        raise StateError("its record is no JSON") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StateError("its record is no state of dsec")
    version = record.get("version")
    if not isinstance(version, list) or version[:1] != [VERSION[0]]:
        raise StateError(
            f"it is of version {version}, this one reads {VERSION[0]}.x: it was made by another dsec"
        )
    return record


def part(opened_: Opened, offset: Any, length: int) -> memoryview:
    """Bytes of the blocks; raises StateError where they are not all there."""
    if not isinstance(offset, int) or not len(MAGIC) <= offset <= offset + length <= len(opened_.data):
        raise StateError("a block lies outside the file")
    return opened_.data[offset : offset + length]


def sweep(folder: str) -> None:
    """Take away what writers left that died; call it `alone`, when nobody else can be writing."""
    for name in os.listdir(folder):
        if name.startswith(".") and name.endswith(".tmp"):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))
