"""The best order of Steps that a bounded search finds for a machine.

After the candidates of `orders`, small changes of the best schedule are tried: some Steps are moved
forwards or backwards in time, or, where devices differ, given the quickest instead of what fits best or
the other way round. What that leaves is kept when its schedule is no longer, at
first also when it is a little longer.
The search is counted in trials, draws its own numbers from what it is given and never looks at a
clock: same input, same order, on every machine and in every Python.
"""

from __future__ import annotations

from dsec.core.bounds import Ends, lower_bounds
from dsec.core.colocation import uncontended
from dsec.core.contest import Candidate
from dsec.core.orders import MANY, candidates, good_enough, improved
from dsec.core.precedence import lifted
from dsec.core.rounds import counting_bounds
from dsec.core.trial import Manner
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.contest import Contest

_MOST_TRIALS = 1_000
_AT_LEAST, _PER_STEP = 480, 6
_STEPS_IN_ALL = 96_000
"""Trials times Steps: what the search may cost where Steps are few."""
_FEW = 150
"""From so many Steps on it may cost less and less: planning a Step costs no more in a larger graph."""
_REACH = (50, 12, 4, 1)
"""Parts of the makespan by which a Step is moved at most."""
_WORSE = 60
"""Part of the best makespan by which a change may be worse at first; in the end it may not."""
_SOME = (1, 2, 4)
"""How many Steps at most are given other devices at a time, where it is not a quarter of them."""
_OTHER = 3
"""One change in so many gives Steps other devices, where these differ."""
_WORD = 2**64


class Found(Record):
    """The best order, what was tried to find it, and how good it can be at most."""

    best: Candidate
    makespans: tuple[tuple[str, int], ...]
    """Per order that was tried, the shortest schedule it led to; `search` last, if there was one."""
    trials: int
    """Changes that were tried at the end."""
    bounds: tuple[tuple[str, int], ...]
    """By name, times that no schedule can beat."""


def best_order(contest: Contest) -> Found:
    """The shortest schedule that is found, never longer than first come, first served.

    What costs more is done only while a schedule is longer than the bounds say it must be.
    """
    tails = [rank - own for rank, own in zip(contest.ranks, contest.durations, strict=True)]
    ends = Ends(contest.heads, tails)
    bounds = lower_bounds(contest.works, max(contest.ranks, default=0), contest.inventory, ends)
    starts, makespans = _compared(contest, max(bounds.values()))
    best, trials = min(starts, key=_worth), 0
    if best.run.makespan > max(bounds.values()):
        bounds |= counting_bounds(contest.works, ends, contest.inventory)
        best, trials = _searched(contest, best, max(bounds.values()), trials_for(len(tails)) * len(starts))
    if trials:
        makespans["search"] = best.run.makespan
    best = uncontended(contest, starts, best)
    best = best._replace(priorities=lifted(_from_zero(best.priorities), contest.classes))
    return Found(best, tuple(makespans.items()), trials, tuple(bounds.items()))


def _compared(contest: Contest, bound: int) -> tuple[list[Candidate], dict[str, int]]:
    """The best of the candidates, for each way to choose devices, and the makespan of each order."""
    starts: list[Candidate] = []
    makespans: dict[str, int] = {}
    for quick in (False, True) if contest.bench.mixed else (False,):
        tried = list(candidates(contest, bound, quick=quick))
        starts.append(min(tried, key=_worth))
        for one in tried:
            makespans[one.order] = min(one.run.makespan, makespans.get(one.order, one.run.makespan))
        if good_enough(contest, starts[-1].run.makespan, bound):
            break
    return starts, makespans


def _worth(candidate: Candidate) -> tuple[int, bool]:
    """On a tie `rank` wins: it looks ahead also when durations turn out otherwise."""
    return candidate.run.makespan, candidate.order != "rank"


def trials_for(steps: int) -> int:
    """How many changes are tried on a graph of so many Steps."""
    if steps >= MANY:
        return 0
    most = min(_MOST_TRIALS, _AT_LEAST + _PER_STEP * steps, _STEPS_IN_ALL // max(steps, 1))
    return most * _FEW // steps if steps > _FEW else most


def _searched(contest: Contest, start: Candidate, bound: int, trials: int) -> tuple[Candidate, int]:
    """The best that is found from the start, and the changes that were tried.

    Half of the changes from each way to choose devices led less far: these change on the way, too.
    """
    if not trials:
        return start, 0
    draw = Draw(contest.durations)
    best, tried = start, 0
    may = (
        [at for at, work in enumerate(contest.works) if work.demand.gpu_count] if contest.bench.mixed else []
    )
    now = start._replace(choices=[start.quick] * len(start.priorities)) if may else start
    for left in range(trials, 0, -1):
        if best.run.makespan <= bound:
            break
        tried += 1
        bearable = best.run.makespan + best.run.makespan * left // (trials * _WORSE)
        limit = max(now.run.makespan, min(start.run.makespan, bearable))
        changed = _changed(contest, now, draw, limit, may)
        if changed is None:
            continue
        shorter = changed.run.makespan < now.run.makespan
        now = improved(contest, changed, passes=1) if shorter else changed
        best = now if now.run.makespan < best.run.makespan else best
    return best, tried


def _changed(
    contest: Contest, now: Candidate, draw: Draw, limit: int, may: Sequence[int]
) -> Candidate | None:
    """The schedule with some Steps moved, or those that `may` on other devices; None when it is too long."""
    span, count = now.run.makespan, len(now.priorities)
    priorities, choices = [span - start for start in now.run.starts], now.choices
    other = bool(may) and not draw.below(_OTHER)
    if other and choices is not None:
        choices = list(choices)
        many = (*_SOME, max(1, len(may) // 4))[draw.below(len(_SOME) + 1)]
        for _ in range(1 + draw.below(many)):
            at = may[draw.below(len(may))]
            choices[at] = not choices[at]
    if not other or draw.below(2):
        reach = span // _REACH[draw.below(len(_REACH))] + 1
        many = (2, 4, max(2, count // 4), count)[draw.below(4)]
        for _ in range(1 + draw.below(many)):
            priorities[draw.below(count)] += draw.below(2 * reach) - reach
    run = contest.forward(priorities, Manner(limit=limit, quick=now.quick, choices=choices))
    return None if run is None else Candidate("search", priorities, now.quick, run, choices)


def _from_zero(priorities: Sequence[int]) -> Sequence[int]:
    lowest = min(priorities, default=0)
    return [one - lowest for one in priorities] if lowest < 0 else priorities


class Draw:
    """Numbers that look drawn: a linear congruential generator (Knuth's MMIX constants)."""

    def __init__(self, content: Sequence[int]) -> None:
        """Seeded from what is searched."""
        self._state = len(content)
        for value in content:
            self._state = (self._state * 1_099_511_628_211 + value) % _WORD

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` - 1."""
        self._state = (self._state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % _WORD
        return (self._state >> 32) * limit >> 32
