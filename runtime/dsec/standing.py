"""Attempts that stand still, and go on: what each keeps, and what others may have of it meanwhile.

Standing still frees processors. What a process holds on GPUs stays there, unless the monitor found
`cuda-checkpoint`: that moves it to main memory first, and others may have the GPUs until it moves back.
"""

from __future__ import annotations

from functools import partial

from dsec.core.preemption import must_not_wait
from dsec.events import Continue, Pause
from dsec.freezing import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set

    from dsec.attempts import Attempt
    from dsec.core.leases import Ledger
    from dsec.floor import Floor
    from dsec.processes import Child
    from dsec.runner import Runner

AGAIN_S = 1.0
"""What stood still goes on for at least so long before it has to make room again."""


class _Still:
    """An attempt that stands still."""

    __slots__ = ("away", "frozen", "left_s")

    def __init__(self, frozen: Frozen, left_s: float | None, away: tuple[int, ...]) -> None:
        self.frozen = frozen
        self.left_s = left_s
        """Of its timeout."""
        self.away = away
        """Processes whose GPU memory was moved away."""


class Standing:
    """All that stands still in one run."""

    def __init__(self, runner: Runner, floor: Floor, hungry: Set[tuple[int, int]]) -> None:
        """`hungry`: instances that must not wait any longer, as it is at any time."""
        self._runner, self._floor, self._hungry = runner, floor, hungry
        self._loop = floor.children.loop
        self._still: dict[Attempt, _Still] = {}
        self._rested: dict[Attempt, float] = {}
        """When what stood still went on, by the loop's clock."""
        self._moving: dict[Attempt, bool] = {}
        """Whose GPU memory is on its way: True: away, False: back."""
        self._unmoved: set[Attempt] = set()
        """Whose GPU memory could not be moved."""

    def is_busy(self, attempt: Attempt) -> bool:
        """Whether it stands still, is about to, or has only just gone on."""
        if attempt in self._still or attempt in self._moving:
            return True
        return self._loop.now() - self._rested.get(attempt, -AGAIN_S) < AGAIN_S

    def lends(self, attempt: Attempt) -> bool:
        """Whether others could have its GPUs while it stands still."""
        attention = self._runner.attention
        able = attention is not None and attention.moves_memory and attempt.child is not None
        return able and bool(attempt.lease.devices) and attempt not in self._unmoved

    def room(self) -> Ledger:
        """What there is once all have lent that are about to."""
        away = [attempt.lease for attempt, is_away in self._moving.items() if is_away]
        if not away:
            return self._floor.ledger
        room = self._floor.ledger.copy()
        for lease in away:
            room.park(lease, devices=True)
        return room

    def freeze(self, attempt: Attempt, reason: str) -> None:
        """Let it stand still now."""
        kept = "; its memory stays, on GPUs, too" if attempt.lease.devices else "; its memory stays"
        self._stop(attempt, "frozen", reason + kept, ())

    def lend(self, attempt: Attempt, reason: str) -> None:
        """Let it stand still once its GPU memory is away."""
        if (attention := self._runner.attention) is None or attempt.child is None:
            raise AssertionError(f"{attempt.step.id} has nothing that moves its memory")
        self._moving[attempt] = True
        began = self._loop.now()

        def done(ok: bool | None, why: str, pids: tuple[int, ...]) -> None:  # as the monitor tells it
            if self._moving.pop(attempt, None) is None or attempt.stopped:
                return
            self._floor.starter.forget()
            if ok:
                took = f"{(self._loop.now() - began) * 1000:.0f} ms"
                told = f"cuda-checkpoint (experimental) moved its GPU memory to main memory in {took}"
                self._stop(attempt, "suspended", f"{reason}; {told}: its GPUs are lent", pids)
                return
            self._failed(attempt, "away", why, lost=ok is None)

        attention.move_memory(attempt.child.pid, attempt.lease.devices, (), back=False, then=done)

    def _failed(self, attempt: Attempt, where: str, why: str, *, lost: bool) -> None:
        self._unmoved.add(attempt)
        step, what = attempt.step.id, f"its GPU memory could not be moved {where}: {why}"
        if self._runner.attention is not None:
            self._runner.attention.notice("gpu-memory", what, step=step, iteration=attempt.iteration)
        if lost:
            self._emit_pause(attempt, "killed", what)
            self._runner.stop(attempt, "gave-way", grace_s=0.0)

    def _stop(self, attempt: Attempt, how: str, reason: str, away: tuple[int, ...]) -> None:
        child = process_of(attempt)
        confines = self._runner.confines
        cgroup = confines.group_of(child.pid) if confines is not None else ""
        frozen = Frozen(partial(self._floor.children.left_of, child), cgroup)
        deadline = attempt.deadline
        left_s = None if deadline is None else deadline - self._loop.now()
        self._still[attempt] = _Still(frozen, left_s, away)
        attempt.deadline = None
        self._floor.ledger.park(attempt.lease, devices=bool(away))
        self._emit_pause(attempt, how, reason)

    def _emit_pause(self, attempt: Attempt, how: str, reason: str) -> None:
        at_us = self._floor.recorder.at_us()
        self._floor.recorder.emit(
            Pause(at_us, attempt.step.id, attempt.iteration, attempt.number, how, reason)
        )

    def go_on(self) -> None:
        """Let what stands still go on where all that it gave is free again."""
        entry = self._floor.scheduler.entry
        for attempt in sorted(self._still, key=lambda one: entry(one.at, one.iteration)):
            if self._is_claimed(attempt) or not self._floor.ledger.unpark(attempt.lease):
                continue
            still = self._still.pop(attempt)
            still.frozen.thaw()
            if still.away:
                self._move_back(attempt, still)
            else:
                self._gone_on(attempt, still)

    def _move_back(self, attempt: Attempt, still: _Still) -> None:
        """Its processes run, but wait for the driver until their memory is back."""
        if (attention := self._runner.attention) is None:
            raise AssertionError("memory was moved away, and nothing moves it back")
        self._moving[attempt] = False

        def done(ok: bool | None, why: str, pids: tuple[int, ...]) -> None:  # noqa: ARG001  # as it is told
            if self._moving.pop(attempt, None) is None or attempt.stopped:
                return
            self._floor.starter.forget()
            if ok:
                self._gone_on(attempt, still)
            else:
                self._failed(attempt, "back", why, lost=True)

        attention.move_memory(
            process_of(attempt).pid, attempt.lease.devices, still.away, back=True, then=done
        )

    def _gone_on(self, attempt: Attempt, still: _Still) -> None:
        self._rested[attempt] = self._loop.now()
        if still.left_s is not None:
            attempt.deadline = self._loop.now() + still.left_s
            self._loop.at(attempt.deadline, partial(self._late, attempt))
        step, at_us = attempt.step.id, self._floor.recorder.at_us()
        self._floor.recorder.emit(Continue(at_us, step, attempt.iteration, attempt.number))

    def _is_claimed(self, attempt: Attempt) -> bool:
        """Whether a Step that must not wait is ready, fits now, and would go first."""
        mine = self._floor.scheduler.entry(attempt.at, attempt.iteration)
        for entry in self._floor.scheduler.ready():
            at, iteration = self._floor.scheduler.locate(entry)
            step = self._floor.steps[at]
            if must_not_wait(step.level, hungry=(at, iteration) in self._hungry) and (
                entry < mine and self._floor.ledger.copy().grant(step.demand) is not None
            ):
                return True
        return False

    def _late(self, attempt: Attempt) -> None:
        if attempt.deadline is not None and attempt.deadline <= self._loop.now():
            attempt.deadline = None
            self._runner.stop(attempt, "timeout")

    def anew(self) -> None:
        """The whole run stood still and goes on: what stood still before that does so again."""
        for still in self._still.values():
            still.frozen.again()

    def leave(self, attempt: Attempt) -> None:
        """It is ended for another reason: it can only leave when it does not stand still."""
        self._moving.pop(attempt, None)
        still = self._still.pop(attempt, None)
        if still is not None:
            still.frozen.thaw()

    def ended(self, attempt: Attempt) -> None:
        """It is gone."""
        self._still.pop(attempt, None)
        self._rested.pop(attempt, None)
        self._moving.pop(attempt, None)
        self._unmoved.discard(attempt)


def process_of(attempt: Attempt) -> Child:
    """Its first process, or that of its worker."""
    child = attempt.child or (attempt.worker.child if attempt.worker is not None else None)
    if child is None:
        raise AssertionError(f"{attempt.step.id} runs and has no process")
    return child
