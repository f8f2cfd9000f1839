"""Why a Step does not run, and how hungry it is, from nothing but its plan and its journal."""

from __future__ import annotations

from dsec.core.hunger import Appetite, hunger
from dsec.core.obstacle import Obstacles, appetite
from dsec.core.precedence import precedence
from dsec.events import STANDING
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
    level: str
    """Its Step's tolerance level."""


class Why(Record):
    """What there is to say of one Step of a run."""

    step: str
    iteration: int
    """Of the instance that is next; -1: all are done."""
    state: str
    """`done`, `running`, `paused`, `waiting to retry`, `blocked` (by needs or iterations), `ready`;
    of a run without an executor `cut off`."""
    missing: tuple[tuple[str, int], ...]
    """Instances that it waits for."""
    appetite: Appetite
    hunger: int
    gpus_asked: int
    gpus_free: int
    """Of those that would do."""
    cpu_asked_m: int
    cpu_free_m: int
    holders: tuple[Holder, ...]
    """Of GPUs where it asks for some, else of processors."""
    out_of_service: tuple[tuple[str, str], ...]
    """Devices (UUID, state) that nobody is given."""
    obstacle: str
    """What holds it up, as `dsec top` says it, too; "": nothing does."""
    level: str
    first: tuple[tuple[str, int], ...]
    """Ready instances that go before it, because a critical Step needs them or it may be thrown away."""


class _Run:
    """A plan and how far it is."""

    def __init__(self, plan: Plan, state: RunState, elsewhere: Set[str], *, dead: bool) -> None:
        self.plan, self.state, self.dead = plan, state, dead
        self.obstacles = Obstacles(plan, state, elsewhere=elsewhere, dead=dead)
        self.steps = {step.id: step for step in plan.steps}
        self.base = next((at for at in range(plan.iterations.count) if not self._whole(at)), -1)

    def _whole(self, iteration: int) -> bool:
        return all(self.obstacles.settled(step.id, iteration) for step in self.plan.steps)

    def is_ready(self, step: PlannedStep, at: int) -> bool:
        """Whether nothing but room keeps the instance from its start."""
        key, state = (step.id, at), self.state
        begun = key in state.running or key in state.retrying or self.obstacles.settled(*key)
        return not begun and not self.obstacles.lost(key) and not self.obstacles.missing(step, at)

    def window(self) -> range:
        """Iterations that may be worked on."""
        if self.base < 0:
            return range(0)
        last = min(self.plan.iterations.count, self.base + max(1, self.plan.iterations.in_flight))
        return range(self.base, last)


def why(
    plan: Plan, state: RunState, name: str, *, elsewhere: Set[str] = frozenset(), dead: bool = False
) -> Why:
    """What holds the Step up; raises KeyError where the plan has none of that name.

    `elsewhere`: devices that other runs have. `dead`: the executor is gone without an end.
    """
    run = _Run(plan, state, elsewhere, dead=dead)
    obstacles, step = run.obstacles, run.steps[name]
    open_ = [at for at in run.window() if not obstacles.settled(name, at)]
    running = [at for at in open_ if (name, at) in state.running]
    idle = [at for at in open_ if at not in running]
    ready = [at for at in idle if not obstacles.missing(step, at)]
    at = (ready or running or idle or [-1])[0]
    needs = list(obstacles.needs(step, at)) if at >= 0 else []
    missing = tuple(obstacles.missing(step, at)) if at >= 0 else ()
    eaten = appetite(
        step,
        waiting=len(ready),
        running=[len(state.running[name, one].devices) for one in running],
        needs=len(needs),
        done=len(needs) - len(missing),
    )
    word = _state(run, name, at, ready=bool(ready))
    return Why(
        step=name,
        iteration=at,
        state=word,
        missing=missing,
        appetite=eaten,
        hunger=hunger(eaten),
        gpus_asked=step.demand.gpu_count,
        gpus_free=sum(uuid not in obstacles.held for uuid in obstacles.would_do(step)),
        cpu_asked_m=step.demand.cpu_m,
        cpu_free_m=obstacles.cpu_free_m,
        holders=_holders(run, step, obstacles.still),
        out_of_service=tuple(
            (uuid, told.state) for uuid, told in state.devices.items() if told.state != "ok"
        ),
        obstacle="" if word in ("done", "running", "paused", "cut off") else obstacles.of(step, at),
        level=step.level,
        first=_first(run, step) if word == "ready" else (),
    )


def _first(run: _Run, step: PlannedStep) -> tuple[tuple[str, int], ...]:
    """Ready instances of a class that goes before the Step's; of those for GPUs where it asks for some."""
    steps = run.plan.steps
    after: dict[str, list[int]] = {}
    for at, one in enumerate(steps):
        for edge in one.needs:
            after.setdefault(edge.step, []).append(at)
    classes = precedence([one.level for one in steps], lambda at: after.get(steps[at].id, ()))
    mine = next(own for one, own in zip(steps, classes, strict=True) if one.id == step.id)
    before = [
        one
        for one, own in zip(steps, classes, strict=True)
        if own < mine and (one.demand.gpu_count or not step.demand.gpu_count)
    ]
    return tuple((one.id, at) for at in run.window() for one in before if run.is_ready(one, at))


def _state(run: _Run, name: str, at: int, *, ready: bool) -> str:
    key = (name, at)
    if at < 0:
        return "done"
    if run.dead and (key in run.state.running or key in run.state.paused):
        return "cut off"
    if key in run.state.paused and run.state.paused[key].how in STANDING:
        return "paused"
    if key in run.state.running:
        return "running"
    if key in run.state.retrying:
        return "waiting to retry"
    return "ready" if ready else "blocked"


def _holders(run: _Run, step: PlannedStep, still: set[tuple[str, int]]) -> tuple[Holder, ...]:
    every = [
        Holder(name, iteration, len(spawn.devices), (name, iteration) in still, run.steps[name].level)
        for (name, iteration), spawn in ({} if run.dead else run.state.running).items()
        if name != step.id
    ]
    return tuple(one for one in every if one.gpus or not step.demand.gpu_count)
