"""How long each Step is expected to take, and how we know."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec_cli.contract.values import Step

DEFAULT_MS = 1000


class Estimate(Record):
    """One Step's expected duration."""

    ms: int
    source: str
    """`history` (median of earlier runs), `declared` (expected_duration) or `default` (nobody knows: 1 s)."""


def estimate(steps: Iterable[Step], learned: Mapping[str, int]) -> list[Estimate]:
    """Per Step: what earlier runs took, else what the contract expects, else one second."""
    return [_one(step, learned.get(step.id)) for step in steps]


def _one(step: Step, learned_ms: int | None) -> Estimate:
    if learned_ms is not None:
        return Estimate(_two_digits(learned_ms), "history")
    if step.expect is not None:
        return Estimate._make((step.expect.ms, "declared"))
    return Estimate(DEFAULT_MS, "default")


def _two_digits(ms: int) -> int:
    """Two significant digits: a plan should change when timing does, not when it trembles."""
    step = 1
    while ms // step >= 100:
        step *= 10
    return (ms + step // 2) // step * step
