"""Why GPUs stand idle in a schedule: for how long, and which Steps run or wait meanwhile.

An idle GPU at an instant has one of three reasons. `ready`: some Step that takes GPUs has all it needs but
does not start, because what it asks for is not free at once. `needs`: Steps that take GPUs are left, and each
waits for one that is not done. `over`: no Step that takes a GPU is left to start.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec.core.order import Adjacency
    from dsec.core.schedule import Slice

MOST_STEPS = 20_000
"""Beyond, nobody reads the reasons."""
_NAMED = 3


class Idle(Record):
    """Idle GPU time of one reason."""

    reason: str
    """`ready`, `needs` or `over`."""
    gpu_ms: int
    """Devices times milliseconds."""
    steps: tuple[int, ...]
    """The few Steps that account for most of it: for `ready` those that do not start, for `needs` those that
    are waited for in the end, for `over` those that still run."""


class _Instant(Record):
    """A stretch of time in which nothing starts, ends or becomes ready."""

    begin: int
    end: int
    idle: int
    reason: str


def idle_reasons(
    successors: Adjacency, slices: Sequence[Slice], wants: Sequence[int], gpus: int
) -> tuple[Idle, ...]:
    """The reasons that occur, in the order of idle time; `wants`: GPUs that each Step asks for."""
    if not gpus or len(slices) > MOST_STEPS:
        return ()
    ready, last = _ready(successors, slices)
    times = list(_instants(slices, wants, ready, gpus))
    clock = _Clock(times)
    blamed: dict[str, dict[int, int]] = {"ready": {}, "needs": {}, "over": {}}
    for step, amount in _waiting(slices, wants, ready, clock):
        _add(blamed["ready"], step, amount)
    for step, amount in _waited_for(wants, ready, last, clock):
        _add(blamed["needs"], step, amount)
    done = max((part.start for part, want in zip(slices, wants, strict=True) if want), default=0)
    for step, part in enumerate(slices):
        _add(blamed["over"], step, clock.idle("over", max(part.start, done), part.end))
    found = [Idle(reason, clock.total(reason), _top(blamed[reason])) for reason in blamed]
    return tuple(sorted((one for one in found if one.gpu_ms), key=lambda one: (-one.gpu_ms, one.reason)))


def _ready(successors: Adjacency, slices: Sequence[Slice]) -> tuple[list[int], list[int]]:
    """Per Step when its last need was done, and which one that was, -1: it has none."""
    ready, last = [0] * len(slices), [-1] * len(slices)
    for step, targets in enumerate(successors):
        end = slices[step].end
        for target in targets:
            if end >= ready[target]:
                ready[target], last[target] = end, step
    return ready, last


def _instants(
    slices: Sequence[Slice], wants: Sequence[int], ready: Sequence[int], gpus: int
) -> Iterator[_Instant]:
    """The stretches of the schedule in order of time, until its end."""
    held = _held(slices)
    waits: dict[int, int] = {0: 0}
    left = sum(1 for want in wants if want)
    started: dict[int, int] = {}
    for step, part in enumerate(slices):
        if not wants[step]:
            continue
        waits[ready[step]] = waits.get(ready[step], 0) + 1
        waits[part.start] = waits.get(part.start, 0) - 1
        started[part.start] = started.get(part.start, 0) + 1
    busy = ripe = 0
    for begin, end in pairwise(sorted({*held, *waits})):
        busy += held.get(begin, 0)
        ripe += waits.get(begin, 0)
        left -= started.get(begin, 0)
        yield _Instant(begin, end, max(gpus - busy, 0), "ready" if ripe else "needs" if left else "over")


def _held(slices: Sequence[Slice]) -> dict[int, int]:
    """By time, how many more devices are held from then on; one that several Steps share counts once."""
    held = dict.fromkeys((0, *(part.end for part in slices)), 0)
    stretches: dict[str, list[tuple[int, int]]] = {}
    for part in slices:
        for uuid in part.devices:
            stretches.setdefault(uuid, []).append((part.start, part.end))
    for some in stretches.values():
        until = -1
        for start, end in sorted(some):
            if end > max(start, until):
                begin = max(start, until)
                held[begin] = held.get(begin, 0) + 1
                held[end] -= 1
                until = end
    return held


class _Clock:
    """Idle GPU time of each reason between any two instants."""

    def __init__(self, times: Sequence[_Instant]) -> None:
        self._begins = [one.begin for one in times]
        self._times = times
        self._sums = {
            reason: [0, *accumulate((t.end - t.begin) * t.idle if t.reason == reason else 0 for t in times)]
            for reason in ("ready", "needs", "over")
        }

    def total(self, reason: str) -> int:
        """In the whole schedule."""
        return self._sums[reason][-1]

    def idle(self, reason: str, begin: int, end: int) -> int:
        """Between two instants of the schedule."""
        return max(0, self._until(reason, end) - self._until(reason, begin))

    def _until(self, reason: str, instant: int) -> int:
        at = bisect_right(self._begins, instant) - 1
        if at < 0:
            return 0
        one = self._times[at]
        inside = (min(instant, one.end) - one.begin) * one.idle if one.reason == reason else 0
        return self._sums[reason][at] + inside


def _waiting(
    slices: Sequence[Slice], wants: Sequence[int], ready: Sequence[int], clock: _Clock
) -> Iterator[tuple[int, int]]:
    for step, part in enumerate(slices):
        if wants[step] and part.start > ready[step]:
            yield step, clock.idle("ready", ready[step], part.start)


def _waited_for(
    wants: Sequence[int], ready: Sequence[int], last: Sequence[int], clock: _Clock
) -> Iterator[tuple[int, int]]:
    """Until a Step that takes GPUs is ready, its latest need is waited for, or what that one waits for."""
    ripe: dict[int, int] = {}
    for step, want in enumerate(wants):
        if want:
            ripe.setdefault(ready[step], step)
    for before, then in pairwise(sorted({0, *ripe})):
        step, upto = last[ripe[then]], then
        while step >= 0 and upto > before:
            begin = max(before, min(ready[step], upto))
            yield step, clock.idle("needs", begin, upto)
            upto, step = begin, last[step]


def _add(table: dict[int, int], step: int, amount: int) -> None:
    if amount:
        table[step] = table.get(step, 0) + amount


def _top(table: dict[int, int]) -> tuple[int, ...]:
    return tuple(sorted(table, key=lambda step: (-table[step], step))[:_NAMED])
