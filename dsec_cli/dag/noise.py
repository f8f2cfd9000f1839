"""What becomes of a plan when durations are not as estimated: many trials, the order of Steps kept."""

from __future__ import annotations

from math import exp
from zlib import crc32

from dsec.core.machine import Machine
from dsec.core.search import Draw
from dsec.core.trial import Manner, Slots, equal_slots, graph_of
from dsec.record import Record
from dsec_cli.dag.replay import stage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.inventory import Inventory
    from dsec.plan import Plan
    from dsec_cli.dag.replay import Stage

_MOST, _LEAST = 200, 5
_STEPS_IN_ALL = 50_000
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
    bench = _Bench(stage, plan.inventory)
    draws = [Draw([crc32(step.id.encode("utf-8", "surrogatepass"))]) for step in plan.steps]
    expected = [work.duration for work in stage.works]
    found = sorted(
        bench.makespan([_drawn(one, sigma, draw) for one, draw in zip(expected, draws, strict=True)])
        for _ in range(trials_for(len(expected)))
    )
    return Spread(sigma, len(found), _quantile(found, 50), _quantile(found, 95), found[-1])


class _Bench:
    """A plan's Steps in their order, to be timed again and again: what devices are granted is remembered."""

    def __init__(self, stage: Stage, inventory: Inventory) -> None:
        works = stage.works
        self._slots = equal_slots(works, inventory)
        self._machine = Machine(works, inventory)
        self._order = sorted(range(len(works)), key=[work.rank for work in works].__getitem__, reverse=True)
        # Tails serve only to give a schedule up, and none is.
        self._graph = graph_of(stage.successors, [0] * len(works))
        self._manner = Manner(choices=stage.choices)

    def makespan(self, durations: list[int]) -> int:
        """How long the Steps take, with these durations."""
        bench: Machine | Slots = self._machine
        if self._slots is None:
            self._machine.durations = durations
        else:
            bench = Slots(durations, self._slots)
        run = bench.run(self._graph, self._order, self._manner)
        if run is None:
            raise AssertionError("a run without a limit is never given up")
        return run.makespan


def _drawn(duration: int, sigma: float, draw: Draw) -> int:
    """The duration times a factor, to whole milliseconds; never less than one where it was not 0."""
    total = sum([draw.below(_WIDTH) for _ in range(_UNIFORMS)])
    z = (total - _UNIFORMS * _WIDTH // 2) / _WIDTH  # Irwin-Hall: nearly normal, of variance 1
    per_mille = round(1000 * exp(sigma * z))
    return max(duration * per_mille // 1000, min(duration, 1))


def _quantile(ordered: list[int], percent: int) -> int:
    """The least value that so many per cent do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1]
