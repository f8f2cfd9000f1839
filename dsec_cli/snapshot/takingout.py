"""Writes what a snapshot holds beside the code into a folder: data, files of the run, packages."""

from __future__ import annotations

import os

from dsec.errors import StoredFormError
from dsec_cli.snapshot import inodes
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.restoring import Restored, appearing, lies_in
from dsec_cli.snapshot.shelf import SnapshotProblem
from dsec_cli.snapshot.spelling import readable
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Side
    from dsec_cli.snapshot.shelf import View

SECTIONS = ("data", "dependencies", "state")
"""Those that may hold files."""
_HOW = {
    "data": "take one with --data PATH:content",
    "dependencies": "take one with --deps-content",
    "state": "take one with --full-state",
}


def take_out(view: View, section: str, target: str, *, only: str = "") -> Restored:
    """Write the files of a section, or the file or folder `only`, below `target`, which must be new or empty.

    All of them appear at once, or nothing.
    """
    side = view.side(section)
    if side.status == ABSENT or not side.trees:
        why = side.reason or say("it took down hashes, no files")
        raise SnapshotProblem(
            say(
                "snapshot {name} has no {section} to write: {why}",
                name=view.manifest.name,
                section=section,
                why=why,
            ),
            hint=_HOW[section],
        )
    with appearing(target) as inside:
        return _write(view, section, side, inside, only)


def _write(view: View, section: str, side: Side, inside: str, only: str) -> Restored:
    files = taken = 0
    outward: list[str] = []
    lost: list[tuple[str, str]] = []
    for label, tree in side.trees.items():
        place, document = _place(section, label, side.data)
        if not lies_in(inside, place):
            raise StoredFormError(
                say("section {id} is damaged: {why}", id=section, why=f"{place} leads out of it")
            )
        part = _part(place, only)
        if part is None or not _has(view, tree, part):
            continue
        report = view.store.checkout(
            tree, os.fsencode(os.path.join(inside, place)), only=part or None, beside=inodes.beside(document)
        )
        files += report.files + report.links
        taken += report.written_bytes
        outward += [os.path.join(place, readable(one)) for one in report.outward]
        lost += [(os.path.join(place, readable(path)), why) for path, why in report.lost]
    if not files:
        raise SnapshotProblem(
            say("snapshot {name} has nothing at {path!r}", name=view.manifest.name, path=only),
            hint=say("without PATH all of it is written"),
        )
    return Restored(files, taken, (), (), (), tuple(outward), tuple(lost))


def _place(section: str, label: str, data: Plain) -> tuple[str, Plain]:
    """Where below the target a tree belongs, and what is known beside it."""
    if section == "state":
        return "", data
    rows = {f"data-{number}": one for number, one in enumerate(data["named"])} if section == "data" else {}
    if label not in rows:
        return label, {}
    row = rows[label]
    path = os.path.normpath(row["path"])
    if os.path.isabs(path) or path.startswith("..") or "\0" in path:
        path = os.path.join(label, os.path.basename(path.strip("./")) or "data")
    return (os.path.dirname(path) if row.get("file") else path.removeprefix("./")), row


def _part(place: str, only: str) -> bytes | None:
    """The part of a tree that lies at `place` which `only` names; b"": all; None: nothing."""
    if not only or place == only or place.startswith(f"{only}/"):
        return b""
    if not place:
        return os.fsencode(only)
    return os.fsencode(only[len(place) + 1 :]) if only.startswith(f"{place}/") else None


def _has(view: View, tree: str, part: bytes) -> bool:
    return not part or any(_within(entry.path, part) for entry in view.store.tree(tree))


def _within(path: bytes, part: bytes) -> bool:
    return path == part or path.startswith(part + b"/")
