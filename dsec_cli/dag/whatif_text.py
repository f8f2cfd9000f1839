"""Scenarios side by side: a table for people, a document for programs."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.cells import cells, padded, plain, wrap
from dsec_cli.dag.noise import Spread
from dsec_cli.dag.replay import plan_overlap, use_of
from dsec_cli.dag.view import time_text
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsec.core.overlap import Overlap
    from dsec.plan import Plan
    from dsec_cli.dag.replay import Use

    Tell = Callable[[str], str]

FORMAT = "dsec.whatif/1"
_WIDTH = 80
_LABEL = 18
_CELL = 12
_TIMES = 1000
"""More than so many times as long is said without figures."""
_BESIDE = (_WIDTH - _LABEL) // _CELL
"""Scenarios in one block of the table."""


class Scenario(Record):
    """What was tried, and what came of it."""

    told: tuple[str, ...]
    """What it changes; nothing: as the contract stands."""
    inventory: str
    plan: Plan | None
    refused: tuple[str, ...]
    """Why there is no plan."""
    as_long_as_before: bool
    """A Step is given other GPUs, and nothing is said of the time it then takes."""
    use: Use | None
    overlap: Overlap | None
    spread: Spread | None


def scenario(
    told: tuple[str, ...],
    inventory: str,
    plan: Plan,
    spread: Spread | None,
    *,
    as_long_as_before: bool = False,
) -> Scenario:
    """A scenario that has a plan."""
    return Scenario(told, inventory, plan, (), as_long_as_before, use_of(plan), plan_overlap(plan), spread)


def refused(told: tuple[str, ...], inventory: str, why: tuple[str, ...]) -> Scenario:
    """A scenario that has none."""
    return Scenario(told, inventory, None, why, False, None, None, None)


def whatif_text(name: str, scenarios: Sequence[Scenario], tell: Tell = str) -> str:
    """All scenarios in one table at 80 columns, said by `tell`; others are compared with the first."""
    lines = [tell(say("what if {name}", name=name)), "", *_legend(scenarios, tell)]
    for start in range(0, len(scenarios), _BESIDE):
        lines += ["", *_block(scenarios, start, tell)]
    lines += ["", tell(say("critical path")), *_paths(scenarios, tell)]
    lines += [*_effects(scenarios, tell), *_notes(scenarios, tell)]
    return "\n".join(map(plain, lines)) + "\n"


def _legend(scenarios: Sequence[Scenario], tell: Tell) -> Iterator[str]:
    """What each number stands for; inventories have letters where there are several."""
    letters: dict[str, str] = {}
    for one in scenarios:
        letters.setdefault(one.inventory, chr(ord("A") + len(letters)))
    for number, one in enumerate(scenarios):
        where = [say("on {inventory}", inventory=letters[one.inventory])] if len(letters) > 1 else []
        told = joined(", ", [*(one.told or (say("as it stands"),)), *where])
        yield from _headed(str(number), tell(told))
    yield ""
    for inventory, letter in letters.items():
        if len(letters) > 1:
            yield from _headed(letter, tell(inventory))
        else:
            yield from wrap(tell(say("inventory: {inventory}", inventory=inventory)), _WIDTH)


def _headed(head: str, text: str) -> Iterator[str]:
    """A text behind its number, in lines of 80 cells."""
    indent = max(4, cells(head) + 2)
    first, *rest = wrap(text, _WIDTH - indent)
    yield padded(f"{head:>2}", indent) + first
    yield from (" " * indent + line for line in rest)


def _block(scenarios: Sequence[Scenario], start: int, tell: Tell) -> Iterator[str]:
    """Rows of figures, one column per scenario from `start` on."""
    shown = range(start, min(start + _BESIDE, len(scenarios)))
    yield " " * _LABEL + "".join(f"{number:>{_CELL}}" for number in shown)
    columns = [_figures(scenarios[number], scenarios[0], tell) for number in shown]
    for label, *row in zip(_LABELS, *columns, strict=True):
        if any(row):
            yield padded(tell(label), _LABEL) + "".join(_right(text or "-") for text in row)


def _right(text: str) -> str:
    return " " * max(1, _CELL - cells(text)) + text


_LABELS = (
    say("one iteration"),
    say("  against 0"),
    say("all iterations"),
    say("  against 0"),
    say("  one every"),
    say("idle GPU time"),
    say("  overlapped"),
    say("busy processors"),
    say("lower bound"),
    say("  over it"),
    say("critical path"),
    say("with noise: p50"),
    say("            p95"),
    say("            worst"),
    say("Steps"),
)


def _figures(one: Scenario, first: Scenario, tell: Tell) -> tuple[str, ...]:
    """The cells of one scenario, by label; "" where there is no answer."""
    plan, use, repeated, spread = one.plan, one.use, one.overlap, one.spread
    if plan is None or use is None:
        return (tell(say("no plan")), *[""] * (len(_LABELS) - 1))
    found, before = plan.analysis, None if first.plan is None or one is first else first.plan.analysis
    chosen = found.schedule
    alike = (
        first.plan is not None and one is not first and first.plan.iterations.count == plan.iterations.count
    )
    many = first.overlap if alike else None
    return (
        time_text(found.makespan_ms),
        _change(found.makespan_ms, before and before.makespan_ms),
        *(
            ("", "", "")
            if repeated is None
            else (
                time_text(repeated.total),
                _change(repeated.total, many and many.total),
                time_text(repeated.period),
            )
        ),
        _share(use.gpu_idle_permille),
        "" if repeated is None else _share(repeated.gpu_idle_permille),
        _share(use.cpu_busy_permille),
        time_text(found.lower_bound_ms),
        "" if chosen is None else f"{chosen.over_bound_ppm / 10_000:.1f} %",
        time_text(found.critical_path_ms),
        *(("", "", "") if spread is None else map(time_text, (spread.p50, spread.p95, spread.worst))),
        str(len(plan.steps)),
    )


def _change(after: int, before: int | None) -> str:
    """By how much it is longer or shorter; "" where that means nothing."""
    if not before:
        return ""
    if after > _TIMES * before:
        return f"> {_TIMES} x"
    permille = (abs(after - before) * 1000 + before // 2) // before
    sign = "+" if after > before else "-"
    return f"{sign}{permille / 10:.1f} %" if permille else "0 %"


def _share(permille: int | None) -> str:
    return "" if permille is None else f"{permille / 10:.1f} %"


def _paths(scenarios: Sequence[Scenario], tell: Tell) -> Iterator[str]:
    """Each critical path with the scenarios it is that of, and why others have no plan."""
    having: dict[str, list[int]] = {}
    for number, one in enumerate(scenarios):
        if one.plan is None:
            text = tell(say("no plan: {why}", why=joined("; ", one.refused)))
        else:
            path = one.plan.analysis.critical_path
            more = tell(say("({count} more)", count=len(path) - 12))
            text = " > ".join(path if len(path) <= 16 else (*path[:8], more, *path[-4:]))
        having.setdefault(text, []).append(number)
    for text, numbers in having.items():
        first, *rest = wrap(f"{_ranges(numbers):>2}  {text}", _WIDTH - 4)
        yield f" {first}" if len(numbers) == 1 and numbers[0] < 10 else first
        yield from (f"    {line}" for line in rest)


def _ranges(numbers: Sequence[int]) -> str:
    """`0-6, 8`: ascending numbers, runs of them by their ends."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _effects(scenarios: Sequence[Scenario], tell: Tell) -> Iterator[str]:
    """What else is otherwise than in the first: devices, order."""
    lines: list[str] = []
    for number, one in enumerate(scenarios[1:], 1):
        effects = list(_of(one, scenarios[0]))
        if effects:
            lines += _headed(str(number), tell(joined("; ", effects)))
    if lines:
        yield from ("", tell(say("also changed, against 0")), *lines)


