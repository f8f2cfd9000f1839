"""`dsec plan --what-if`: one contract planned in several ways, side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from dsec_cli import exit as codes
from dsec_cli.commands.pipeline import Refused, planned
from dsec_cli.commands.speaking import listener
from dsec_cli.dag.noise import spread
from dsec_cli.dag.summary import inventory_text
from dsec_cli.dag.whatif import BadScenarioError, read
from dsec_cli.dag.whatif_change import changed
from dsec_cli.dag.whatif_text import refused, scenario, whatif_document, whatif_text
from dsec_cli.report.output import emit
from dsec_cli.words import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsec.inventory import Inventory
    from dsec_cli.commands.pipeline import Clean
    from dsec_cli.dag.whatif import Change
    from dsec_cli.dag.whatif_text import Scenario
    from dsec_cli.options import Args

MOST_SCENARIOS = 100
_MOST_NOISE = 3.0


class Given(NamedTuple):
    """What all scenarios have in common."""

    clean: Clean
    asked: Mapping[str, int]
    """Parts of Steps, by `--split`."""
    durations: Mapping[str, int]
    noise: float | None


def compare(given: Given, inventories: Sequence[Inventory], args: Args) -> int:
    """Plan each scenario on each inventory, and show them in one table."""
    texts = args.what_if
    if len(inventories) * (1 + len(texts)) > MOST_SCENARIOS:
        raise codes.UsageError(
            say("these are more than {most} scenarios", most=MOST_SCENARIOS),
            hint=say("every --what-if is tried on every --inventory: leave some out"),
        )
    try:
        many = [(), *(read(text, given.clean.order.graph.numbers) for text in texts)]
        scenarios = [_tried(given, inventory, changes) for inventory in inventories for changes in many]
    except BadScenarioError as problem:
        raise codes.UsageError(problem.what, hint=problem.hint) from None
    name = given.clean.contract.name or given.clean.opened.path
    if args.json:
        document = whatif_document(name, scenarios)
        emit(json.dumps(document, indent=2, ensure_ascii=False) + "\n", args.output)
    else:
        emit(whatif_text(name, scenarios, listener(args.lang)), args.output)
    return codes.YES if all(one.plan is not None for one in scenarios) else codes.NO


def _tried(given: Given, inventory: Inventory, changes: tuple[Change, ...]) -> Scenario:
    clean = given.clean
    after = changed(clean.contract, clean.order, changes, given.durations)
    plan = planned(
        clean._replace(contract=after.contract, order=after.order),
        inventory,
        asked={**given.asked, **after.asked},
        durations=after.durations,
    )
    where = inventory_text(inventory)
    if isinstance(plan, Refused):
        return refused(after.told, where, tuple(one.message for one in plan.diagnostics))
    noisy = None if given.noise is None else spread(plan, given.noise)
    timed = {change.step for change in changes if change.field == "duration"}
    same = any(change.field == "gpu.count" and change.step not in timed for change in changes)
    return scenario(after.told, where, plan, noisy, as_long_as_before=same)


def noise_of(text: str | None) -> float | None:
    """The sigma that `--noise` states."""
    if text is None:
        return None
    whole, _, fraction = text.partition(".")
    digits = whole + fraction
    if digits.isascii() and digits.isdigit() and len(digits) < 12 and 0 < float(text) <= _MOST_NOISE:
        return float(text)
    raise codes.UsageError(
        say("--noise {text!r} is no number above 0 and up to {most:g}", text=text, most=_MOST_NOISE),
        hint=say("0.3: two of three durations are within 26 % below and 35 % above what was estimated"),
    )
