"""`dsec snapshot list`: the snapshots of a project, the newest last."""

from __future__ import annotations

import json

from dsec_cli.commands.snapshotting import project, store_of
from dsec_cli.exit import YES
from dsec_cli.report.output import emit
from dsec_cli.snapshot.shelf import listed, unread
from dsec_cli.snapshot.views.listing import document, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Print them."""
    place = project(args.folder)
    with store_of(place) as store:
        known, odd = listed(store), unread(store)
        usage = store.usage()
    if args.json:
        emit(json.dumps(document(known, odd, usage), indent=2, ensure_ascii=False) + "\n")
    else:
        emit(render(known, odd, usage))
    return YES
