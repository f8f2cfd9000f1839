"""The form of a package: one file with a signed table at its beginning and one pack behind it. Pure.

    `DSECSNAP`, version, oldest reader (2 bytes each), length of the table (4), length of the pack (8)
    table       canonical JSON: `format`, `snapshot` (id, name), `parts` (name, id, size), `signer`
    signature   64 bytes: Ed25519 over `dsec.package.signature/1` and the BLAKE3 of all before; zeros: none
    pack        every part, and every file of the snapshot, under its BLAKE3 (see the store's format)

Everything is covered: the signature covers the table, the table names the parts by their hashes, one of the
parts is the snapshot's manifest, which names everything else by its hash. Numbers are little-endian.
"""

from __future__ import annotations

import json
import struct

from dsec.codec import canonical, decode
from dsec.errors import StoredFormError
from dsec.hashing import blake3_of
from dsec.record import Record

FORMAT = "dsec.package/1"
SUFFIX = ".dsnap"
MAGIC, VERSION = b"DSECSNAP", 1
HEAD = struct.Struct("<8sHHIQ")
SIGNATURE_BYTES = 64
LARGEST_TABLE = 4 << 20
MANIFEST = "snapshot.json"
_PURPOSE = b"dsec.package.signature/1\n"
UNSIGNED = bytes(SIGNATURE_BYTES)


class FormError(Exception):
    """Bytes are no package; caught where they are read. What it says follows the file's name."""


class BrokenError(FormError):
    """They were a package once."""


class Snapshot(Record):
    """Which snapshot is in a package."""

    id: str
    name: str


class PackagePart(Record):
    """One part of a package."""

    name: str
    id: str
    size: int


class Signer(Record):
    """Who signed a package, as they say themselves."""

    key: str
    """In hex digits."""
    label: str


class Table(Record):
    """What a package holds."""

    format: str
    snapshot: Snapshot
    parts: tuple[PackagePart, ...]
    absent: tuple[tuple[str, str], ...]
    """(name, why) of parts that a package usually has and this one has not."""
    signer: Signer | None

    def part(self, name: str) -> PackagePart | None:
        """The part of that name."""
        return next((one for one in self.parts if one.name == name), None)


def beginning(table: Table, pack_bytes: int) -> bytes:
    """Head and table."""
    encoded = canonical(table)
    return HEAD.pack(MAGIC, VERSION, VERSION, len(encoded), pack_bytes) + encoded


def signed_message(head: bytes) -> bytes:
    """What the signature of a package with this beginning is over."""
    return _PURPOSE + blake3_of()(head).digest()


def lengths(head: bytes, size: int) -> tuple[int, int]:
    """Of table and pack, from the first bytes of a file of `size`; raises FormError."""
    if len(head) < HEAD.size or not head.startswith(MAGIC):
        raise FormError("is not a package of a snapshot")
    _, version, oldest, table, pack = HEAD.unpack(head[: HEAD.size])
    if oldest > VERSION:
        raise FormError("was written by a newer version of DSec")
    if version < 1 or not 0 < table <= LARGEST_TABLE:
        raise BrokenError("is damaged: its beginning is not as it was written")
    whole = HEAD.size + table + SIGNATURE_BYTES + pack
    if size < whole:
        raise BrokenError(f"is cut off: {size} of {whole} bytes are there")
    if size > whole:
        raise BrokenError(f"is damaged: it goes on for {size - whole} bytes behind its end")
    return table, pack


def table_of(encoded: bytes) -> Table:
    """The table in these bytes; raises FormError."""
    try:
        document = json.loads(encoded)
        table = decode(Table, document, where="table")
    except (ValueError, RecursionError):
        raise BrokenError("is damaged: its table is no JSON") from None
    except StoredFormError as problem:
        raise BrokenError(f"is damaged: {problem.what}") from None
    if table.format != FORMAT or canonical(table) != encoded:
        raise BrokenError("is damaged: its table is not as it was written")
    names = [one.name for one in table.parts]
    if names != sorted(set(names)) or not all(_is_id(one.id) for one in table.parts):
        raise BrokenError("is damaged: its table is not as it was written")
    if table.signer is not None and not (table.signer.label.isprintable() and len(table.signer.label) <= 200):
        raise BrokenError("is damaged: nobody is called so")
    return table


def _is_id(text: str) -> bool:
    return len(text) == 64 and not text.strip("0123456789abcdef")
