"""A plan in words, for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from dsec.core.starting import elastic_pool
from dsec_cli.dag.linking import link_text
from dsec_cli.dag.replay import plan_overlap
from dsec_cli.dag.view import demand_text, pace_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.inventory import Inventory
    from dsec.plan import Plan, PlannedStep, Schedule

_COLUMNS = "{:>3} {} {:<25} {:<11} {:<22} {:<7} {}"
_MOST_PLAYED = 5000
"""Steps of a plan up to which elasticity is played through."""
_SIGN = {"default": "?", "declared": "", "history": "~"}
_MEANING = {
    "declared": "declared",
    "history": "~ from earlier runs",
    "default": "? nobody knows, 1s assumed",
}


def plan_text(plan: Plan) -> str:
    """Steps in order with their places, what the plan costs, and its hash; 80 columns."""
    lines = [f"plan {plan.name}: {_counts(plan)}", f"inventory: {inventory_text(plan.inventory)}", ""]
    lines.append(_COLUMNS.format("#", " ", "Step", "tolerance", "takes", "time", "on").rstrip())
    critical = set(plan.analysis.critical_path)
    spans = {one.step: one for one in plan.elastic or ()}
    for number, step in enumerate(plan.steps, 1):
        lines += _step(number, step, step.id in critical)
        if step.id in spans:
            lines.append(f"      starts on {spans[step.id].least} to {spans[step.id].most} GPUs")
    lines += ["", *_analysis(plan)]
    for link in plan.links or ():
        lines += textwrap.wrap(
            f"{'link':<18} {link_text(link)}", 80, subsequent_indent=" " * 21, break_on_hyphens=False
        )
    for note in (*plan.notes, *plan.inventory.notes):
        lines += textwrap.wrap(f"note: {note}", 80, subsequent_indent="      ")
    return "\n".join(map(_plain, [*lines, f"hash: {plan.hash}"])) + "\n"


def _counts(plan: Plan) -> str:
    parts = [_count(len(plan.steps), "Step"), _count(plan.iterations.count, "iteration")]
    if plan.iterations.count > 1:
        parts.append(f"{plan.iterations.in_flight} in flight, staleness {plan.iterations.max_staleness}")
    return ", ".join(parts)


def _count(amount: int, noun: str) -> str:
    return f"{amount} {noun}{'' if amount == 1 else 's'}"


def inventory_text(inventory: Inventory) -> str:
    """`nvml, 64 cores, 503.6 GiB, 8 x a100-sxm-80gb`."""
    kinds: dict[str, int] = {}
    for device in inventory.devices:
        kind = device.type or device.model or "unknown GPU"
        kinds[kind] = kinds.get(kind, 0) + 1
    memory = inventory.memory_bytes
    parts = [
        inventory.origin,
        "1 core" if inventory.cpu_m == 1000 else f"{inventory.cpu_m / 1000:g} cores",
        f"{memory / 2**30:.1f} GiB" if memory is not None else "memory unknown",
        *(f"{count} x {kind}" for kind, count in sorted(kinds.items())),
    ]
    return ", ".join(parts if kinds else [*parts, "no GPU"])


def _step(number: int, step: PlannedStep, critical: bool) -> Iterator[str]:
    name = _shorten(f"{step.id} {step.name}" if step.name else step.id, 25)
    time = time_text(step.estimate_ms) + _SIGN[step.estimate_source]
    takes = _shorten(demand_text(step.demand), 22)
    on = "cpu" if not step.placement.devices else "gpu"
    mark = "*" if critical else " "
    yield _COLUMNS.format(number, mark, name, step.level, takes, time, on).rstrip()
    needs = [_need(edge.step, edge.kind, edge.staleness) for edge in step.needs]
    if needs:
        yield f"      needs {', '.join(needs)}"
    if step.placement.devices:
        text = f"      {step.reasons[0]}"
        yield from textwrap.wrap(text, 80, subsequent_indent=" " * 8, break_on_hyphens=False)
    for text in step.reasons:
        if text.startswith("split: "):
            yield from textwrap.wrap(text, 80, initial_indent=" " * 6, subsequent_indent=" " * 13)


def _need(step: str, kind: str, staleness: int) -> str:
    if kind != "carried":
        return step
    return (
        f"{step} of the iteration before"
        if not staleness
        else f"{step} of up to {staleness + 1} iterations before"
    )


def _analysis(plan: Plan) -> Iterator[str]:
    found = plan.analysis
    steps = _count(len(found.critical_path), "Step")
    yield f"critical path (*)  {time_text(found.critical_path_ms)} in {steps}"
    yield f"one iteration      {time_text(found.makespan_ms)} on this inventory{_gap(plan)}"
    if found.schedule is not None:
        yield from textwrap.wrap(_orders(found.schedule), 80, subsequent_indent=" " * 19)
    repeated = plan_overlap(plan)
    if repeated is not None:
        many = _count(plan.iterations.count, "iteration")
        yield f"{many:<18} {time_text(repeated.total)} in all: {pace_text(repeated, found.makespan_ms)}"
    if plan.elastic:
        from dsec.core.planscene import elastic_ms  # few plans are elastic

        gpus = len(plan.inventory.devices)
        pool = f"pool: {elastic_pool(gpus)} of {_count(gpus, 'GPU')}"
        yield f"elastic            {_count(len(plan.elastic), 'Step')}; {pool}"
        if len(plan.steps) <= _MOST_PLAYED:
            with_it = time_text(elastic_ms(plan))
            yield f"                   one iteration {with_it} with it, if more GPUs help as is assumed"
    counts: dict[str, int] = {}
    for step in plan.steps:
        counts[step.estimate_source] = counts.get(step.estimate_source, 0) + 1
    parts = [f"{counts[source]} {words}" for source, words in _MEANING.items() if source in counts]
    yield f"durations          {'; '.join(parts)}"
    for before, after in found.cuts:
        yield f"cut                {before} -> {after} reads the iteration before (break_cycle)"


def _orders(schedule: Schedule) -> str:
    """The order that was chosen, and what the others lead to."""
    others = [
        f"{order} {time_text(span)}" for order, span in schedule.makespans_ms if order != schedule.order
    ]
    return f"order              {schedule.order}" + (f"; {', '.join(others)}" if others else "")


def _gap(plan: Plan) -> str:
    bound, span = plan.analysis.lower_bound_ms, plan.analysis.makespan_ms
    if span == bound:
        return ", and nothing can be faster there"
    return f"; no schedule there is shorter than {time_text(bound)}"


def _plain(text: str) -> str:
    """The text without what a terminal would obey."""
    return text if text.isprintable() else "".join(ch if ch.isprintable() else " " for ch in text)


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
