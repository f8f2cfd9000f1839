"""What waits, the hungriest first, and why: in what order an instance's obstacles are gone."""

from __future__ import annotations

from dsec.core.hunger import Appetite, hunger
from dsec.record import Record
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dsec.plan import PlannedStep
    from dsec_cli.screen.watch import Watch

_LOOKED_AT = 4000
"""Instances that are looked at, so that a wide plan costs no more than this."""
_NAMED = 3


class Waiting(Record):
    """One instance that has not begun."""

    step: str
    iteration: int
    ready_us: int | None
    """Since when nothing that it needs is missing; None: something is."""
    hunger_permille: int
    """Of its Step, as `dsec.core.hunger` has it; 0: it is not ready."""
    why: str


class Free(Record):
    """What is free of the machine."""

    cpu_m: int
    gpus: Mapping[str, bool]
    """By UUID of all devices, whether it is free."""


def waiting(watch: Watch, now_us: int, *, most: int) -> tuple[list[Waiting], int]:
    """The first `most` of what waits in the iterations in flight, and how many wait in all.

    `now_us`: from the start of the first executor.
    """
    known = watch.seen_queue
    if known is None or known[:2] != (watch.changes, most):
        # Nothing of it depends on the time: it is looked at anew when the journal has gained something.
        known = watch.seen_queue = (watch.changes, most, *_looked(watch, now_us, most))
    return known[2], known[3]


def _looked(watch: Watch, now_us: int, most: int) -> tuple[list[Waiting], int]:
    free = _free(watch)
    found: list[tuple[PlannedStep, int, int]] = []
    behind: list[tuple[PlannedStep, int]] = []
    for step, iteration in _open(watch):
        since = _ready_since(watch, step, iteration)
        if since is None:
            behind.append((step, iteration))
        else:
            found.append((step, iteration, min(since, now_us)))
    scores = _hunger(watch, [step for step, _, _ in found])
    ready = [
        Waiting(step.id, iteration, since, scores[step.id], _held_up(watch, step, iteration, free))
        for step, iteration, since in found
    ]
    ready.sort(key=lambda one: (-one.hunger_permille, one.iteration, watch.number(one.step)))
    rest = [
        Waiting(step.id, iteration, None, 0, _missing(watch, step, iteration))
        for step, iteration in behind[: max(0, most - len(ready))]
    ]
    return (ready + rest)[:most], len(ready) + len(behind)


def _hunger(watch: Watch, ready: Sequence[PlannedStep]) -> dict[str, int]:
    """Of each Step that has ready instances; what runs of it was granted all or some of what it asked for."""
    waits: dict[str, int] = {}
    for step in ready:
        waits[step.id] = waits.get(step.id, 0) + 1
    runs: dict[str, list[int]] = {}
    for (name, _), begun in watch.fold.running.items():
        if name in waits:
            demand = watch.steps[name].demand
            runs.setdefault(name, []).append(len(begun.devices) if demand.gpu_count else demand.cpu_m)
    scores = {}
    for name, many in waits.items():
        demand, granted = watch.steps[name].demand, runs.get(name, [])
        asked = (demand.gpu_count or demand.cpu_m) * (many + len(granted))
        scores[name] = hunger(Appetite(many, len(granted), 0, 0, asked, sum(granted)))
    return scores


def _open(watch: Watch) -> Iterator[tuple[PlannedStep, int]]:
    """Instances of the iterations in flight that neither run nor are done."""
    plan, fold = watch.plan, watch.fold
    if fold.end is not None:
        return
    last = min(plan.iterations.count, watch.complete + max(1, plan.iterations.in_flight))
    looked = 0
    for iteration in range(watch.complete, last):
        for step in plan.steps:
            key = (step.id, iteration)
            looked += 1
            if looked > _LOOKED_AT:
                return
            if key not in fold.running and not watch.settled(*key) and not _lost(watch, key):
                yield step, iteration


def _lost(watch: Watch, key: tuple[str, int]) -> bool:
    return key in watch.fold.failed and key not in watch.fold.retrying and key not in watch.fold.paused


def _needs(step: PlannedStep, iteration: int) -> Iterator[tuple[str, int]]:
    """What the instance waits for, done or not."""
    for edge in step.needs:
        at = iteration - 1 - edge.staleness if edge.kind == "carried" else iteration
        if at >= 0:
            yield edge.step, at
    if iteration:
        yield step.id, iteration - 1


def _ready_since(watch: Watch, step: PlannedStep, iteration: int) -> int | None:
    if all(watch.settled(*need) for need in _needs(step, iteration)):
        return watch.ready.since(watch.number(step.id), iteration)
    return None


def _missing(watch: Watch, step: PlannedStep, iteration: int) -> str:
    """`waits for S4@3 (running), S5@3`."""
    many = watch.plan.iterations.count > 1
    names: list[str] = []
    for need in _needs(step, iteration):
        if watch.settled(*need):
            continue
        called = f"{need[0]}@{need[1]}" if many else need[0]
        if need in watch.fold.running:
            names.append(say("{step} (running)", step=called))
        elif _lost(watch, need):
            names.append(say("{step} (failed)", step=called))
        else:
            names.append(called)
    shown = joined(", ", names[:_NAMED])
    if len(names) > _NAMED:
        return say("waits for {steps} and {more} more", steps=shown, more=len(names) - _NAMED)
    return say("waits for {steps}", steps=shown)


def _held_up(watch: Watch, step: PlannedStep, iteration: int, free: Free) -> str:
    """Why an instance does not start whose needs are done."""
    key = (step.id, iteration)
    retry = watch.fold.retrying.get(key)
    if retry is not None:
        return say("waits to be tried again (attempt {number})", number=retry.attempt)
    pause = watch.fold.paused.get(key)
    if pause is not None:
        return say("made room: {reason}", reason=pause.reason)
    demand = step.demand
    if step.command.call:
        return _of_a_worker(watch, step, free)
    if demand.gpu_count:
        text = _of_gpus(watch, step, free)
        if text:
            return text
    if demand.cpu_m > free.cpu_m:
        return say(
            "needs {need:g} cores, {have:g} are free", need=demand.cpu_m / 1000, have=free.cpu_m / 1000
        )
    return say("next")


def _of_a_worker(watch: Watch, step: PlannedStep, free: Free) -> str:
    group = step.command.worker or step.id
    for (other, iteration), begun in watch.fold.running.items():
        if begun.worker and (watch.steps[other].command.worker or other) == group:
            return say("its worker serves {step}", step=f"{other}@{iteration}")
    return _of_gpus(watch, step, free) or say("next")


def _of_gpus(watch: Watch, step: PlannedStep, free: Free) -> str:
    demand = step.demand
    fit = [
        device.uuid
        for device in watch.plan.inventory.devices
        if (not demand.gpu_types or device.type in demand.gpu_types) and watch.usable(device.uuid)
    ]
    have = sum(free.gpus[uuid] for uuid in fit)
    if demand.gpu_count <= have:
        return ""
    return say(
        "needs {need} of {fit} GPUs that would do, {have} free",
        need=demand.gpu_count,
        fit=len(fit),
        have=have,
    )


def _free(watch: Watch) -> Free:
    inventory = watch.plan.inventory
    cpu = inventory.cpu_m
    held = watch.held_by()
    for step, _ in watch.fold.running:
        cpu -= watch.steps[step].demand.cpu_m
    return Free(max(0, cpu), {device.uuid: device.uuid not in held for device in inventory.devices})
