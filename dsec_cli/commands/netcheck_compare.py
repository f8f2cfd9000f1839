"""`dsec netcheck compare`: two reports, and what became worse between them."""

from __future__ import annotations

import json

from dsec.errors import DSecError
from dsec_cli.commands.netchecking import history_folder, kept, load
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.netcheck.comparing import compare
from dsec_cli.report.output import emit
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.netcheck.comparing import Change
    from dsec_cli.options import Args

FORMAT = "dsec.netcheck-comparison/1"


def main(args: Args) -> int:
    """Print every figure; worse ones decide."""
    old, new = _paths(args)
    changes = compare(load(old), load(new))
    emit(_document(old, new, changes) if args.json else _text(old, new, changes))
    turns = {one.turn for one in changes}
    if turns & {"worse", "gone"}:
        return NO
    if not turns & {"same", "better"}:
        raise DSecError(
            say("nothing can be compared: no figure was measured in both reports"),
            hint=say("`ds-netcheck run` says why a flow could not be measured"),
        )
    return YES


def _paths(args: Args) -> tuple[str, str]:
    if args.old is not None and args.new is not None:
        return args.old, args.new
    if args.old is not None:
        raise UsageError(say("two reports are compared"), hint="ds-netcheck compare OLD NEW")
    folder = history_folder(args.history)
    paths = kept(folder)
    if len(paths) < 2:
        raise UsageError(
            say("fewer than two reports are kept in {folder}", folder=folder),
            hint="ds-netcheck compare OLD NEW",
        )
    return paths[-2], paths[-1]


def _document(old: str, new: str, changes: Sequence[Change]) -> str:
    rows = [one._asdict() for one in changes]
    document = {"format": FORMAT, "old": old, "new": new, "changes": rows}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _text(old: str, new: str, changes: Sequence[Change]) -> str:
    lines = [f"{old} -> {new}"]
    flow = ""
    for one in changes:
        if one.flow != flow:
            flow = one.flow
            lines.append(flow)
        lines.append(f"  {one.turn:<7} {one.figure:<13} {one.before} -> {one.now}")
    return "".join(f"{line}\n" for line in lines)
