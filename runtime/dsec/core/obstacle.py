"""Why an instance has not begun: what it waits for, in the order in which obstacles go away, in words.

`dsec top` and `dsec status --why` both say what is said here. It is told from a plan and from what the
journal says, so it knows no more than the journal does.
"""

from __future__ import annotations

from dsec.core.hunger import Appetite
from dsec.events import STANDING
from dsec.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set

    from dsec.core.fold import Fold, RunState
    from dsec.plan import Plan, PlannedStep

    State = Fold | RunState

_NAMED = 3


class Obstacles:
    """A plan, and how far its run is at one moment."""

    def __init__(
        self,
        plan: Plan,
        state: State,
        *,
        steps: Mapping[str, PlannedStep] | None = None,
        elsewhere: Set[str] = frozenset(),
        dead: bool = False,
    ) -> None:
        """`steps`: the plan's, by id, if known; `elsewhere`: devices that other runs have.

        `dead`: the executor is gone without an end: what the journal has running was cut off.
        """
        self._dead = dead
        self._plan, self._state = plan, state
        self._steps = {step.id: step for step in plan.steps} if steps is None else steps
        self._many = plan.iterations.count > 1
        self.still = {key for key, pause in state.paused.items() if pause.how in STANDING}
        """What stands still: its processors are free."""
        lent = {key for key in self.still if state.paused[key].how == "suspended"}
        running = {} if dead else state.running
        held = (begun.devices for key, begun in running.items() if key not in lent)
        self.held = {uuid for devices in held for uuid in devices} | elsewhere
        workers = () if dead else state.workers.values()
        self.held |= {uuid for worker in workers for uuid in worker.devices}
        used = sum(self._steps[name].demand.cpu_m for name, at in running if (name, at) not in self.still)
        self.cpu_free_m = max(0, plan.inventory.cpu_m - used)

    def settled(self, step: str, iteration: int) -> bool:
        """Whether the instance is done, or was given up."""
        return (step, iteration) in self._state.finished or (step, iteration) in self._state.dropped

    def lost(self, key: tuple[str, int]) -> bool:
        """Whether it failed and will not be tried again."""
        state = self._state
        return key in state.failed and key not in state.retrying and key not in state.paused

    def needs(self, step: PlannedStep, iteration: int) -> Iterator[tuple[str, int]]:
        """Instances that this one comes after, done or not."""
        for edge in step.needs:
            at = iteration - 1 - edge.staleness if edge.kind == "carried" else iteration
            if at >= 0:
                yield edge.step, at
        if iteration:
            yield step.id, iteration - 1

    def missing(self, step: PlannedStep, iteration: int) -> list[tuple[str, int]]:
        """Those of them that are not over, each once."""
        needs = dict.fromkeys(self.needs(step, iteration))
        return [need for need in needs if not self.settled(*need)]

    def of(self, step: PlannedStep, iteration: int) -> str:
        """What holds the instance up, the first thing first."""
        missing = self.missing(step, iteration)
        return self._waits(missing) if missing else self._held_up(step, (step.id, iteration))

    def _waits(self, missing: list[tuple[str, int]]) -> str:
        """`waits for S4@3 (running), S5@3`."""
        names = [self._called(need) for need in missing]
        shown = joined(", ", names[:_NAMED])
        if len(names) > _NAMED:
            return say("waits for {steps} and {more} more", steps=shown, more=len(names) - _NAMED)
        return say("waits for {steps}", steps=shown)

    def _called(self, need: tuple[str, int]) -> str:
        called = f"{need[0]}@{need[1]}" if self._many else need[0]
        if need in self._state.running:
            return say("{step} (cut off)" if self._dead else "{step} (running)", step=called)
        return say("{step} (failed)", step=called) if self.lost(need) else called

    def _held_up(self, step: PlannedStep, key: tuple[str, int]) -> str:
        """Why it does not start though its needs are done."""
        retry = self._state.retrying.get(key)
        if retry is not None:
            return say("waits to be tried again (attempt {number})", number=retry.attempt)
        pause = self._state.paused.get(key)
        if pause is not None:
            return say("made room: {reason}", reason=pause.reason)
        if step.command.call and (served := self._served(step)):
            return say("its worker serves {step}", step=served)
        if step.demand.gpu_count and (text := self._gpus(step)):
            return text
        if step.demand.cpu_m > self.cpu_free_m and not step.command.call:
            need, have = step.demand.cpu_m / 1000, self.cpu_free_m / 1000
            return say("needs {need:g} cores, {have:g} are free", need=need, have=have)
        return say("next")

    def _served(self, step: PlannedStep) -> str:
        """Whom the worker that it shares works for."""
        group = step.command.worker or step.id
        for (name, iteration), begun in self._state.running.items():
            if begun.worker and (self._steps[name].command.worker or name) == group:
                return f"{name}@{iteration}"
        return ""

    def _gpus(self, step: PlannedStep) -> str:
        fit = self.would_do(step)
        have = sum(uuid not in self.held for uuid in fit)
        if step.demand.gpu_count <= have:
            return ""
        return say(
            "needs {need} of {fit} GPUs that would do, {have} free",
            need=step.demand.gpu_count,
            fit=len(fit),
            have=have,
        )

    def would_do(self, step: PlannedStep) -> list[str]:
        """GPUs of its types that are in service, whoever has them."""
        types, told = step.demand.gpu_types, self._state.devices
        return [
            device.uuid
            for device in self._plan.inventory.devices
            if (not types or device.type in types)
            and (device.uuid not in told or told[device.uuid].state == "ok")
        ]


def appetite(
    step: PlannedStep, *, waiting: int, running: Iterable[int], needs: int = 0, done: int = 0
) -> Appetite:
    """What the Step's hunger is made of; `running`: the GPUs of each of its attempts.

    `needs`, `done`: of its next instance; 0: that is ready.
    """
    wanted = step.demand.gpu_count
    one = wanted or max(1, step.demand.cpu_m)
    granted = [min(gpus, wanted) if wanted else one for gpus in running]
    asked = one * (waiting + len(granted))
    return Appetite(waiting, len(granted), needs, done, asked, sum(granted))
