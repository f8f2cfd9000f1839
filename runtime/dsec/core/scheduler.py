"""Which Step instance may start next: edges, iterations, staleness, order.

Pure and single-threaded; runtime and simulation drive the same object. An instance is a Step's
number in the plan and an iteration. Only the iterations in flight are materialised, so a run of
100,000 instances costs what its widest window costs.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from dsec.core.precedence import precedence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsec.plan import Iterations, PlannedStep

_WAITING, _STARTED, _DONE, _DEAD = range(4)


class _Window:
    """One iteration in flight."""

    __slots__ = ("left", "missing", "state", "tainted")

    def __init__(self, missing: list[int]) -> None:
        self.missing = missing
        self.state = bytearray(len(missing))
        self.left = len(missing)
        self.tainted: frozenset[int] = frozenset()
        """Steps that were dropped here."""


class Scheduler:
    """The instances of one run that are waiting, ready, started and done."""

    def __init__(
        self,
        steps: Sequence[PlannedStep],
        iterations: Iterations,
        *,
        groups: Sequence[object],
        finished: Mapping[int, frozenset[int]] | None = None,
        dropped: Mapping[int, frozenset[int]] | None = None,
        classed: bool = True,
    ) -> None:
        """`groups[s]`: equal for Steps that fit under the same circumstances.

        `classed`: whether Steps go by their tolerance level first; those of several runs do not.

        `finished` and `dropped` (iteration -> Steps) are what earlier executors of the run did.
        """
        self._count = iterations.count
        self._in_flight = max(1, iterations.in_flight)
        self._finished = dict(finished or {})
        self._dropped = dict(dropped or {})
        self._n = len(steps)
        number = {step.id: at for at, step in enumerate(steps)}
        self._after: list[list[int]] = [[] for _ in steps]
        self._carried: list[list[tuple[int, int]]] = [[] for _ in steps]
        """Per Step: (Step that reads it in a later iteration, how many iterations later)."""
        self._before: list[list[int]] = [[] for _ in steps]
        self._carried_before: list[list[tuple[int, int]]] = [[] for _ in steps]
        for at, step in enumerate(steps):
            self._connect(at, step, number)
        self._reach = max((lag for needs in self._carried_before for _, lag in needs), default=0)
        self._indegree = [len(before) for before in self._before]
        self._buckets: dict[object, list[int]] = {}
        self._bucket_of = [self._buckets.setdefault(group, []) for group in groups]
        top = max((step.rank_ms for step in steps), default=0)
        self._round = (top + 1) * self._n
        self._ahead = [own * self._round * iterations.count for own in self._classes(steps, classed)]
        """Per Step what stands before its iteration in an entry: what goes first does so in any iteration."""
        self._span = self._round * max(1, iterations.count)
        self._order = [
            ahead + (top - step.rank_ms) * self._n + at
            for at, (step, ahead) in enumerate(zip(steps, self._ahead, strict=True))
        ]
        self._base = 0
        self._opened = 0
        self._windows: dict[int, _Window] = {}
        self._halted = False
        self._again: dict[tuple[int, int], list[int]] = {}
        """Instances that run once more because what they wrote is gone, and who waits for that."""
        self.any_dropped = bool(self._dropped)
        """Whether `starved` has anything to say."""
        self._advance()

    def _connect(self, at: int, step: PlannedStep, number: Mapping[str, int]) -> None:
        before = self._before[at]
        for name, kind, staleness, _ in step.needs:
            need = number[name]
            if kind == "carried":
                lag = 1 + staleness
                if (need, lag) not in self._carried_before[at]:
                    self._carried_before[at].append((need, lag))
                    self._carried[need].append((at, lag))
            elif need not in before:
                before.append(need)
                self._after[need].append(at)

    def _classes(self, steps: Sequence[PlannedStep], classed: bool) -> list[int]:
        if not classed or len({step.level for step in steps}) < 2:
            return [0] * len(steps)
        return precedence([step.level for step in steps], self.dependents)

    @property
    def complete(self) -> bool:
        """Whether every instance is done."""
        return self._base == self._count

    def ready(self) -> list[int]:
        """Steps at the head of each bucket, most urgent first; `start` one of them."""
        if self._halted:
            return []
        heads = []
        for bucket in self._buckets.values():
            if bucket:
                heads.append(bucket[0])  # noqa: PERF401  # a comprehension is a call of its own before 3.12
        heads.sort()
        return heads

    def queued(self) -> list[tuple[int, int]]:
        """Of each bucket that is not empty, a Step of its and how many instances are ready in it."""
        return [(bucket[0] % self._n, len(bucket)) for bucket in self._buckets.values() if bucket]

    def bucket(self, entry: int) -> list[int]:
        """All entries that are ready in the bucket of this one."""
        return self._bucket_of[entry % self._n]

    def locate(self, entry: int) -> tuple[int, int]:
        """The (Step, iteration) of an entry of `ready`."""
        return entry % self._n, entry % self._span // self._round

    def entry(self, step: int, iteration: int) -> int:
        """The entry that the instance has while it is ready; the lower goes first."""
        return iteration * self._round + self._order[step]

    def start(self, entry: int) -> None:
        """Take the entry, the head of its bucket, off the ready list."""
        step, iteration = entry % self._n, entry % self._span // self._round
        taken = heappop(self._bucket_of[step])
        if taken != entry:
            raise AssertionError(f"entry {entry} is not the head of its bucket")
        self._windows[iteration].state[step] = _STARTED

    def put_back(self, step: int, iteration: int, *, first: bool = False) -> None:
        """A started instance is to run again (a retry whose delay is over).

        `first`: before all others of its iteration and class.
        """
        self._windows[iteration].state[step] = _WAITING
        if first:
            heappush(self._bucket_of[step], self._ahead[step] + iteration * self._round + step)
        else:
            self._push(step, iteration)

    def finish(self, step: int, iteration: int) -> None:
        """The instance is done: what waited for it alone becomes ready."""
        window = self._windows[iteration]
        if window.state[step] == _DONE:
            raise AssertionError(f"instance {step}/{iteration} ended twice")
        window.state[step] = _DONE
        if self._again and (step, iteration) in self._again:
            self._done_again(window, step, iteration)
            return
        missing = window.missing
        for other in self._after[step]:
            missing[other] -= 1
            if not missing[other] and not window.state[other]:
                self._push(other, iteration)
        for other, lag in self._carried[step]:
            self._satisfy(other, iteration + lag)
        if self._opened > iteration + 1:
            self._satisfy(step, iteration + 1)
        window.left -= 1
        if not window.left and iteration == self._base:
            self._advance()

    def _done_again(self, window: _Window, step: int, iteration: int) -> None:
        """Everybody but those who asked for it went on after the first time."""
        for other in self._again.pop((step, iteration)):
            window.missing[other] -= 1
            if not window.missing[other] and window.state[other] == _WAITING:
                self._push(other, iteration)
        window.left -= 1
        if not window.left and iteration == self._base:
            self._advance()

    def send_again(self, needs: Sequence[int], step: int, iteration: int) -> None:
        """A started instance waits until these, which were done, have been done once more."""
        window = self._windows[iteration]
        window.state[step] = _WAITING
        window.missing[step] = len(needs)
        for need in needs:
            if window.state[need] == _DONE:
                window.state[need] = _WAITING
                window.left += 1
                window.missing[need] = 0
                self._push(need, iteration)
            self._again.setdefault((need, iteration), []).append(step)

    def promote(self, step: int, iteration: int) -> int:
        """A ready instance goes before all others of its iteration and class; its new entry."""
        bucket, old = self._bucket_of[step], self.entry(step, iteration)
        new = self._ahead[step] + iteration * self._round + step
        if old in bucket and old != new:
            bucket.remove(old)
            heapify(bucket)
            heappush(bucket, new)
        return new

    def waiting(self) -> list[tuple[int, int]]:
        """Every ready instance that did not start, the most urgent first."""
        every = sorted(entry for bucket in self._buckets.values() for entry in bucket)
        return [self.locate(entry) for entry in every]

    def drop(self, step: int, iteration: int) -> None:
        """The instance is given up; for the order of things it is done."""
        self.any_dropped = True
        self._windows[iteration].tainted |= {step}
        self.finish(step, iteration)

    def starved(self, step: int, iteration: int) -> tuple[int, int] | None:
        """A dropped instance that this one needs, so that it must be dropped too."""
        window = self._windows[iteration]
        if window.tainted:
            for need in self._before[step]:
                if need in window.tainted:
                    return need, iteration
        for need, lag in self._carried_before[step]:
            earlier = self._windows.get(iteration - lag)
            if earlier is not None and need in earlier.tainted:
                return need, iteration - lag
        return None

    def fail(self, step: int, iteration: int) -> None:
        """The instance will not be done in this run; what needs it never becomes ready."""
        self._windows[iteration].state[step] = _DEAD

    def halt(self) -> None:
        """Nothing is ready any more."""
        self._halted = True

    def dependents(self, step: int) -> list[int]:
        """Steps that need `step`, now or in a later iteration."""
        return [*self._after[step], *(other for other, _ in self._carried[step])]

    def _push(self, step: int, iteration: int) -> None:
        heappush(self._bucket_of[step], iteration * self._round + self._order[step])

    def _satisfy(self, step: int, iteration: int) -> None:
        window = self._windows.get(iteration)
        if window is None:
            return
        window.missing[step] -= 1
        if not window.missing[step] and not window.state[step]:
            self._push(step, iteration)

    def _advance(self) -> None:
        """Leave complete iterations behind, open those that may begin."""
        while True:
            while self._base < self._opened and not self._windows[self._base].left:
                # Kept as long as a carried edge reaches: `starved` asks what was dropped there.
                self._windows.pop(self._base - self._reach, None)
                self._base += 1
            if self._opened >= min(self._count, self._base + self._in_flight):
                return
            self._open(self._opened)

    def _open(self, iteration: int) -> None:
        window = _Window(list(self._indegree))
        done: frozenset[int] = frozenset()
        if self._finished or self._dropped:
            window.tainted = self._dropped.pop(iteration, frozenset())
            done = self._finished.pop(iteration, frozenset()) | window.tainted
        for step in done:
            window.state[step] = _DONE
        window.left -= len(done)
        self._windows[iteration] = window
        self._opened = iteration + 1
        missing = window.missing
        before = self._windows.get(iteration - 1)
        for step, needs in enumerate(self._carried_before):
            for need, lag in needs:
                missing[step] += not self._is_done(need, iteration - lag)
            if before is not None and before.state[step] != _DONE:
                missing[step] += 1
            for need in self._before[step] if done else ():
                missing[step] -= need in done
            if not missing[step] and not window.state[step]:
                self._push(step, iteration)

    def _is_done(self, step: int, iteration: int) -> bool:
        if iteration < self._base:
            return True
        return self._windows[iteration].state[step] == _DONE
