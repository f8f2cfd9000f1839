"""Writes the code of a snapshot into a folder, with the secrets that the present work tree has, too."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile

from dsec.errors import StoredFormError
from dsec.record import Record
from dsec.store.values import NOTHING, NothingThere
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.scanned import MOST_BYTES, opened
from dsec_cli.snapshot.shelf import SnapshotProblem
from dsec_cli.snapshot.spelling import readable, unspelled
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.store.values import Beside, Report
    from dsec_cli.snapshot.redaction import Redactor
    from dsec_cli.snapshot.shelf import View


_LISTS = "dsec snapshot inspect NAME --files lists what it has"


class Restored(Record):
    """What was written."""

    files: int
    size_bytes: int
    filled: tuple[str, ...]
    """Files whose secrets were taken from the present work tree."""
    missing: tuple[tuple[str, int], ...]
    """(path, line) of secrets that nobody here has: the placeholder stands there."""
    withheld: tuple[str, ...]
    """Files that are not in the snapshot at all, as their names say that they are secrets."""
    outward: tuple[str, ...] = ()
    """Links that lead out of what was written."""
    lost: tuple[tuple[str, str], ...] = ()
    """(path, why) of what could not be brought back of links and attributes."""


@contextlib.contextmanager
def appearing(target: str) -> Iterator[str]:
    """A folder that becomes `target`, new or empty until then, at the end of the block; raises DSecError."""
    above = os.path.dirname(os.path.abspath(target))
    try:
        os.makedirs(above, exist_ok=True)
        room = tempfile.mkdtemp(prefix=".dsec-restore-", dir=above)
    except OSError as problem:
        raise _unwritten(target, problem) from None
    inside = os.path.join(room, "new")
    try:
        os.mkdir(inside)
        yield inside
        if os.path.lexists(target):
            os.rmdir(target)  # an empty folder was allowed
        os.rename(inside, target)
    except OSError as problem:
        raise _unwritten(target, problem) from None
    finally:
        _remove(room)


def lies_in(folder: str, path: str) -> bool:
    """Whether a path that somebody else wrote leads into the folder, and through no link."""
    if os.path.isabs(path) or "\0" in path:
        return False
    return os.path.realpath(os.path.join(folder, path)) == os.path.normpath(
        os.path.join(os.path.realpath(folder), path)
    ) and not os.path.normpath(path).startswith("..")


def _unwritten(target: str, problem: OSError) -> SnapshotProblem:
    return SnapshotProblem(
        say("{path} could not be written: {why}", path=target, why=system(problem)),
        hint=say("nothing was left there; choose a place that can be written"),
    )


def _remove(room: str) -> None:
    """Take the folder away, folders in it that may not be written to included, however deep they lie.

    Inner folders are moved up before their turn comes: no path gets longer, and nothing calls itself.
    """
    waiting, count = [room], 0
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)
            for entry in os.scandir(folder):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                count += 1
                inner = os.path.join(room, f"gone-{count}")
                os.chmod(entry.path, 0o700)
                if folder != room:
                    os.rename(entry.path, inner)
                waiting.append(entry.path if folder == room else inner)
            if folder != room:
                os.rmdir(folder)
    with contextlib.suppress(OSError):
        os.rmdir(room)


def restore(view: View, target: str, *, live: str, redactor: Redactor, only: str = "") -> Restored:
    """Write the code, or the file or folder `only` of it, below `target`, which must not exist yet.

    `live` is the present work tree. All of it appears at once, or nothing.
    """
    side = view.side("code")
    if side.status == ABSENT:
        raise SnapshotProblem(
            say("snapshot {name} has no code: {why}", name=view.manifest.name, why=side.reason),
            hint="take one with --include-code",
        )
    with appearing(target) as inside:
        return _write(view, inside, live=live, redactor=redactor, only=only)


def _write(view: View, inside: str, *, live: str, redactor: Redactor, only: str) -> Restored:
    side = view.side("code")
    report = write_all(
        view,
        [(b"", side.trees[label]) for label in ("code", "redacted") if label in side.trees],
        inside,
        only,
    )
    filled, missing = _fill(view, inside, live=live, redactor=redactor)
    withheld = tuple(one["path"] for one in side.data["withheld"])
    outward = tuple(map(readable, report.outward))
    return Restored(report.files + report.links, report.written_bytes, filled, missing, withheld, outward)


def write_all(
    view: View, parts: list[tuple[bytes, str]], inside: str, only: str, beside: Beside = NOTHING
) -> Report:
    """Write these trees, each at its path, or the file or folder `only` of them; raises SnapshotProblem."""
    part = os.fsencode(only) if only else None
    if len(parts) > 1:
        _refuse_repository(view, parts)
    try:
        report = view.store.checkout_all(parts, os.fsencode(inside), only=part, beside=beside)
    except NothingThere:
        report = None
    if report is None or not report.files + report.links:
        raise SnapshotProblem(
            say("snapshot {name} has nothing at {path!r}", name=view.manifest.name, path=only or "."),
            hint=_LISTS if beside is NOTHING else say("without PATH all of it is written"),
        )
    return report


def _refuse_repository(view: View, parts: list[tuple[bytes, str]]) -> None:
    """Raise StoredFormError where trees that are none make a bare repository of git together.

    Git would run what it says. One tree that is one alone was refused when it was taken in, or is our own.
    """
    alone: set[bytes] = set()
    together: dict[bytes, set[bytes]] = {}
    for place, tree in parts:
        found: dict[bytes, set[bytes]] = {}
        for path, is_folder in _paths(view, place, tree):
            folder, _, name = path.rpartition(b"/")
            if (small := name.lower()) in _BARE and is_folder == (small != b"head"):
                found.setdefault(folder, set()).add(small)
                together.setdefault(folder, set()).add(small)
        alone.update(folder for folder, names in found.items() if names == _BARE)
    if strange := sorted(
        folder for folder, names in together.items() if names == _BARE and folder not in alone
    ):
        raise StoredFormError(
            say(
                "{path} is not written: {why}",
                path=readable(strange[0]) or ".",
                why=say("git would take it for a repository, and run what it says"),
            ),
            hint=say("somebody made it so; ask where it comes from"),
        )


_BARE = {b"head", b"objects", b"refs"}


def _paths(view: View, place: bytes, tree: str) -> Iterator[tuple[bytes, bool]]:
    """What is written for a tree at its place, and whether it is a folder."""
    at = place
    while at:
        yield at, True
        at = at.rpartition(b"/")[0]
    for entry in view.store.tree(tree):
        yield (place + b"/" + entry.path if place else entry.path), entry.kind == "dir"


def _fill(
    view: View, inside: str, *, live: str, redactor: Redactor
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """Put the present file in place of one without its secrets, where that is all they differ in."""
    filled: list[str] = []
    missing: list[tuple[str, int]] = []
    told = view.side("code").data["redacted"]
    for name in dict.fromkeys(one["path"] for one in told):
        path = os.fsdecode(unspelled(name))
        target = os.path.join(inside, path)
        if not lies_in(inside, path) or not os.path.lexists(target):
            continue
        present = _same_but_secrets(os.path.join(live, path), target, path, redactor)
        if present is not None:
            _overwrite(target, present)
            filled.append(name)
        else:
            missing += [(name, one["line"]) for one in told if one["path"] == name]
    return tuple(filled), tuple(missing)


def _same_but_secrets(present: str, stored: str, name: str, redactor: Redactor) -> bytes | None:
    """The present file, if it is the stored one with its secrets."""
    try:
        with open(present, "rb", opener=opened) as file:
            data = file.read(MOST_BYTES + 1)
        with open(stored, "rb", opener=opened) as file:
            same = len(data) <= MOST_BYTES and redactor.file(data, name)[0] == file.read(2 * MOST_BYTES)
    except OSError:
        return None
    return data if same else None


def _overwrite(path: str, data: bytes) -> None:
    """Give a restored file other content; one that nobody may write to stays like that."""
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    os.chmod(path, mode | stat.S_IWUSR)
    with open(path, "wb", opener=opened) as file:
        file.write(data)
    os.chmod(path, mode)
