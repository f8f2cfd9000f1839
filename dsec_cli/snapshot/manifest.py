"""The manifest of a snapshot: which sections it has, how whole each is, and where its content lies."""

from __future__ import annotations

import json

from dsec.codec import canonical, decode
from dsec.errors import StoredFormError
from dsec.hashing import hasher
from dsec.record import Record
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    Plain: TypeAlias = Any
    """JSON without fractions: texts, whole numbers, truth values, null, lists, objects."""

FORMAT = "dsec.snapshot/1"
PRESENT, PARTIAL, ABSENT = "present", "partial", "absent"
MANUAL, START, LIGHT, FINISH = "manual", "start", "light", "finish"
MOST_NAME = 80
"""Characters of a snapshot's name: it is part of a file's name in the store."""
MOST_BYTES = 16 << 20
"""Of one stored manifest; a larger one was not written by us."""


class Section(Record):
    """One section of a snapshot."""

    name: str
    status: str
    """`present`, `partial` or `absent`."""
    reason: str
    """Why it is not all there; "" for a present one."""
    document: str
    """Content id of the section's JSON; "" for an absent one."""
    size: int
    """Bytes of that JSON and of what the section stores beside it, before compression."""
    trees: tuple[tuple[str, str], ...]
    """(label, tree id) of the folders that belong to it."""
    contents: tuple[tuple[str, str], ...]
    """(label, content id) of single files that belong to it."""

    def tree(self, label: str) -> str:
        """The id of the tree with this label; "": there is none."""
        return dict(self.trees).get(label, "")


class Manifest(Record):
    """A snapshot."""

    format: str
    id: str
    """Hash of the sections: the same state has the same id, whatever its name and its time."""
    name: str
    created_ms: int
    kind: str
    """`manual`, or `start`, `light`, `finish` of a run."""
    job: str
    """The run that it was taken of; "" where there is none."""
    key: str
    """Which key made the digests of what was left out."""
    version: str
    """Of the DSec that took it."""
    sections: tuple[Section, ...]

    def section(self, name: str) -> Section | None:
        """The section of that name."""
        return next((one for one in self.sections if one.name == name), None)


def identity(sections: tuple[Section, ...]) -> str:
    """The id that these sections come to."""
    state = hasher("blake3")
    state.update(b"dsec.snapshot.id/1\n" + canonical(sections))
    return state.hexdigest()


def encode(manifest: Manifest) -> bytes:
    """The stored form."""
    return canonical(manifest)


def parse(data: bytes, name: str) -> Manifest:
    """A manifest from its stored form; raises StoredFormError for a newer, damaged or foreign one."""
    document = _document(data, name)
    found = document.get("format")
    if found != FORMAT:
        raise StoredFormError(
            say("snapshot {name} has the form {found!r}, not {want}", name=name, found=found, want=FORMAT),
            hint="it was written by another version of DSec",
        )
    try:
        manifest = decode(Manifest, document, where="manifest")
    except StoredFormError as problem:
        raise _damaged(name, problem.what) from None
    if identity(manifest.sections) != manifest.id:
        raise _damaged(name, "its id does not belong to its sections")
    return manifest


def _document(data: bytes, name: str) -> dict[str, Plain]:
    if len(data) > MOST_BYTES:
        raise _damaged(name, "it is too large")
    try:
        document = json.loads(data, object_pairs_hook=_unique, parse_float=_refused, parse_constant=_refused)
    except (ValueError, RecursionError) as problem:
        raise _damaged(name, str(problem)) from None
    if not isinstance(document, dict):
        raise _damaged(name, "it is no object")
    return document


def _unique(pairs: list[tuple[str, Plain]]) -> dict[str, Plain]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refused(text: str) -> Plain:
    raise ValueError(f"{text} is no whole number")


def _damaged(name: str, why: str) -> StoredFormError:
    return StoredFormError(
        say("snapshot {name} is damaged: {why}", name=name, why=why),
        hint="dsec snapshot verify tells what else is",
    )


def trees(manifest: Manifest) -> Iterator[str]:
    """Ids of all trees that the store must keep for it."""
    for section in manifest.sections:
        yield from (tree for _, tree in section.trees)


def contents(manifest: Manifest) -> Iterator[str]:
    """Ids of all single contents that the store must keep for it."""
    for section in manifest.sections:
        if section.document:
            yield section.document
        yield from (content for _, content in section.contents)


def is_name(text: str) -> bool:
    """Whether `text` can name a snapshot: it is also a file name and an argument."""
    return (
        0 < len(text) <= MOST_NAME
        and text.isascii()
        and text[0].isalnum()
        and all(ch.isalnum() or ch in "_.-" for ch in text)
    )
