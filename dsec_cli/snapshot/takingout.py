"""Writes what a snapshot holds beside the code into a folder: data, files of the run, packages."""

from __future__ import annotations

import os

from dsec.errors import StoredFormError
from dsec.store.values import Beside
from dsec_cli.snapshot import inodes
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.restoring import Restored, appearing, lies_in, write_all
from dsec_cli.snapshot.shelf import SnapshotProblem
from dsec_cli.snapshot.spelling import is_repository, readable
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
    parts: list[tuple[bytes, str]] = []
    twins: dict[bytes, int] = {}
    attributes: dict[bytes, tuple[tuple[str, bytes], ...]] = {}
    for label, tree in side.trees.items():
        place, document = _place(section, label, side.data)
        if not lies_in(inside, place):
            raise StoredFormError(
                say("section {id} is damaged: {why}", id=section, why=f"{place} leads out of it")
            )
        below = b"" if place in ("", ".") else os.fsencode(os.path.normpath(place))
        parts.append((below, tree))
        known, first = inodes.beside(document), len(twins)
        twins |= {_joined(below, path): first + number for path, number in known.twins.items()}
        attributes |= {_joined(below, path): found for path, found in known.attributes.items()}
    report = write_all(view, parts, inside, only, Beside(twins, attributes))
    outward = tuple(map(readable, report.outward))
    lost = tuple((readable(path), why) for path, why in report.lost)
    return Restored(report.files + report.links, report.written_bytes, (), (), (), outward, lost)


def _joined(folder: bytes, path: bytes) -> bytes:
    return folder + b"/" + path if folder else path


def _place(section: str, label: str, data: Plain) -> tuple[str, Plain]:
    """Where below the target a tree belongs, and what is known beside it."""
    if section == "state":
        return "", data
    rows = {f"data-{number}": one for number, one in enumerate(data["named"])} if section == "data" else {}
    if label not in rows:
        return label, {}
    row = rows[label]
    path = os.path.normpath(row["path"])
    strange = any(is_repository(os.fsencode(one)) for one in path.split("/"))
    if os.path.isabs(path) or path.startswith("..") or "\0" in path or strange:
        name = "" if strange else os.path.basename(path.strip("./"))
        path = os.path.join(label, name or "data")
    return (os.path.dirname(path) if row.get("file") else path.removeprefix("./")), row
