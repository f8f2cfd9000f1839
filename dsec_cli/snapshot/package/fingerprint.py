"""`deps_fingerprint.bin`: an environment of packages in a form that is compared without being decoded. Pure.

    `DSECDEPS`, version, oldest reader (2 bytes each), number of entries (4), root (32)
    buckets   256 digests of 16 bytes: bucket N has the entries whose name id begins with byte N
    starts    257 numbers of 4 bytes: which row each bucket begins with, and the end
    rows      40 bytes each, ascending: name id (16), content id (16), offset, length (4 each)
    texts     one after the other: canonical JSON of [kind, name, facts]

Numbers are little-endian. A name id is the beginning of the BLAKE3 of `KIND 0 NAME`, a content id that
of the text; a bucket's digest is that of its rows' first 32 bytes, the root the BLAKE3 of all digests.
Two equal environments have equal roots; of two others only buckets that differ are looked into.
"""

from __future__ import annotations

import json
import struct

from dsec.codec import canonical
from dsec.hashing import blake3_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterable, Iterator

    from dsec_cli.snapshot.manifest import Plain

    Item = tuple[str, str, Plain]
    """Kind, name, facts."""

_HEAD = struct.Struct("<8sHHI32s")
_ROW = struct.Struct("<16s16sII")
_STARTS = struct.Struct("<257I")
_MAGIC, VERSION = b"DSECDEPS", 1
_DIGEST = 16
_AT_BUCKETS = _HEAD.size
_AT_STARTS = _AT_BUCKETS + 256 * _DIGEST
_AT_ROWS = _AT_STARTS + _STARTS.size


class FingerprintError(Exception):
    """Bytes are no fingerprint; caught where they are read."""


def encoded(items: Iterable[Item]) -> bytes:
    """The fingerprint of these entries; of two with one kind and name the last counts."""
    hashed, texts = blake3_of(), dict[bytes, tuple[bytes, bytes]]()
    for kind, name, facts in items:
        text = canonical([kind, name, facts])
        texts[hashed(f"{kind}\0{name}".encode()).digest()[:16]] = (hashed(text).digest()[:16], text)
    rows, buckets, starts, at, names = [], [], [0], 0, sorted(texts)
    for first in range(256):
        inside = [one for one in names[starts[-1] :] if one[0] == first]
        for one in inside:
            content, text = texts[one]
            rows.append(_ROW.pack(one, content, at, len(text)))
            at += len(text)
        ids = b"".join([one + texts[one][0] for one in inside])
        buckets.append(hashed(ids).digest()[:_DIGEST] if inside else bytes(_DIGEST))
        starts.append(starts[-1] + len(inside))
    digests = b"".join(buckets)
    head = _HEAD.pack(_MAGIC, VERSION, VERSION, len(rows), hashed(digests).digest())
    return (
        head + digests + _STARTS.pack(*starts) + b"".join(rows) + b"".join([texts[one][1] for one in names])
    )


HEAD_BYTES = _HEAD.size


def root_of(head: bytes) -> bytes:
    """The root of a fingerprint that begins like this: two environments are equal if theirs are.

    Raises FingerprintError for bytes that are none, or of a newer version.
    """
    if len(head) < HEAD_BYTES:
        raise FingerprintError("it is too short")
    magic, version, oldest, _, root = _HEAD.unpack_from(head)
    if magic != _MAGIC or version < 1:
        raise FingerprintError("it is no fingerprint of packages")
    if oldest > VERSION:
        raise FingerprintError("it was written by a newer version of DSec")
    return bytes(root)


class Fingerprint:
    """One that was read; only what is asked for is decoded, and compared with its id then."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        """Raises FingerprintError for bytes that are none, or of a newer version.

        Of a file that is mapped into memory only the pages are read that are needed.
        """
        self.root = root_of(data[:HEAD_BYTES])
        self.count = int.from_bytes(data[12:16], "little")
        self._data, self._texts = data, _AT_ROWS + self.count * _ROW.size
        if self._texts > len(data):
            raise FingerprintError("it is too short")

    def __len__(self) -> int:
        return int(self.count)

    def digests(self) -> bytes:
        """Of all buckets, 16 bytes each, checked against the root."""
        digests = self._data[_AT_BUCKETS:_AT_STARTS]
        if blake3_of()(digests).digest() != self.root:
            raise FingerprintError("it is damaged")
        return digests

    def bucket(self, number: int) -> dict[bytes, tuple[bytes, int, int]]:
        """Name id -> content id, offset and length, of one bucket."""
        low, high = struct.unpack_from("<2I", self._data, _AT_STARTS + 4 * number)
        if low > high or high > self.count:
            raise FingerprintError("it is damaged")
        rows = self._data[_AT_ROWS + low * _ROW.size : _AT_ROWS + high * _ROW.size]
        return {name: (content, at, length) for name, content, at, length in _ROW.iter_unpack(rows)}

    def item(self, found: tuple[bytes, int, int]) -> Item:
        """What a row stands for."""
        content, at, length = found
        text = self._data[self._texts + at : self._texts + at + length]
        if blake3_of()(text).digest()[:16] != content:
            raise FingerprintError("it is damaged")
        try:
            kind, name, facts = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            raise FingerprintError("it is damaged") from None
        return str(kind), str(name), facts

    def items(self) -> Iterator[Item]:
        """All entries, by their ids; the digests of their buckets are compared, too."""
        digests, hashed = self.digests(), blake3_of()
        for number in range(256):
            rows = self.bucket(number)
            ids = b"".join([name + rows[name][0] for name in rows])
            wanted = hashed(ids).digest()[:_DIGEST] if rows else bytes(_DIGEST)
            if digests[number * _DIGEST : (number + 1) * _DIGEST] != wanted:
                raise FingerprintError("it is damaged")
            yield from map(self.item, rows.values())


def differences(one: Fingerprint, two: Fingerprint) -> Iterator[tuple[str, str, Plain, Plain]]:
    """Kind, name, facts before and after; None where there is no such entry."""
    if one.root == two.root:
        return
    before, after = one.digests(), two.digests()
    for number in range(256):
        at = number * _DIGEST
        if before[at : at + _DIGEST] == after[at : at + _DIGEST]:
            continue
        old, new = one.bucket(number), two.bucket(number)
        for name in sorted(old.keys() | new.keys()):
            was, now = old.get(name), new.get(name)
            if was is not None and now is not None and was[0] == now[0]:
                continue
            gone = one.item(was) if was is not None else None
            come = two.item(now) if now is not None else None
            kind, called, _ = gone or come or ("", "", None)
            yield kind, called, gone[2] if gone else None, come[2] if come else None


def of_sections(dependencies: Plain, libraries: Plain) -> Iterator[Item]:
    """What the sections of a snapshot say, entry by entry; None for one that is absent."""
    if dependencies is not None:
        yield "python", "python", dependencies["python"]
        yield "path", "path", dependencies["path"]
        for one in dependencies["packages"]:
            yield "package", one["name"], {key: value for key, value in one.items() if key != "name"}
        for one in dependencies["conda"]:
            yield "conda", one["name"], {key: value for key, value in one.items() if key != "name"}
    if libraries is not None:
        for path, build in libraries["objects"].items():
            yield "library", path, build
