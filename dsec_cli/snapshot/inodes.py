"""What a tree does not hold of files: which of them are one file, and their extended attributes.

The store keeps content, modes, times and links. Data and files of a run are more than that: two names
of one file stay two names of one file, and attributes of the user's own (`user.*`) come back. Others
(`security.*`, lists of access rights) belong to a machine and its users: they are told, not kept.
"""

from __future__ import annotations

import errno
import os
from base64 import b64decode, b64encode
from binascii import Error

from dsec.store import Beside
from dsec_cli.snapshot.redaction import spans
from dsec_cli.snapshot.spelling import readable, spelled, unspelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec.store import TreeEntry
    from dsec_cli.snapshot.manifest import Plain

MOST_ATTRIBUTES = 64 << 10
"""Bytes of one file's attributes, as ext4 has them."""
_TOLD = 3
_OURS = "user."


class Seen:
    """What was found below a folder."""

    def __init__(self) -> None:
        self.links: list[list[str]] = []
        """Names of one file each, spelled, the first the one that is written."""
        self.attributes: dict[str, dict[str, str]] = {}
        """Of a path: name -> value in base 64."""
        self.reasons: list[str] = []

    def document(self) -> Plain:
        """As a section has it."""
        return {"links": self.links, "attributes": self.attributes}


def look(root: bytes, entries: Iterable[TreeEntry]) -> Seen:
    """What is to be known of the entries of a tree that was taken in from `root`."""
    found = Seen()
    names: dict[tuple[int, int], list[bytes]] = {}
    lost: dict[str, list[bytes]] = {}
    for entry in entries:
        if entry.kind == "link":
            continue
        path = os.path.join(root, entry.path)
        try:
            state = os.lstat(path)
            attributes = _attributes(path, entry.path, lost)
        except OSError:
            continue  # it went meanwhile, as the tree's own report says
        if entry.kind == "file" and state.st_nlink > 1:
            names.setdefault((state.st_dev, state.st_ino), []).append(entry.path)
        if attributes:
            found.attributes[spelled(entry.path)] = attributes
    found.links = sorted([spelled(one) for one in group] for group in names.values() if len(group) > 1)
    found.reasons = [_lost(why, paths) for why, paths in sorted(lost.items())]
    return found


def _lost(why: str, paths: list[bytes]) -> str:
    more = f" and {len(paths) - _TOLD} more" if len(paths) > _TOLD else ""
    return f"{why} not kept: {', '.join(map(readable, paths[:_TOLD]))}{more}"


def _attributes(path: bytes, name: bytes, lost: dict[str, list[bytes]]) -> dict[str, str]:
    """Those that are kept; why others are not goes into `lost`."""
    try:
        listed = os.listxattr(path, follow_symlinks=False)
    except OSError as problem:
        if problem.errno not in (errno.ENOTSUP, errno.EPERM, errno.EACCES):
            raise
        return {}
    kept: dict[str, str] = {}
    for one in sorted(listed):
        if not one.startswith(_OURS):
            lost.setdefault(f"attribute {one}", []).append(name)
            continue
        value = os.getxattr(path, one, follow_symlinks=False)
        if spans(value, settings=True):
            lost.setdefault(f"attribute {one}, which holds a secret,", []).append(name)
        elif len(value) > MOST_ATTRIBUTES:
            lost.setdefault(f"attribute {one}, which is large,", []).append(name)
        else:
            kept[one] = b64encode(value).decode("ascii")
    return kept


def beside(document: Plain) -> Beside:
    """What a section says of its files, for a checkout; the section may be somebody else's."""
    twins = {
        unspelled(name): number for number, group in enumerate(document.get("links", ())) for name in group
    }
    attributes = {
        unspelled(name): tuple(_readable(found))
        for name, found in sorted(document.get("attributes", {}).items())
    }
    return Beside(twins, attributes)


def _readable(found: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    for name, text in sorted(found.items()):
        try:
            value = b64decode(text, validate=True)
        except (Error, ValueError):
            continue
        if name.startswith(_OURS) and "\0" not in name and len(value) <= MOST_ATTRIBUTES:
            yield name, value
