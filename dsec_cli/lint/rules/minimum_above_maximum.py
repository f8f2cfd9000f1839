"""A lower bound lies above its upper bound.

Why: No amount satisfies both, so the range is empty and the job could never be placed.

Bad (yaml):
    elasticity:
      gpu:
        min_count: 4
        max_count: 2

Good (yaml):
    elasticity:
      gpu:
        min_count: 2
        max_count: 4

Source: seed A section 2.1 (elastic bounds) and 2.2 (`min_gpu_hours`, `max_gpu_hours`).
"""

from __future__ import annotations

from itertools import pairwise

from dsec.record import Record
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import memory_range, size
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.units import BitsPerSecond
    from dsec_cli.contract.values import Contract, ElasticGpu, Gpu
    from dsec_cli.source.tree import Path


class Bounds(Record):
    """A pair of bounds that contradict each other."""

    section: Path
    lower: str
    upper: str
    low: str
    high: str
    gap: str


def check(facts: Facts) -> Iterator[Finding]:
    """Every pair of bounds whose lower one is greater."""
    for pair in _crossed(facts.contract):
        found = Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=(*pair.section, pair.lower),
            message=say(
                "{lower} {low} is {gap} above {upper} {high}",
                "above",
                lower=pair.lower,
                low=pair.low,
                gap=pair.gap,
                upper=pair.upper,
                high=pair.high,
            ),
            reason=say("no amount lies in an empty range, so the job could never be placed"),
            help=say(
                "write {lower} at or below {upper}; perhaps the two are swapped",
                lower=pair.lower,
                upper=pair.upper,
            ),
            related=(
                Related(
                    (*pair.section, pair.upper), say("{upper} is {high}", upper=pair.upper, high=pair.high)
                ),
            ),
        )
        from dsec_cli.lint.edits import swapped  # only a finding pays for them
        from dsec_cli.lint.mend import with_fix

        title = say("swap {lower} and {upper}", lower=pair.lower, upper=pair.upper)
        both = (*pair.section, pair.lower), (*pair.section, pair.upper)
        yield with_fix(found, title, swapped(facts, *both), safe=False)


def _crossed(contract: Contract) -> Iterator[Bounds]:
    elasticity = contract.elasticity
    if elasticity is not None and elasticity.gpu is not None:
        yield from _gpu(elasticity.gpu)
    if elasticity is not None and elasticity.network is not None:
        network = elasticity.network
        yield from _rates(network.path, network.bandwidth_min, network.bandwidth_max)
    for step in contract.steps:
        gpu = step.demand.gpu
        if gpu is not None and (gpu.min_count is not None or gpu.max_count is not None):
            yield from _of_step(gpu)
    least, most = contract.min_gpu_hours, contract.max_gpu_hours
    if least is not None and most is not None and least > most:
        yield Bounds((), "min_gpu_hours", "max_gpu_hours", f"{least:g}", f"{most:g}", f"{least - most:g}")


def _gpu(gpu: ElasticGpu) -> Iterator[Bounds]:
    least, most = gpu.min_count, gpu.max_count
    if least is not None and most is not None and least > most:
        yield Bounds(gpu.path, "min_count", "max_count", str(least), str(most), str(least - most))
    if gpu.memory_min is not None and gpu.memory_max is not None:
        low, high = memory_range(gpu.memory_min)[0], memory_range(gpu.memory_max)[1]
        if low > high:
            texts = (gpu.memory_min.text, gpu.memory_max.text)
            yield Bounds(gpu.path, "memory_min", "memory_max", *texts, size(low - high))


def _of_step(gpu: Gpu) -> Iterator[Bounds]:
    """A Step's count lies between its own bounds; one without a count takes one GPU."""
    named = [("min_count", gpu.min_count), ("count", gpu.count), ("max_count", gpu.max_count)]
    stated = [(name, amount) for name, amount in named if amount is not None]
    for (lower, least), (upper, most) in pairwise(stated):
        if least > most:
            yield Bounds(gpu.path, lower, upper, str(least), str(most), str(least - most))


def _rates(section: Path, low: BitsPerSecond | None, high: BitsPerSecond | None) -> Iterator[Bounds]:
    if low is not None and high is not None and low > high:
        gap = str(type(low)(low - high))
        yield Bounds(section, "bandwidth_min", "bandwidth_max", str(low), str(high), gap)


RULE = Rule("DS202", "minimum-above-maximum", Severity.ERROR, check, when=("bounds",))
