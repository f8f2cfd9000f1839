"""`dsec snapshot restore`: write the code of a snapshot, or other files that it holds, into a folder."""

from __future__ import annotations

import json
import os

from dsec.rundir import keep_from_git
from dsec_cli.cells import shown
from dsec_cli.commands.snapshotting import project, redactor, store_of, tidily, view_of
from dsec_cli.exit import YES, UsageError
from dsec_cli.report.output import emit
from dsec_cli.snapshot.restoring import restore
from dsec_cli.snapshot.takingout import take_out
from dsec_cli.snapshot.views.quantities import counted, size
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.commands.snapshotting import Project
    from dsec_cli.options import Args
    from dsec_cli.snapshot.restoring import Restored

FORMAT = "dsec.snapshot-restore/1"


def main(args: Args) -> int:
    """Write it; a folder that holds something is never written into."""
    place = project(None)
    target = os.path.abspath(args.to or os.path.join(place.state, "restored", args.name))
    if os.path.lexists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise UsageError(
            say("{target} is there already, and not empty", target=target),
            hint="name another folder with --to",
        )
    only = "" if args.path is None else os.path.normpath(args.path)
    if os.path.isabs(only) or only.startswith(".."):
        raise UsageError(
            say("{path!r} is no path within the snapshot", path=args.path),
            hint="write it as inspect --files does",
        )
    if args.to is None:
        keep_from_git(place.state)
    with tidily(), store_of(place) as store:
        view = view_of(store, args.name)
        part = "" if only == "." else only
        if args.section == "code":
            made = restore(view, target, live=place.folder, redactor=redactor(place), only=part)
        else:
            made = take_out(view, args.section, target, only=part)
    if args.json:
        emit(_json(made, target))
        return YES
    inside = _part_of_code(target, place)
    emit("".join(f"{line}\n" for line in (*told(made, target), *inside)))
    return YES


def _part_of_code(target: str, place: Project) -> tuple[str, ...]:
    """Say that what lies in the project's folder is part of its code from now on, which hinders `run`."""
    if not target.startswith(f"{place.folder}/") or target.startswith(f"{place.state}/"):
        return ()
    return (
        "note: it lies within the project: unless .gitignore names it, snapshot diff and snapshot run"
        " count it as code",
    )


def told(made: Restored, target: str) -> list[str]:
    """What was written, and what is not as it was."""
    lines = [f"{shown(target)}: {counted(made.files, 'file')}, {size(made.size_bytes)}"]
    if made.filled:
        lines.append(f"secrets taken from the present work tree: {', '.join(map(shown, made.filled))}")
    lines += [f"secret missing: {shown(path)}:{line}" for path, line in made.missing]
    lines += [f"not in the snapshot, as it is a secret: {shown(path)}" for path in made.withheld]
    lines += [f"leads out of it: {shown(path)}" for path in made.outward]
    lines += [f"not as it was: {shown(path)}: {shown(why)}" for path, why in made.lost]
    return lines


def _json(made: Restored, target: str) -> str:
    document = {
        "format": FORMAT,
        "target": target,
        "files": made.files,
        "bytes": made.size_bytes,
        "filled": list(made.filled),
        "missing": [{"path": path, "line": line} for path, line in made.missing],
        "withheld": list(made.withheld),
        "outward": list(made.outward),
        "lost": [{"path": path, "why": why} for path, why in made.lost],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
