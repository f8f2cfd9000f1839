"""Steps that share a device while another one idles that would do: what it costs is in no schedule.

Where devices differ, a Step that may have any takes the quickest, and one that can have no other has to
share it. The schedule is as short as it can be and the Steps slow each other down, so such a Step is
given what fits best instead.
"""

from __future__ import annotations

from bisect import bisect_right

from dsec.core.contest import Candidate
from dsec.core.placement import slots
from dsec.core.trial import Manner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.contest import Contest
    from dsec.core.placement import Slot
    from dsec.core.trial import Run

MANY = 2_000
"""From so many Steps on the schedule is taken as it is."""
_ROUNDS = 6
_LONGER = 2
"""Two Steps on a device take at most twice as long: a schedule that is longer by more is no better."""


def uncontended(contest: Contest, starts: Sequence[Candidate], best: Candidate) -> Candidate:
    """Of the best and what can be made of it and of `starts`, the one that shares least needlessly.

    On a tie the shortest, and never one of more than twice the best's length. Each is tried with other
    devices for the Steps that share.
    """
    if not contest.bench.mixed or len(contest.works) >= MANY or not movable(contest, best):
        return best
    spread = [best, *(_spread(contest, one) for one in (best, *starts))]
    bearable = [one for one in spread if one.run.makespan <= _LONGER * best.run.makespan]
    return min(bearable, key=lambda one: (len(movable(contest, one)), one.run.makespan))


def _spread(contest: Contest, candidate: Candidate) -> Candidate:
    """The candidate with what fits best, not what is quickest, for Steps that share needlessly."""
    crowd = movable(contest, candidate)
    for _ in range(_ROUNDS):
        choices = list(candidate.choices or [candidate.quick] * len(contest.works))
        if not any(choices[at] for at in crowd):
            break
        for at in crowd:
            choices[at] = False
        run = contest.forward(candidate.priorities, Manner(quick=candidate.quick, choices=choices))
        if run is None:
            raise AssertionError("a run without a limit is never given up")
        other = candidate._replace(run=run, choices=choices)
        left = movable(contest, other)
        if len(left) >= len(crowd):
            break
        candidate, crowd = other, left
    return candidate


def movable(contest: Contest, candidate: Candidate) -> list[int]:
    """Steps on devices that they shared as soon as they began, while enough others that fit were idle."""
    table, run, found = slots(contest.inventory), candidate.run, []
    order = sorted(
        (at for at, group in enumerate(run.groups) if group is not None), key=run.starts.__getitem__
    )
    begins = [run.starts[at] for at in order]
    active: list[int] = []
    for place, at in enumerate(order):
        now = begins[place]
        active = [one for one in active if run.ends[one] > now]
        active.append(at)
        beside = active + order[place + 1 : bisect_right(begins, now)]
        used = {uuid for one in beside if one != at for uuid in _held(run, one)}
        if used & set(_held(run, at)) and _has_room(contest, at, used, table):
            found.append(at)
    return found


def _held(run: Run, at: int) -> tuple[str, ...]:
    group = run.groups[at]
    return () if group is None else group.uuids


def _has_room(contest: Contest, at: int, used: set[str], table: Sequence[Slot]) -> bool:
    """Whether one machine has as many devices as the Step needs that fit it and that nobody uses."""
    demand = contest.works[at].demand
    if demand.terms is not None and demand.terms.strict:
        return False
    count: dict[str | None, int] = {}
    for slot in table:
        if slot.device.uuid not in used and slot.free_for(demand):
            count[slot.device.node] = count.get(slot.device.node, 0) + 1
    return max(count.values(), default=0) >= demand.gpu_count
