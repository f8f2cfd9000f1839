"""The orders that are always worth trying, each with the schedule that it leads to.

- `fifo`: whatever became ready earlier goes first. What a run without a plan does.
- `lpt`: the longest goes first.
- `rank`: the longest path from the Step's start to the end of all goes first (upward rank).
- `rank+fbi`: that, improved by going through its schedule backwards and forwards: Steps in the order
  of their ends, latest first, are scheduled from the end to the start, and then again from the start
  in the order which that leaves, as long as it gets shorter.
"""

from __future__ import annotations

from dsec.core.contest import Candidate, Contest
from dsec.core.trial import Manner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec.core.trial import Run

_PASSES = 6
_STEPS_IN_ALL = 4_000
"""Passes times Steps: where it is more, the passes are fewer, but one."""
MANY = 20_000
"""Steps from which only what is needed is tried: `fifo` on what fits best, `rank` on what is quickest."""
_NEAR = 50
"""Part of the bound by which a schedule of so many Steps may be longer, and no other order is tried."""


def good_enough(contest: Contest, makespan: int, bound: int) -> bool:
    """Whether the graph is so large, and the schedule so short, that another order is not worth its time."""
    return len(contest.durations) >= MANY and (makespan - bound) * _NEAR <= bound


def candidates(contest: Contest, bound: int, *, quick: bool) -> Iterator[Candidate]:
    """Each order with its schedule, best known method last; no schedule can beat `bound`."""
    manner = Manner(quick=quick)
    many = len(contest.durations) >= MANY
    if not (many and quick):
        queue = _whole(contest.forward(contest.ranks, manner._replace(queued=True)))
        arrivals = [len(queue.arrived) - place for place in queue.arrived]
        if contest.classes:
            queue = _whole(contest.forward(arrivals, manner))
        yield Candidate("fifo", arrivals, quick, queue)
        if good_enough(contest, queue.makespan, bound):
            return
    if not many:
        yield _tried(contest, "lpt", contest.durations, manner)
    if not many or quick == contest.bench.mixed:
        ranked = _tried(contest, "rank", contest.ranks, manner)
        yield ranked
        if not many:
            yield improved(contest, ranked._replace(order="rank+fbi"))


def improved(contest: Contest, candidate: Candidate, passes: int = 0) -> Candidate:
    """The candidate after going backwards and forwards through its schedule while that helps."""
    passes = passes or max(1, min(_PASSES, _STEPS_IN_ALL // max(len(contest.durations), 1)))
    manner = Manner(quick=candidate.quick, choices=candidate.choices)
    for _ in range(passes):
        back = _whole(contest.backward(candidate.run.ends, manner))
        again = contest.forward(back.ends, manner._replace(limit=candidate.run.makespan))
        if again is None or again.makespan >= candidate.run.makespan:
            break
        candidate = candidate._replace(priorities=back.ends, run=again)
    return candidate


def _tried(contest: Contest, order: str, priorities: Sequence[int], manner: Manner) -> Candidate:
    return Candidate(order, priorities, manner.quick, _whole(contest.forward(priorities, manner)))


def _whole(run: Run | None) -> Run:
    if run is None:
        raise AssertionError("a run without a limit is never given up")
    return run
