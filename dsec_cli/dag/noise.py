"""What becomes of a plan when durations are not as estimated: many trials, the order of Steps kept."""

from __future__ import annotations

from math import exp
from zlib import crc32

from dsec.core.leases import Ledger
from dsec.core.schedule import list_schedule, makespan
from dsec.core.search import Draw
from dsec.record import Record
from dsec_cli.dag.replay import stage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.plan import Plan

_MOST, _LEAST = 200, 5
_STEPS_IN_ALL = 100_000
"""Trials times Steps: what all may cost, whatever the graph."""
_UNIFORMS = 12
_WIDTH = 2**32


class Spread(Record):
    """Makespans of one iteration over the trials, in milliseconds."""

    sigma: float
    trials: int
    p50: int
    p95: int
    worst: int


def trials_for(steps: int) -> int:
    """How many trials a plan of so many Steps gets."""
    return max(_LEAST, min(_MOST, _STEPS_IN_ALL // max(steps, 1)))


def spread(plan: Plan, sigma: float) -> Spread:
    """The makespans with every duration times a factor of its own.

    Factors are lognormal with median 1: exp(sigma z). A Step has the same factors in every plan, so
    plans that are compared meet the same luck.
    """
    stage = stage_of(plan)
    draws = [Draw([crc32(step.id.encode("utf-8", "surrogatepass"))]) for step in plan.steps]
    count = trials_for(len(plan.steps))
    found: list[int] = []
    for _ in range(count):
        works = [
            work._replace(duration=_drawn(work.duration, sigma, draw))
            for work, draw in zip(stage.works, draws, strict=True)
        ]
        slices = list_schedule(stage.successors, works, Ledger(plan.inventory), quick=stage.quick)
        found.append(makespan(slices))
    found.sort()
    return Spread(sigma, count, _quantile(found, 50), _quantile(found, 95), found[-1])


def _drawn(duration: int, sigma: float, draw: Draw) -> int:
    """The duration times a factor, to whole milliseconds; never less than one where it was not 0."""
    total = sum([draw.below(_WIDTH) for _ in range(_UNIFORMS)])
    z = (total - _UNIFORMS * _WIDTH // 2) / _WIDTH  # Irwin-Hall: nearly normal, of variance 1
    per_mille = round(1000 * exp(sigma * z))
    return max(duration * per_mille // 1000, min(duration, 1))


def _quantile(ordered: list[int], percent: int) -> int:
    """The least value that so many per cent do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1]
