"""`dsec plan`: a contract and an inventory in, a plan out; or two plans in, their differences out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsec.planfile import load_plan, plan_bytes, save_plan
from dsec_cli import exit as codes
from dsec_cli.commands.depending import needs_python, python_here
from dsec_cli.commands.missing_files import tell_of_missing
from dsec_cli.commands.nearest import contract_here
from dsec_cli.commands.pipeline import Refused, examined, inventory_at, learned, planned, show
from dsec_cli.commands.speaking import listener
from dsec_cli.dag.plandiff import diff, diff_document, diff_text
from dsec_cli.dag.summary import plan_text
from dsec_cli.report.output import emit
from dsec_cli.words import say

if TYPE_CHECKING:
    from dsec.inventory import Inventory
    from dsec.plan import Plan
    from dsec_cli.commands.pipeline import Clean
    from dsec_cli.dag.summary import Tell
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Compile and show, or compare."""
    if args.diff:
        return _diff(args)
    if len(args.files) > 1:
        raise codes.UsageError(
            "one plan is made of one contract", hint="name one file, or compare two plans with --diff"
        )
    inventories = [inventory_at(spec) for spec in args.inventory or (None,)]
    clean = examined(args.files[0] if args.files else contract_here(), lang=args.lang)
    if isinstance(clean, Refused):
        show(clean, args.lang)
        return codes.NO
    return _planned(clean, inventories, args)


def _planned(clean: Clean, inventories: list[Inventory], args: Args) -> int:
    """One plan, or several side by side."""
    asked, durations = _asked(clean, args), _durations(clean, args, inventories[0])
    if args.what_if or args.noise is not None or len(inventories) > 1:
        from dsec_cli.commands.comparing import Given, compare, noise_of

        return compare(Given(clean, asked, durations, noise_of(args.noise)), inventories, args)
    plan = planned(clean, inventories[0], asked=asked, durations=durations)
    if isinstance(plan, Refused):
        show(plan, args.lang)
        return codes.NO
    if not args.inventory:  # the files of another machine are not here
        tell_of_missing(plan, clean.opened.folder, args.lang)
    stored = args.output == "-"
    if args.output is not None and not stored:
        save_plan(args.output, plan)
    tell = listener(args.lang)
    emit(
        plan_bytes(plan).decode() if args.json or stored else plan_text(plan, tell, here=_python(plan, tell))
    )
    return codes.YES


def _python(plan: Plan, tell: Tell) -> str:
    """Which Python calls would run in here; no part of the plan, which may be carried out elsewhere."""
    if not needs_python(plan):
        return ""
    return tell(say("python here: {python}", python=python_here(plan)))


def _asked(clean: Clean, args: Args) -> dict[str, int]:
    if not args.split:
        return {}
    from dsec_cli.commands.parting import asked_parts

    return asked_parts(args.split, clean.order.graph.numbers)


def _durations(clean: Clean, args: Args, inventory: Inventory) -> dict[str, int]:
    """What earlier runs took, and over it what `--durations` names."""
    known = learned(clean.opened, clean.lessons, inventory)
    if args.durations is None:
        return known
    from dsec_cli.commands.timing import DECLARED, durations_of

    if args.durations == DECLARED:
        return {}
    given = durations_of(args.durations, clean.order.graph.numbers, folder=clean.opened.folder)
    return {**known, **given}


def _diff(args: Args) -> int:
    if len(args.files) != 2:
        raise codes.UsageError("--diff compares two plans", hint="dsec plan --diff old.json new.json")
    if args.inventory:
        raise codes.UsageError("--diff needs no inventory: it is part of each plan")
    if args.what_if or args.split or args.durations is not None or args.noise is not None:
        raise codes.UsageError(
            "--diff compares plans as they are stored", hint="make them first: dsec plan -o"
        )
    old, new = (load_plan(path) for path in args.files)
    found = diff(old, new)
    text = (
        json.dumps(diff_document(found), indent=2, ensure_ascii=False) + "\n"
        if args.json
        else diff_text(found)
    )
    emit(text, args.output)
    return codes.YES if found.same else codes.NO
