"""`dsec report`: what a run came to."""

from __future__ import annotations

import json
import os
import sys

from dsec.core.report import build, document, markdown
from dsec.errors import DSecError
from dsec.quickplan import read_plan
from dsec.resume import read_run
from dsec.rundir import find
from dsec.words import say
from dsec_cli.commands.concluding import write_report
from dsec_cli.commands.depending import kept
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import YES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.rundir import RunDir
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Build the report anew from plan and journal, keep it if the run has ended, and print it."""
    run = find(os.getcwd(), os.environ, args.job)
    plan = read_plan(run.plan)
    told = read_run(run)
    report = build(plan, told.state, job=run.job, inventory=plan.inventory)
    report["dependencies"] = kept(run)
    if told.state.end is not None:
        _keep(run, report, args.lang)
    if args.json:
        sys.stdout.write(json.dumps(document(report), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write(markdown(report, listener(args.lang)))
    return YES


def _keep(run: RunDir, report: dict[str, Any], lang: str | None) -> None:
    """Write the report's files; where that is not allowed it is printed all the same."""
    try:
        write_report(run, report)
    except DSecError as problem:
        line = say("warning: the report is not kept: {why}", why=problem.what)
        sys.stderr.write(listener(lang)(line) + "\n")
