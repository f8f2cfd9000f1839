"""Reading a package that someone else may have made: nothing is believed before it is checked."""

from __future__ import annotations

import contextlib
import os

from dsec import ed25519
from dsec.errors import FileProblem, StoredFormError
from dsec.record import Record
from dsec.store import Damaged
from dsec.store.portable import ForeignPack, reached
from dsec.words import say, system
from dsec_cli.snapshot.manifest import contents, encode, parse, trees
from dsec_cli.snapshot.package import keys, limits
from dsec_cli.snapshot.package.form import (
    HEAD,
    MAGIC,
    MANIFEST,
    SIGNATURE_BYTES,
    BrokenError,
    FormError,
    Table,
    lengths,
    signed_message,
    table_of,
)
from dsec_cli.snapshot.package.standing import Standing, judged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsec.store import Store
    from dsec_cli.snapshot.manifest import Manifest
    from dsec_cli.snapshot.package.form import PackagePart


class Package(Record):
    """A package whose table, and the tables of whose pack, are right."""

    path: str
    size: int
    table: Table
    pack: ForeignPack
    manifest: Manifest
    head: bytes
    signature: bytes
    most: int | None = None
    """How many bytes the user allows it to expand to."""

    def part(self, name: str) -> bytes | None:
        """The content of a part, checked; None where there is none. Raises Damaged and Missing."""
        found = self.table.part(name)
        return _part(self.pack, found) if found is not None else None


def _part(pack: ForeignPack, part: PackagePart) -> bytes:
    try:
        return pack.get(bytes.fromhex(part.id))
    except Damaged as problem:
        raise Damaged(say("{what}; {name} is in there", what=problem.what, name=part.name)) from None


def is_package(path: str) -> bool:
    """Whether the file begins as a package does; False for one that cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return False
    try:
        return os.pread(fd, len(MAGIC), 0) == MAGIC
    except OSError:
        return False
    finally:
        os.close(fd)


@contextlib.contextmanager
def opened(path: str, *, most: int | None = None) -> Iterator[Package]:
    """The package in a file; raises FileProblem, Damaged and StoredFormError.

    `most`: bytes that its content may come to; None: no more than packages of its size do (see `limits`).
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None
    try:
        yield _package(path, fd, most)
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None
    finally:
        os.close(fd)


def _package(path: str, fd: int, most: int | None) -> Package:
    size = os.fstat(fd).st_size
    try:
        head = os.pread(fd, HEAD.size, 0)
        table_bytes, pack_bytes = lengths(head, size)
        head += os.pread(fd, table_bytes, HEAD.size)
        table = table_of(head[HEAD.size :])
    except BrokenError as problem:
        raise Damaged(say("{path} {why}", path=path, why=str(problem))) from None
    except FormError as problem:
        raise StoredFormError(say("{path} {why}", path=path, why=str(problem))) from None
    signature = os.pread(fd, SIGNATURE_BYTES, len(head))
    pack = ForeignPack(fd, len(head) + SIGNATURE_BYTES, pack_bytes, called=path)
    if pack.plain_bytes > (max(limits.FREE_BYTES, limits.RATIO * size) if most is None else most):
        raise StoredFormError(
            say("{path} says that it holds {size:,} bytes", path=path, size=pack.plain_bytes),
            hint=say("if that is so, allow it with --most"),
        )
    for one in table.parts:
        if one.size > limits.LARGEST_DOCUMENT:
            raise StoredFormError(
                say("{path} has a part {name} of {size:,} bytes", path=path, name=one.name, size=one.size)
            )
    return Package(path, size, table, pack, _manifest(path, table, pack), head, signature, most)


def _manifest(path: str, table: Table, pack: ForeignPack) -> Manifest:
    """The snapshot's manifest; what the table says of sections must be what it says."""
    found = table.part(MANIFEST)
    if found is None:
        raise Damaged(say("{name} is damaged: {why}", name=path, why="it has no manifest"))
    manifest = parse(_part(pack, found), path)
    named = {one.name: one.id for one in table.parts}
    right = all(named.get(f"{one.name}.json", "") == one.document for one in manifest.sections)
    if not right or table.snapshot.id != manifest.id:
        raise Damaged(say("{name} is damaged: {why}", name=path, why="its table belongs to another snapshot"))
    return manifest


def standing(package: Package, environ: Mapping[str, str]) -> Standing:
    """Who signed it, and whether this user trusts them."""
    signer, right = package.table.signer, False
    if signer is not None:
        try:
            key = bytes.fromhex(signer.key)
        except ValueError:
            key = b""
        right = len(key) == 32 and ed25519.verify(key, signed_message(package.head), package.signature)
    return judged(signer, right=right, own=keys.own_key(environ), known=keys.trusted(environ))


def checked(package: Package) -> int:
    """Read all of it and compare it with its hashes; the number of objects. Raises Damaged and Missing.

    First it is looked at what it expands to: StoredFormError for one that is not to be taken in.
    """
    count = 0
    limits.check(package.pack.get, _ids(trees(package.manifest)), size=package.size, most=package.most)
    for part in package.table.parts:
        data = package.part(part.name)
        if data is None or len(data) != part.size:
            raise Damaged(
                say("{name} is damaged: {why}", name=package.path, why=f"{part.name} is of another size")
            )
    for one, _ in reached(package.pack.get, _ids(trees(package.manifest)), _ids(contents(package.manifest))):
        package.pack.get(one)
        count += 1
    return count + len(package.table.parts)


def _ids(texts: Iterator[str]) -> list[bytes]:
    return [bytes.fromhex(text) for text in sorted(set(texts))]


def take(package: Package, store: Store, name: str) -> tuple[int, int]:
    """Put the snapshot into a store under a name; how many objects, and bytes, were new. Raises NameTaken."""
    manifest = package.manifest._replace(name=name)
    roots, single = sorted(set(trees(manifest))), sorted(set(contents(manifest)))
    new = store.take(package.pack.get, trees=roots, contents=single)
    store.put_record(name, encode(manifest), trees=roots, contents=single)
    return new


def put_in(package: Package, store: Store) -> Manifest:
    """Put all of the snapshot into a store, without a name."""
    roots, single = set(trees(package.manifest)), set(contents(package.manifest))
    store.take(package.pack.get, trees=sorted(roots), contents=sorted(single))
    return package.manifest
