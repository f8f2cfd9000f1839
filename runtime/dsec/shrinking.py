"""Lets attempts of elastic Steps give GPUs back while they run, where their processes said that they can."""

from __future__ import annotations

import json
import os

from dsec import sweep
from dsec.events import Resize
from dsec.metricsfile import name as metrics_name
from dsec.onsave import read
from dsec.onshrink import SIGNAL, keep_of, path_of
from dsec.wholefile import write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec.attempts import Attempt
    from dsec.core.leases import Lease
    from dsec.core.pace import Span
    from dsec.floor import Floor
    from dsec.runner import Runner

_LOOK_S = 0.01


class Shrinking:
    """All that shrinks in one run."""

    def __init__(self, runner: Runner, floor: Floor, spans: Mapping[int, Span]) -> None:
        """`spans`: of the Steps that may have fewer GPUs, by number."""
        self._runner, self._floor, self._spans = runner, floor, spans
        self._loop = floor.children.loop
        self.asked: dict[Attempt, Lease] = {}
        """Who is asked, and what it will have left."""
        self._refused: set[Attempt] = set()
        """Who was asked and did not do it in time."""

    def less(self, attempt: Attempt) -> Lease | None:
        """What the attempt would have left; None: it cannot give anything back."""
        span, attention = self._spans.get(attempt.at), self._runner.attention
        if span is None or attempt.child is None or attempt.step.level != "elastic":
            return None
        keeps = attempt.lease.devices[: max(1, span.least)]
        if len(keeps) == len(attempt.lease.devices) or attempt in self._refused:
            return None
        if attention is None or not attention.sees_gpus:
            return None
        return attempt.lease._replace(devices=keeps) if self._ready(attempt) else None

    def _metrics(self, attempt: Attempt) -> str:
        name = metrics_name(attempt.step.id, iteration=attempt.iteration, attempt=attempt.number)
        return f"{self._floor.launcher.run.path}/{name}"

    def _ready(self, attempt: Attempt) -> set[tuple[int, int]]:
        every, _ = read(path_of(self._metrics(attempt)))
        return {one for one in every if (seen := sweep.look(one[0])) is not None and seen.ticks == one[1]}

    def ask(self, attempt: Attempt, less: Lease, reason: str) -> None:
        """Ask it to give back all but what `less` has; when it has, others may have the rest."""
        self.asked[attempt] = less
        ready, until = self._ready(attempt), self._loop.now() + attempt.step.grace_ms / 1000
        try:
            _, before = read(path_of(self._metrics(attempt)))
            told = json.dumps(less.devices).encode()
            write_whole(keep_of(self._metrics(attempt)), [told], durable=False)
        except OSError as problem:
            why = os.strerror(problem.errno or 0)
            self._loop.at(0.0, lambda: self._failed(attempt, why))
            return
        for pid, ticks in ready:
            sweep.send(sweep.Process(pid, ticks, 0, 0, zombie=False), SIGNAL)
        self._look(attempt, ready - before, until, reason)

    def _look(self, attempt: Attempt, wanted: set[tuple[int, int]], until: float, reason: str) -> None:
        """Wait for its processes to say that they have, then for the driver to say so."""
        if self.asked.get(attempt) is None:
            return
        if wanted <= read(path_of(self._metrics(attempt)))[1]:
            self._verify(attempt, until, reason)
        elif self._loop.now() >= until:
            self._failed(attempt, f"it did not do so within {attempt.step.grace_ms} ms")
        else:
            at = min(until, self._loop.now() + _LOOK_S)
            self._loop.at(at, lambda: self._look(attempt, wanted, until, reason))

    def _verify(self, attempt: Attempt, until: float, reason: str) -> None:
        attention, less = self._runner.attention, self.asked[attempt]
        gone = tuple(uuid for uuid in attempt.lease.devices if uuid not in less.devices)
        if attention is None or attempt.child is None:
            self._failed(attempt, "nobody can tell whether its processes are gone")
            return

        def done() -> None:
            if self.asked.get(attempt) is less:
                self._shrunk(attempt, less, reason)

        attention.when_clear(attempt.child.pid, gone, done)
        late = f"its processes were still on {', '.join(gone)} after {attempt.step.grace_ms} ms"
        self._loop.at(until, lambda: self._failed(attempt, late))

    def _shrunk(self, attempt: Attempt, less: Lease, reason: str) -> None:
        del self.asked[attempt]
        if attempt.stopped:
            return
        self._floor.ledger.shrink(attempt.lease, less)
        attempt.lease = less
        step, at_us = attempt.step.id, self._floor.recorder.at_us()
        self._floor.recorder.emit(
            Resize(at_us, step, attempt.iteration, attempt.number, less.devices, reason)
        )
        detail = f"it gave GPUs back and goes on with {len(less.devices)}: {reason}"
        self._notice(attempt, detail)
        self._floor.starter.forget()

    def _failed(self, attempt: Attempt, why: str) -> None:
        if self.asked.pop(attempt, None) is None or attempt.stopped:
            return
        self._refused.add(attempt)
        self._notice(attempt, f"it was asked to give GPUs back: {why}")
        self._floor.starter.forget()

    def _notice(self, attempt: Attempt, detail: str) -> None:
        if (attention := self._runner.attention) is not None:
            attention.notice("shrunk", detail, step=attempt.step.id, iteration=attempt.iteration)

    def ended(self, attempt: Attempt) -> None:
        """It is gone."""
        self.asked.pop(attempt, None)
        self._refused.discard(attempt)
