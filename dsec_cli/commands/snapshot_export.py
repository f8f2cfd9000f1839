"""`dsec snapshot export`: write a snapshot as one signed file."""

from __future__ import annotations

import json
import os

from dsec_cli.cells import shown
from dsec_cli.commands.snapshotting import project, store_of, view_of
from dsec_cli.exit import YES, UsageError
from dsec_cli.report.output import emit
from dsec_cli.snapshot.package import age
from dsec_cli.snapshot.package.form import SUFFIX
from dsec_cli.snapshot.package.keys import fingerprint
from dsec_cli.snapshot.package.writing import write
from dsec_cli.snapshot.views.quantities import counted, size
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.options import Args
    from dsec_cli.snapshot.package.writing import Written

FORMAT = "dsec.snapshot-export/1"
_SHOWN = 3


def main(args: Args) -> int:
    """Write it."""
    recipients = [_recipient(text) for text in args.recipient]
    with store_of(project(None)) as store:
        view = view_of(store, args.name)
        path = args.output or view.manifest.name + SUFFIX
        made = write(view, path, environ=os.environ, recipients=recipients, signed=not args.unsigned)
    emit(_json(made) if args.json else "".join(f"{line}\n" for line in _told(made)))
    return YES


def _recipient(text: str) -> bytes:
    key = age.public_key(text)
    if key is None:
        raise UsageError(
            say("--recipient {text!r} is no public key of age", text=text),
            hint=say("it begins with age1; dsec snapshot keys prints the one of who is to open it"),
        )
    return key


def _told(made: Written) -> Iterator[str]:
    table = made.table
    yield f"{shown(made.path)}: {size(made.size)}, snapshot {table.snapshot.id[:12]}"
    largest = ", ".join(f"{shown(name)} {size(count)}" for name, count in made.largest[:_SHOWN])
    yield f"{counted(len(table.parts), 'part')}, the largest: {largest}"
    if table.signer is not None:
        yield f"signed by {shown(table.signer.label)}, key {fingerprint(table.signer.key)}"
    else:
        yield "not signed"
    for name, why in table.absent:
        yield f"not in it: {shown(name)}: {shown(why)}"


def _json(made: Written) -> str:
    table = made.table
    document = {
        "format": FORMAT,
        "path": made.path,
        "size": made.size,
        "blake3": made.digest,
        "snapshot": table.snapshot.id,
        "parts": [{"name": one.name, "blake3": one.id, "size": one.size} for one in table.parts],
        "absent": [{"name": name, "why": why} for name, why in table.absent],
        "key": table.signer.key if table.signer is not None else None,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
