"""What differs between two plans, Step by Step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dsec.codec import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.plan import Elastic, Plan, PlannedStep

_PLAN_LEVEL = (
    "name",
    "contract_file",
    "contract_hash",
    "tool",
    "iterations",
    "nvlink_mode",
    "budget",
    "network",
    "snapshot_interval_ns",
    "inventory",
    "analysis",
    "dependencies",
    "notes",
)


class Change(NamedTuple):
    """One field that is not the same; None where a plan does not have it."""

    field: str
    """Dotted path within its Step or the plan: `demand.gpu_count`."""
    old: object
    new: object


class StepDiff(NamedTuple):
    """One Step that is not the same in both plans."""

    id: str
    kind: str
    """`added`, `removed` or `changed`."""
    changes: tuple[Change, ...]


class PlanDiff(NamedTuple):
    """All differences; two plans with one hash have none."""

    same: bool
    plan: tuple[Change, ...]
    steps: tuple[StepDiff, ...]
    reordered: bool
    """The Steps that both have come in another order."""


def diff(old: Plan, new: Plan) -> PlanDiff:
    """Compare two plans; `diff(a, a)` is empty."""
    before = {step.id: step for step in old.steps}
    after = {step.id: step for step in new.steps}
    common_old = [step.id for step in old.steps if step.id in after]
    common_new = [step.id for step in new.steps if step.id in before]
    return PlanDiff(
        same=old.hash == new.hash,
        plan=tuple(_compare("", _plan_fields(old), _plan_fields(new))),
        steps=tuple(_steps(before, after)),
        reordered=common_old != common_new,
    )


def _plan_fields(plan: Plan) -> dict[str, object]:
    """What is stated once per plan; devices and dependencies by name, so that one more is one difference."""
    fields = {name: encode(getattr(plan, name)) for name in _PLAN_LEVEL}
    fields["dependencies"] = {f"{one.kind} {one.name}": _placeless(one) for one in plan.dependencies}
    inventory = _object(plan.inventory)
    inventory["devices"] = {device.uuid: encode(device) for device in plan.inventory.devices}
    fields["links"] = {f"{one.source} -> {one.target}": encode(one) for one in plan.links or ()}
    fields["elastic"] = {one.step: _bounds(one) for one in plan.elastic or ()}
    fields["host"] = {one.check: one.why for one in plan.host or ()}
    fields["checkpoints"] = {one.step: one.shell for one in plan.checkpoints or ()}
    return {**fields, "inventory": inventory}


def _bounds(one: Elastic) -> str:
    counts = f"{one.least} to {one.most} GPUs"
    if one.high_bytes is None or one.low_bytes is None:
        return counts
    return f"{counts}, one more above {one.high_bytes} B, one less below {one.low_bytes} B"


def _step_fields(step: PlannedStep) -> dict[str, object]:
    """What is stated per Step; needs by the Step they lead to, places without their file's name."""
    fields = _object(step)
    fields["needs"] = {
        f"{edge.step} (carried)" if edge.kind == "carried" else edge.step: edge.staleness
        for edge in step.needs
    }
    places = [step.src, *(edge.src for edge in step.needs)]
    fields["src"] = [f"{place.line}:{place.column}" for place in places]
    return fields


def _placeless(value: object) -> dict[str, object]:
    """The stored form without where it is stated: a moved line is no difference."""
    fields = _object(value)
    del fields["src"]
    return fields


def _object(value: object) -> dict[str, object]:
    document = encode(value)
    if not isinstance(document, dict):
        raise AssertionError(f"{type(value).__name__} is a record, so its stored form is an object")
    return document


def _steps(before: dict[str, PlannedStep], after: dict[str, PlannedStep]) -> Iterator[StepDiff]:
    for id_, step in before.items():
        if id_ not in after:
            yield StepDiff(id_, "removed", ())
            continue
        changes = tuple(_compare("", _step_fields(step), _step_fields(after[id_])))
        if changes:
            yield StepDiff(id_, "changed", changes)
    for id_ in after:
        if id_ not in before:
            yield StepDiff(id_, "added", ())


def _compare(where: str, old: object, new: object) -> Iterator[Change]:
    """Differences by key: objects are walked, everything else is compared as a whole."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            inside = f"{where}.{key}" if where else key
            yield from _compare(inside, old.get(key), new.get(key))
        return
    yield Change(where, old, new)


def diff_text(found: PlanDiff) -> str:
    """For people: one line per difference, Steps marked +, - and ~; Steps that only moved are counted."""
    if found.same:
        return "the plans are the same\n"
    lines = [f"  {_change(change)}" for change in found.plan]
    if lines:
        lines.insert(0, "plan")
    signs = {"added": "+", "removed": "-", "changed": "~"}
    moved = [step.id for step in found.steps if [change.field for change in step.changes] == ["src"]]
    for step in found.steps:
        if step.id not in moved:
            lines.append(f"{signs[step.kind]} {step.id}")
            lines += [f"    {_change(change)}" for change in step.changes if change.field != "src"]
    if moved:
        lines.append(f"only moved within the file: {', '.join(moved)}")
    if found.reordered:
        lines.append("the Steps come in another order")
    return "\n".join(lines) + "\n"


def _change(change: Change) -> str:
    if change.old is None:
        return f"{change.field}: added {_short(change.new)}"
    if change.new is None:
        return f"{change.field}: removed"
    old, new = _differing(change.old, change.new)
    if old == []:
        return f"{change.field}: added {_short(_only(new))}"
    if new == []:
        return f"{change.field}: removed {_short(_only(old))}"
    return f"{change.field}: {_short(_only(old))} -> {_short(_only(new))}"


def _differing(old: object, new: object) -> tuple[object, object]:
    """Of two lists what only one of them has, unless they differ in their order alone."""
    if not (isinstance(old, list) and isinstance(new, list)):
        return old, new
    gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
    return (gone, come) if gone or come else (old, new)


def _only(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    printable = "".join(ch if ch.isprintable() else "?" for ch in text)
    if len(printable) == 64 and all(ch in "0123456789abcdef" for ch in printable):
        return printable[:12]
    return printable if len(printable) <= 60 else printable[:57] + "..."


def diff_document(found: PlanDiff) -> dict[str, object]:
    """For programs: `dsec.plandiff/1`."""
    return {
        "format": "dsec.plandiff/1",
        "same": found.same,
        "reordered": found.reordered,
        "plan": [change._asdict() for change in found.plan],
        "steps": [
            {"id": step.id, "kind": step.kind, "changes": [change._asdict() for change in step.changes]}
            for step in found.steps
        ],
    }
