"""Writing a snapshot as a package: parts that people and other tools read, and everything that it needs."""

from __future__ import annotations

from dsec import ed25519
from dsec.codec import canonical
from dsec.errors import FileProblem
from dsec.hashing import blake3_of
from dsec.record import Record
from dsec.store.disk import Disk
from dsec.words import say, system
from dsec_cli.snapshot.manifest import contents, encode, trees
from dsec_cli.snapshot.package import age, auditlog, codemanifest, fingerprint, gpulayout
from dsec_cli.snapshot.package.aside import aside_of, refuse_other
from dsec_cli.snapshot.package.crypto import NoSealingError, agreement_key
from dsec_cli.snapshot.package.form import (
    FORMAT,
    MANIFEST,
    UNSIGNED,
    PackagePart,
    Signer,
    Snapshot,
    Table,
    beginning,
    signed_message,
)
from dsec_cli.snapshot.package.keys import label, own_identity, public_key, signing_seed
from dsec_cli.snapshot.shelf import document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.package.aside import Aside
    from dsec_cli.snapshot.shelf import View

AUDIT = "audit_log.enc"


class Written(Record):
    """A package that was written."""

    path: str
    size: int
    digest: str
    """BLAKE3 of the file."""
    table: Table
    largest: tuple[tuple[str, int], ...]
    """Parts by their size, the largest first."""


def write(
    view: View,
    path: str,
    *,
    environ: Mapping[str, str],
    recipients: Sequence[bytes],
    signed: bool,
    disk: Disk | None = None,
) -> Written:
    """Write it whole or not at all; raises FileProblem, and what reading the snapshot raises."""
    parts, absent = _parts(view, environ, recipients)
    seed = signing_seed(environ) if signed else None
    signer = Signer(public_key(seed), label(environ)) if seed is not None else None
    hashed = blake3_of()
    rows = [PackagePart(name, hashed(data).hexdigest(), len(data)) for name, data in sorted(parts.items())]
    manifest = view.manifest
    table = Table(FORMAT, Snapshot(manifest.id, manifest.name), tuple(rows), absent, signer)
    try:
        refuse_other(path)
        with aside_of(path, Disk() if disk is None else disk) as file:
            digest, size = _write(view, file, table, parts, seed)
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be written: {why}", path=path, why=system(problem)),
            hint=say("nothing was left there; name another place with --output"),
        ) from None
    largest = sorted(((one.name, one.size) for one in rows), key=lambda row: (-row[1], row[0]))
    return Written(path, size, digest, table, tuple(largest))


def _write(
    view: View, file: Aside, table: Table, parts: Mapping[str, bytes], seed: bytes | None
) -> tuple[str, int]:
    """Digest and size of the file. The pack comes first, as its length is in the beginning."""
    room = len(beginning(table, 0)) + len(UNSIGNED)
    file.seek(room)
    pack = view.store.export(
        file.write,
        trees=sorted(set(trees(view.manifest))),
        contents=sorted(set(contents(view.manifest))),
        beside=[parts[name] for name in sorted(parts)],
    )
    head = beginning(table, pack)
    file.seek(0)
    file.write(head + (ed25519.sign(seed, signed_message(head)) if seed is not None else UNSIGNED))
    return file.digest(), room + pack


def _parts(
    view: View, environ: Mapping[str, str], recipients: Sequence[bytes]
) -> tuple[dict[str, bytes], tuple[tuple[str, str], ...]]:
    """Every part by its name, and those that are not there, with the reason."""
    manifest, store = view.manifest, view.store
    sections = {one.name: document(store, one) for one in manifest.sections}
    parts = {MANIFEST: encode(manifest)}
    for one in manifest.sections:
        if one.document:
            parts[f"{one.name}.json"] = store.get_bytes(one.document)
    absent = [(f"{one.name}.json", one.reason) for one in manifest.sections if not one.document]
    parts["code_manifest.json"] = canonical(codemanifest.described(sections.get("code"), _code_trees(view)))
    items = fingerprint.of_sections(sections.get("dependencies"), sections.get("libraries"))
    parts["deps_fingerprint.bin"] = fingerprint.encoded(items)
    parts["gpu_layout.dot"] = gpulayout.rendered(sections.get("hardware")).encode()
    try:
        parts[AUDIT] = _audit(view, sections, environ, recipients)
    except NoSealingError as problem:
        if recipients:
            raise
        absent.append((AUDIT, problem.what))
    return parts, tuple(absent)


def _code_trees(view: View) -> Iterable[tuple[str, Plain]]:
    section = view.manifest.section("code")
    return [(name, view.store.tree(tree)) for name, tree in (section.trees if section is not None else ())]


def _audit(
    view: View, sections: Mapping[str, Plain], environ: Mapping[str, str], recipients: Sequence[bytes]
) -> bytes:
    """Sealed for this user, and for the recipients."""
    secret = own_identity(environ)
    log = auditlog.chained(view.manifest, auditlog.events(view.manifest, sections))
    return age.sealed(log, list(dict.fromkeys([agreement_key(secret), *recipients])), secret=secret)
