"""Takes a snapshot: every section in turn, each present, partial or absent with its reason."""

from __future__ import annotations

import os
import time

from dsec import __version__
from dsec.codec import canonical
from dsec.errors import DSecError
from dsec.words import say
from dsec_cli.discovery import instances
from dsec_cli.snapshot.manifest import FORMAT, Manifest, Section, contents, encode, identity, trees
from dsec_cli.snapshot.section import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Captured, Scene


def parts() -> tuple[Part, ...]:
    """The sections there are, in the order that people read them in."""
    found = instances("dsec_cli.snapshot.sections", Part)
    return tuple(sorted(found, key=lambda one: (one.order, one.name)))


def refuse_root(folder: str, home: str) -> None:
    """Raise for a folder that is no project: `/`, the home folder or one above it."""
    real = os.path.realpath(folder)
    if real == "/" or os.path.realpath(home) == real or os.path.realpath(home).startswith(f"{real}/"):
        raise DSecError(
            say("{folder} is no project: it is, or holds, a home folder", folder=folder),
            hint="go to the project's folder, or name its contract",
        )


def capture(scene: Scene, name: str) -> Manifest:
    """Take the sections in; the manifest is not kept under its name yet."""
    sections = tuple(_section(part, scene) for part in parts())
    scene.hashes.keep()
    return Manifest(
        format=FORMAT,
        id=identity(sections),
        name=name,
        created_ms=time.time_ns() // 1_000_000,
        kind=scene.wanted.kind,
        job=scene.run.job if scene.run is not None else "",
        key=scene.redactor.key_id,
        version=__version__,
        sections=sections,
    )


def keep(scene: Scene, manifest: Manifest) -> None:
    """Make the snapshot exist: from now on it has its name; raises NameTaken."""
    scene.store.put_record(
        manifest.name,
        encode(manifest),
        trees=sorted(set(trees(manifest))),
        contents=sorted(set(contents(manifest))),
    )


def _section(part: Part, scene: Scene) -> Section:
    found: Captured = part.capture(scene)
    reason = _clean(part, scene, found.reason)
    if found.data is None:
        return Section(part.name, found.status, reason, "", 0, (), ())
    document = canonical(found.data)
    if scene.redactor.holds_token(document):
        document = canonical(_clean(part, scene, found.data))
    content = scene.store.put_bytes(document)
    return Section(
        part.name,
        found.status,
        reason,
        content,
        len(document) + found.size,
        found.trees,
        found.contents,
    )


def _clean(part: Part, scene: Scene, value: Plain) -> Plain:
    """All texts of a document without tokens, wherever they stand: in a path, a name, a message."""
    match value:
        case str():
            clean, found = scene.redactor.tokens(value)
            scene.redactions.extend((part.name, one) for one in found)
            return clean
        case dict():
            return {_clean(part, scene, name): _clean(part, scene, one) for name, one in value.items()}
        case list() | tuple():
            return [_clean(part, scene, one) for one in value]
        case _:
            return value
