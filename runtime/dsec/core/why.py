"""Why a Step does not run, and how hungry it is, from nothing but its plan and its journal."""

from __future__ import annotations

from dsec.core.hunger import Appetite, hunger
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set

    from dsec.core.fold import RunState
    from dsec.plan import Plan, PlannedStep


class Holder(Record):
    """An attempt that runs, and how many GPUs it has."""

    step: str
    iteration: int
    gpus: int
    stands_still: bool


class Why(Record):
    """What there is to say of one Step of a run."""

    step: str
    iteration: int
    """Of the instance that is next; -1: all are done."""
    state: str
    """`done`, `running`, `paused`, `waiting to retry`, `blocked` (by needs or iterations) or `ready`."""
    missing: tuple[tuple[str, int], ...]
    """Instances that it waits for."""
    appetite: Appetite
    hunger: int
    gpus_asked: int
    gpus_free: int
    cpu_asked_m: int
    cpu_free_m: int
    holders: tuple[Holder, ...]
    """Of GPUs where it asks for some, else of processors."""
    out_of_service: tuple[tuple[str, str], ...]
    """Devices (UUID, state) that nobody is given."""


class _Run:
    """A plan and how far it is."""

    def __init__(self, plan: Plan, state: RunState) -> None:
        self.plan, self.state = plan, state
        self.steps = {step.id: step for step in plan.steps}
        self.base = next((at for at in range(plan.iterations.count) if not self._whole(at)), -1)

    def _whole(self, iteration: int) -> bool:
        return all(self.over(step.id, iteration) for step in self.plan.steps)

    def over(self, step: str, iteration: int) -> bool:
        return (step, iteration) in self.state.finished or (step, iteration) in self.state.dropped

    def window(self) -> range:
        """Iterations that may be worked on."""
        if self.base < 0:
            return range(0)
        last = min(self.plan.iterations.count, self.base + max(1, self.plan.iterations.in_flight))
        return range(self.base, last)

    def needs(self, step: PlannedStep, iteration: int) -> list[tuple[str, int]]:
        """Instances that this one comes after."""
        found = [(step.id, iteration - 1)]
        for edge in step.needs:
            lag = 1 + edge.staleness if edge.kind == "carried" else 0
            found.append((edge.step, iteration - lag))
        return [one for one in found if one[1] >= 0]

    def missing(self, step: PlannedStep, iteration: int) -> list[tuple[str, int]]:
        return [one for one in self.needs(step, iteration) if not self.over(*one)]


def why(plan: Plan, state: RunState, name: str, *, elsewhere: Set[str] = frozenset()) -> Why:
    """What holds the Step up; raises KeyError where the plan has none of that name.

    `elsewhere`: devices that other runs have.
    """
    run = _Run(plan, state)
    step = run.steps[name]
    open_ = [at for at in run.window() if not run.over(name, at)]
    running = [at for at in open_ if (name, at) in state.running]
    ready = [at for at in open_ if at not in running and not run.missing(step, at)]
    idle = [at for at in open_ if at not in running]
    at = ready[0] if ready else running[0] if running else idle[0] if idle else -1
    needs = run.needs(step, at) if at >= 0 else []
    missing = tuple(run.missing(step, at)) if at >= 0 else ()
    one = _amount(step)
    appetite = Appetite(
        waiting=len(ready),
        running=len(running),
        needs=len(needs),
        needs_done=len(needs) - len(missing),
        asked=one * (len(ready) + len(running)),
        granted=sum(_granted(step, len(state.running[name, it].devices)) for it in running),
    )
    held = {uuid for spawn in state.running.values() for uuid in spawn.devices}
    held |= {uuid for worker in state.workers.values() for uuid in worker.devices}
    held |= elsewhere
    bad = tuple((uuid, told.state) for uuid, told in state.devices.items() if told.state != "ok")
    free = [d for d in plan.inventory.devices if d.uuid not in held and d.uuid not in dict(bad)]
    still = {key for key, pause in state.paused.items() if pause.how == "frozen"}
    used = sum(run.steps[key[0]].demand.cpu_m for key in state.running if key not in still)
    return Why(
        step=name,
        iteration=at,
        state=_state(run, name, at, ready=bool(ready)),
        missing=missing,
        appetite=appetite,
        hunger=hunger(appetite),
        gpus_asked=step.demand.gpu_count,
        gpus_free=len(free),
        cpu_asked_m=step.demand.cpu_m,
        cpu_free_m=max(0, plan.inventory.cpu_m - used),
        holders=_holders(run, step, still),
        out_of_service=bad,
    )


def _state(run: _Run, name: str, at: int, *, ready: bool) -> str:
    key = (name, at)
    if at < 0:
        return "done"
    if key in run.state.paused and run.state.paused[key].how == "frozen":
        return "paused"
    if key in run.state.running:
        return "running"
    if key in run.state.retrying:
        return "waiting to retry"
    return "ready" if ready else "blocked"


def _holders(run: _Run, step: PlannedStep, still: set[tuple[str, int]]) -> tuple[Holder, ...]:
    every = [
        Holder(name, iteration, len(spawn.devices), (name, iteration) in still)
        for (name, iteration), spawn in run.state.running.items()
        if name != step.id
    ]
    return tuple(one for one in every if one.gpus or not step.demand.gpu_count)


def _amount(step: PlannedStep) -> int:
    """What one instance asks for: GPUs, else processors."""
    return step.demand.gpu_count or max(1, step.demand.cpu_m)


def _granted(step: PlannedStep, gpus: int) -> int:
    """What a running instance has of that; of GPUs at most what it asked for."""
    return min(gpus, step.demand.gpu_count) if step.demand.gpu_count else _amount(step)
