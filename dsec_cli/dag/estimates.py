"""How long each Step is expected to take, and how we know."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec.units import Duration
    from dsec_cli.contract.values import Step

DEFAULT_MS = 1000


class Estimate(Record):
    """One Step's expected duration."""

    ms: int
    source: str
    """`history` (median of earlier runs), `declared` (expected_duration) or `default` (unknown: 1 s)."""


def estimate(steps: Iterable[Step], learned: Mapping[str, int]) -> list[Estimate]:
    """Per Step: what earlier runs took, else what the contract expects, else one second."""
    declared: dict[Duration | None, Estimate] = {None: Estimate(DEFAULT_MS, "default")}
    found: list[Estimate] = []
    for step in steps:
        expect = step.expect
        if step.id in learned:
            found.append(Estimate(_two_digits(learned[step.id]), "history"))
            continue
        if expect not in declared:
            declared[expect] = Estimate(expect.ms if expect is not None else DEFAULT_MS, "declared")
        found.append(declared[expect])
    return found


def _two_digits(ms: int) -> int:
    """Two significant digits: a plan should change when timing does, not when it trembles."""
    step = 1
    while ms // step >= 100:
        step *= 10
    return (ms + step // 2) // step * step
