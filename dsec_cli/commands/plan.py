"""`dsec plan`: a contract and an inventory in, a plan out; or two plans in, their differences out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsec.planfile import load_plan, plan_bytes, save_plan
from dsec_cli import exit as codes
from dsec_cli.commands.opened import contract_here
from dsec_cli.commands.pipeline import Refused, inventory_at, prepare, show
from dsec_cli.dag.plandiff import diff, diff_document, diff_text
from dsec_cli.dag.summary import plan_text
from dsec_cli.report.output import emit

if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Compile and show, or compare."""
    if args.diff:
        return _diff(args)
    if len(args.files) > 1:
        raise codes.UsageError(
            "one plan is made of one contract", hint="name one file, or compare two plans with --diff"
        )
    path = args.files[0] if args.files else contract_here()
    plan = prepare(path, inventory_at(args.inventory))
    if isinstance(plan, Refused):
        show(plan)
        return codes.NO
    stored = args.output == "-"
    if args.output is not None and not stored:
        save_plan(args.output, plan)
    emit(plan_bytes(plan).decode() if args.json or stored else plan_text(plan))
    return codes.YES


def _diff(args: Args) -> int:
    if len(args.files) != 2:
        raise codes.UsageError("--diff compares two plans", hint="dsec plan --diff old.json new.json")
    if args.inventory is not None:
        raise codes.UsageError("--diff needs no inventory: it is part of each plan")
    old, new = (load_plan(path) for path in args.files)
    found = diff(old, new)
    text = (
        json.dumps(diff_document(found), indent=2, ensure_ascii=False) + "\n"
        if args.json
        else diff_text(found)
    )
    emit(text, args.output)
    return codes.YES if found.same else codes.NO
