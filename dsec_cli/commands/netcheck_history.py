"""`dsec netcheck history`: the reports that are kept."""

from __future__ import annotations

import json
import time

from dsec.errors import DSecError
from dsec_cli.commands.netchecking import history_folder, kept, load
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import YES
from dsec_cli.netcheck.document import state_of
from dsec_cli.report.output import emit
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args

FORMAT = "dsec.netcheck-history/1"


def main(args: Args) -> int:
    """One line for each, oldest first; a damaged one is listed as such."""
    folder = history_folder(args.history)
    rows = [_row(path) for path in kept(folder)]
    if args.json:
        emit(json.dumps({"format": FORMAT, "folder": folder, "reports": rows}, indent=2) + "\n")
        return YES
    if not rows:
        emit(listener(args.lang)(say("no report is kept in {folder}", folder=folder)) + "\n")
        return YES
    emit("".join(f"{row['at']}  {row['state']:<8} {row['flows']}  {row['path']}\n" for row in rows))
    return YES


def _row(path: str) -> dict[str, str]:
    try:
        report = load(path)
    except DSecError as problem:
        return {"at": "?", "state": "damaged", "flows": problem.what, "path": path}
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(report.at_s))
    flows = ", ".join(leg.flow.name for leg in report.legs)
    return {"at": at, "state": state_of(report), "flows": flows, "path": path}
