"""`dsec snapshot inspect`: what is in a snapshot, what takes the space, what is missing and why."""

from __future__ import annotations

import json
import sys

from dsec_cli.commands.snapshotting import project, store_of, view_of
from dsec_cli.commands.terminal import colored
from dsec_cli.exit import YES
from dsec_cli.report.output import emit
from dsec_cli.report.terminal import paint
from dsec_cli.snapshot.codediff import entries
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.spelling import readable, spelled
from dsec_cli.snapshot.views.inspecting import document, render
from dsec_cli.snapshot.views.quantities import size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args
    from dsec_cli.snapshot.shelf import View


def main(args: Args) -> int:
    """Print the page, the files, or everything as JSON."""
    with store_of(project(None)) as store:
        view = view_of(store, args.name)
        if args.json:
            found = document(view, args.top)
            if args.files:
                found["files"] = _rows(view)
            emit(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        elif args.files:
            emit(_files(view))
        else:
            emit(render(view, paint=paint(wanted=colored("auto", sys.stdout)), top=args.top), color=True)
    return YES


def _rows(view: View) -> list[dict[str, object]]:
    side = view.side("code")
    found = entries(side) if side.status != ABSENT else {}
    return [
        {
            "path": spelled(path),
            "kind": entry.kind,
            "mode": f"{entry.mode:o}",
            "bytes": entry.size,
            "blake3": entry.content or None,
        }
        for path, entry in sorted(found.items())
    ]


def _files(view: View) -> str:
    side = view.side("code")
    found = entries(side) if side.status != ABSENT else {}
    from dsec_cli.cells import shown

    lines = (
        f"{size(entry.size):>10}  {entry.content[:12]:<12}  {shown(readable(path))}\n"
        for path, entry in sorted(found.items())
    )
    return "".join(lines)
