"""A plan in words, for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from dsec.core.starting import elastic_pool
from dsec_cli.cells import cells, padded, plain, wrap
from dsec_cli.dag.pool import AMPLE
from dsec_cli.dag.replay import plan_overlap
from dsec_cli.dag.rows import MANY
from dsec_cli.dag.view import (
    cores_text,
    demand_text,
    elided,
    kind_of,
    link_text,
    pace_text,
    prefix_of,
    time_text,
)
from dsec_cli.words import joined, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsec.inventory import Inventory
    from dsec.plan import Elastic, Plan, PlannedStep, Schedule

    Tell = Callable[[str], str]

_WIDTHS = (3, 1, 25, 11, 22, 7, 0)
_LABEL = 19
"""Cells of what stands before a statement about the whole plan."""
_MOST_LINKS = 50
_MOST_PLAYED = 500
"""Steps of a plan up to which elasticity is played through."""
_SIGN = {"default": "?", "declared": "", "history": "~"}
_MEANING = {
    "declared": "{count} declared",
    "history": "{count} ~ from earlier runs",
    "default": "{count} ? unknown, 1s assumed",
}


def plan_text(plan: Plan, tell: Tell = str, *, here: str = "") -> str:
    """Steps in order with their places, what the plan costs, and its hash; 80 columns, said by `tell`.

    `here`: a line about this machine, which is no part of the plan; it stands before the hash.
    """
    inventory = inventory_text(plan.inventory)
    lines = [
        tell(say("plan {name}: {counts}", name=plan.name, counts=_counts(plan))),
        *_told("", tell(say("inventory: {inventory}", inventory=inventory)), 0, deeper=11),
        "",
    ]
    heads = ("#", " ", say("Step"), say("tolerance"), say("takes"), say("time"), say("on"))
    lines.append(_columns(tuple(map(tell, heads))))
    lines += _rows(plan, tell)
    lines.append("")
    for label, text in _analysis(plan):
        lines += _told(tell(label), tell(text), _LABEL)
    links = plan.links or ()
    for link in links[:_MOST_LINKS]:
        lines += _told(tell(say("link")), link_text(link), _LABEL, deeper=2)
    if len(links) > _MOST_LINKS:
        more = say("{count} more links: --json shows them all", count=len(links) - _MOST_LINKS)
        lines += _told("", tell(more), _LABEL)
    for need in plan.host or ():
        text = f"{need.check}: {need.why}"
        lines += _told(tell(say("host")), text, _LABEL, deeper=2)
    for note in (*plan.notes, *plan.inventory.notes):
        lines += _told("", tell(say("note: {note}", note=note)), 0, deeper=6)
    lines += [here] if here else []
    lines.append(tell(say("hash: {hash}", hash=plan.hash)))
    return "\n".join(map(plain, lines)) + "\n"


def _rows(plan: Plan, tell: Tell) -> Iterator[str]:
    """Each Step; of many, those of a kind in one row, in the order of the first of each."""
    critical = set(plan.analysis.critical_path)
    spans = {one.step: one for one in plan.elastic or ()}
    prefix = prefix_of([step.id for step in plan.steps])
    if prefix:
        told = say("all ids begin with {prefix}, which is left out here", prefix=prefix)
        yield from _told("", tell(told), 0, deeper=4)
    groups: list[list[tuple[int, PlannedStep]]] = [[one] for one in enumerate(plan.steps, 1)]
    if len(groups) > MANY:
        groups = _of_a_kind(groups)
        yield tell(say("Steps of a kind share a line: --json shows each with its devices"))
    for group in groups[:MANY]:
        number, step = group[0]
        if len(group) > 1:
            yield from _kind(group, prefix, critical=any(one.id in critical for _, one in group), tell=tell)
            continue
        yield from _step(number, step, prefix, critical=step.id in critical, tell=tell)
        if step.id in spans:
            yield tell(_starts(spans[step.id], step.demand.gpu_count, len(plan.inventory.devices)))
    left_out = sum(map(len, groups[MANY:]))
    if left_out:
        yield tell(say("{count} more Steps: --json shows them all", count=left_out))


def _of_a_kind(groups: list[list[tuple[int, PlannedStep]]]) -> list[list[tuple[int, PlannedStep]]]:
    found: dict[object, list[tuple[int, PlannedStep]]] = {}
    for group in groups:
        step = group[0][1]
        case = kind_of(step.id), step.level, step.demand, step.estimate_source
        found.setdefault(case, []).extend(group)
    return list(found.values())


def _kind(group: list[tuple[int, PlannedStep]], prefix: str, *, critical: bool, tell: Tell) -> Iterator[str]:
    """`400 x rollout-#`: how many, what each takes, how long, and what they wait for."""
    steps = [step for _, step in group]
    first = steps[0]
    name = elided(f"{len(steps)} x {kind_of(first.id.removeprefix(prefix))}", 25)
    least, most = (time_text(pick(one.estimate_ms for one in steps)) for pick in (min, max))
    time = (least if least == most else f"{least}-{most}") + _SIGN[first.estimate_source]
    takes = _shorten(tell(demand_text(first.demand)), 22)
    on = "gpu" if first.placement.devices else "cpu"
    yield _columns(("", "*" if critical else " ", name, first.level, takes, time, on))
    needs: dict[str, None] = {}
    for step in steps:
        for edge in step.needs:
            short = kind_of(edge.step.removeprefix(prefix))
            needs[_need(short, edge.kind, edge.staleness)] = None
    yield from _needs(list(needs), tell)


def _needs(needs: list[str], tell: Tell) -> Iterator[str]:
    if needs:
        first, *others = wrap(tell(say("needs {steps}", steps=joined(", ", needs))), 80 - 12)
        yield from (f"      {first}", *(f"{' ' * 12}{other}" for other in others))


def _starts(span: Elastic, base: int, gpus: int) -> str:
    """On how many GPUs it may start by the contract, and on how many where the pool lends so few."""
    most = base + elastic_pool(gpus)
    if most >= span.most:
        return say("      starts on {least} to {most} GPUs", least=span.least, most=span.most)
    return say(
        "      starts on {least} to {most} GPUs, here on {here} at most: the pool lends {pool}",
        least=span.least,
        most=span.most,
        here=most,
        pool=elastic_pool(gpus),
    )


def _columns(row: tuple[str, ...]) -> str:
    """A row of the table; the first column is a number."""
    cells = [padded(cell, width) for cell, width in zip(row[1:], _WIDTHS[1:], strict=True)]
    return " ".join((f"{row[0]:>{_WIDTHS[0]}}", *cells)).rstrip()


def _told(label: str, text: str, width: int, *, deeper: int = 0) -> list[str]:
    """`label`, and the text beside it in lines."""
    first = wrap(text, 80 - width)[0]
    rest = wrap(text[len(first) :], 80 - width - deeper)
    return [padded(label, width) + first, *(" " * (width + deeper) + row for row in rest if row)]


def _counts(plan: Plan) -> str:
    parts = [_steps(len(plan.steps)), _iterations(plan.iterations.count)]
    if plan.iterations.count > 1:
        parts.append(say("{count} in flight", count=plan.iterations.in_flight))
        parts.append(say("staleness {count}", count=plan.iterations.max_staleness))
    return joined(", ", parts)


def _steps(count: int) -> str:
    return say("1 Step") if count == 1 else say("{count} Steps", count=count)


def _iterations(count: int) -> str:
    return say("1 iteration") if count == 1 else say("{count} iterations", count=count)


def inventory_text(inventory: Inventory) -> str:
    """`nvml, 64 cores, 503.6 GiB, 8 x a100-sxm-80gb`."""
    kinds: dict[str, int] = {}
    for device in inventory.devices:
        kind = device.type or device.model or say("unknown GPU")
        kinds[kind] = kinds.get(kind, 0) + 1
    memory = inventory.memory_bytes
    parts = [
        inventory.origin,
        cores_text(inventory.cpu_m) if inventory.cpu_m < AMPLE else say("any number of cores"),
        f"{memory / 2**30:.1f} GiB" if memory is not None else say("memory unknown"),
        *(say("{count} x {kind}", count=count, kind=kind) for kind, count in sorted(kinds.items())),
    ]
    return joined(", ", parts if kinds else [*parts, say("no GPU")])


def _step(number: int, step: PlannedStep, prefix: str, *, critical: bool, tell: Tell) -> Iterator[str]:
    name = elided(step.id.removeprefix(prefix), 25)
    if step.name and cells(name) < 21:
        name = _shorten(f"{name} {step.name}", 25)
    time = time_text(step.estimate_ms) + _SIGN[step.estimate_source]
    takes = _shorten(tell(demand_text(step.demand)), 22)
    on = "cpu" if not step.placement.devices else "gpu"
    yield _columns((str(number), "*" if critical else " ", name, step.level, takes, time, on))
    needs = [_need(edge.step.removeprefix(prefix), edge.kind, edge.staleness) for edge in step.needs]
    yield from _needs(needs, tell)
    if step.placement.devices:
        text = f"      {step.reasons[0]}"
        yield from textwrap.wrap(text, 80, subsequent_indent=" " * 8, break_on_hyphens=False)
    for text in step.reasons:
        if text.startswith("split: "):
            yield from textwrap.wrap(text, 80, initial_indent=" " * 6, subsequent_indent=" " * 13)


def _need(step: str, kind: str, staleness: int) -> str:
    if kind != "carried":
        return step
    if not staleness:
        return say("{step} of the iteration before", step=step)
    return say("{step} of up to {count} iterations before", step=step, count=staleness + 1)


def _analysis(plan: Plan) -> Iterator[tuple[str, str]]:
    """Labels, and what is said of each."""
    found = plan.analysis
    path, steps = time_text(found.critical_path_ms), _steps(len(found.critical_path))
    yield say("critical path (*)"), say("{time} in {steps}", time=path, steps=steps)
    makespan = time_text(found.makespan_ms)
    yield say("one iteration"), say("{time} on this inventory{gap}", time=makespan, gap=_gap(plan))
    if found.schedule is not None:
        yield say("order"), _orders(found.schedule)
    repeated = plan_overlap(plan)
    if repeated is not None:
        total, pace = time_text(repeated.total), pace_text(repeated, found.makespan_ms)
        yield _iterations(plan.iterations.count), say("{time} in all: {pace}", time=total, pace=pace)
    if plan.elastic:
        from dsec.core.planscene import elastic_ms  # few plans are elastic

        gpus = len(plan.inventory.devices)
        yield (
            say("elastic"),
            say(
                "{steps}; pool: {pool} of {gpus}",
                steps=_steps(len(plan.elastic)),
                pool=elastic_pool(gpus),
                gpus=say("1 GPU") if gpus == 1 else say("{count} GPUs", count=gpus),
            ),
        )
        if len(plan.steps) <= _MOST_PLAYED:
            time = time_text(elastic_ms(plan))
            yield "", say("one iteration {time} with it, if more GPUs help as is assumed", time=time)
    counts: dict[str, int] = {}
    for step in plan.steps:
        counts[step.estimate_source] = counts.get(step.estimate_source, 0) + 1
    parts = [say(template, count=counts[source]) for source, template in _MEANING.items() if source in counts]
    yield say("durations"), joined("; ", parts)
    for before, after in found.cuts:
        yield (
            say("cut"),
            say("{before} -> {after} reads the iteration before (break_cycle)", before=before, after=after),
        )


def _orders(schedule: Schedule) -> str:
    """The order that was chosen, and what the others lead to."""
    others = [
        f"{order} {time_text(span)}" for order, span in schedule.makespans_ms if order != schedule.order
    ]
    return f"{schedule.order}" + (f"; {', '.join(others)}" if others else "")


def _gap(plan: Plan) -> str:
    bound, span = plan.analysis.lower_bound_ms, plan.analysis.makespan_ms
    if span != bound:
        text = say("; no schedule there is shorter than {time}", time=time_text(bound))
    else:
        text = say(", and nothing can be faster there")
    # An elastic Step may start with more GPUs, and a bound is one for the numbers that are stated.
    return say("{text}, each Step on as many GPUs as it states", text=text) if plan.elastic else text


def _shorten(text: str, width: int) -> str:
    if cells(text) <= width:
        return text
    kept = text[: width - 3]
    while cells(kept) > width - 3:
        kept = kept[:-1]
    return kept + "..."