def _of(one: Scenario, first: Scenario) -> Iterator[str]:
    if one.plan is None or first.plan is None:
        return
    before = {step.id: step for step in first.plan.steps}
    after = {step.id for step in one.plan.steps}
    moved = [
        step.id
        for step in one.plan.steps
        if step.id in before and step.placement.devices != before[step.id].placement.devices
    ]
    if moved and one.inventory == first.inventory:
        yield say("other devices for {steps}", steps=_some(moved))
    new = [step.id for step in one.plan.steps if step.id not in before]
    if new:
        yield say("new: {steps}", steps=_some(new))
    gone = [name for name in before if name not in after]
    if gone:
        yield say("gone: {steps}", steps=_some(gone))
    chosen, old = one.plan.analysis.schedule, first.plan.analysis.schedule
    if chosen is not None and old is not None and chosen.order != old.order:
        yield say("order {before} -> {after}", before=old.order, after=chosen.order)


def _some(names: Sequence[str]) -> str:
    if len(names) <= 6:
        return ", ".join(names)
    return say("{some} and {count} more", some=", ".join(names[:6]), count=len(names) - 6)


def _notes(scenarios: Sequence[Scenario], tell: Tell) -> Iterator[str]:
    """What the figures rest on."""
    notes: list[str] = []
    noisy = next((one.spread for one in scenarios if one.spread is not None), None)
    if noisy is not None:
        notes.append(
            say(
                "noise: {trials} trials of one iteration, each duration times a factor of its own "
                "(lognormal, median 1, sigma {sigma:g}), the order of Steps kept",
                trials=noisy.trials,
                sigma=noisy.sigma,
            )
        )
    same = [number for number, one in enumerate(scenarios) if one.as_long_as_before]
    if same:
        notes.append(
            say(
                "{numbers}: other GPUs, the same duration: say what the Step then takes, duration=50%",
                numbers=_ranges(same),
            )
        )
    if notes:
        yield ""
    for note in notes:
        first, *rest = wrap(tell(say("note: {note}", note=note)), _WIDTH - 6)
        yield first
        yield from (f"      {line}" for line in rest)


def whatif_document(name: str, scenarios: Sequence[Scenario]) -> dict[str, object]:
    """For programs: `dsec.whatif/1`; times in milliseconds, None where there is no answer."""
    return {"format": FORMAT, "name": name, "scenarios": [_document(one) for one in scenarios]}


def _document(one: Scenario) -> dict[str, object]:
    plan, use, repeated = one.plan, one.use, one.overlap
    found = plan.analysis if plan is not None else None
    chosen = found.schedule if found is not None else None
    return {
        "changes": list(one.told),
        "inventory": one.inventory,
        "refused": list(one.refused),
        "steps": None if plan is None else len(plan.steps),
        "makespan_ms": None if found is None else found.makespan_ms,
        "lower_bound_ms": None if found is None else found.lower_bound_ms,
        "over_bound_ppm": None if chosen is None else chosen.over_bound_ppm,
        "order": None if chosen is None else chosen.order,
        "critical_path": None if found is None else list(found.critical_path),
        "critical_path_ms": None if found is None else found.critical_path_ms,
        "gpu_idle_permille": None if use is None else use.gpu_idle_permille,
        "cpu_busy_permille": None if use is None else use.cpu_busy_permille,
        "total_ms": None if repeated is None else repeated.total,
        "period_ms": None if repeated is None else repeated.period,
        "overlapped_gpu_idle_permille": None if repeated is None else repeated.gpu_idle_permille,
        "noise": None if one.spread is None else one.spread._asdict(),
    }
