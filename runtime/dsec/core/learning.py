"""Whether a training goes wrong, by the metrics that its Steps report.

One metric alone says little: a policy that has solved its task has as little entropy, and as many groups
without deviation, as one that has collapsed. What tells them apart is the reward, so a collapse is only
told where somebody said what reward is aimed at (`metric(reward_target=0.9)`).
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES: Mapping[str, tuple[str, ...]] = {
    "reward": ("reward_mean", "reward", "critic/rewards/mean", "critic/score/mean"),
    "target": ("reward_target",),
    "entropy": ("entropy", "policy_entropy", "actor/entropy"),
    "same": ("zero_std_share", "frac_reward_zero_std"),
}
"""What metrics are called by frameworks, the first that is reported counts; `train/` may precede each."""
_LEAST_ENTROPY = 0.05
_MOST_SAME = 0.9
"""Share of groups whose rewards are all the same, from which nothing is learned."""
_REPORTS = 3
"""In a row, before a collapse is told."""
_WINDOW = 10
"""Reports over which a reward may still rise."""
_RISE = 0.01
"""A reward that rises by less, as a share of the target, does not rise."""
_NAMED = 6


class Verdict(Record):
    """One thing that is wrong."""

    kind: str
    """`not-a-number` or `collapsed`."""
    detail: str


class Learning:
    """The reports of one Step, in their order."""

    __slots__ = ("_collapsing", "_rewards", "_target", "_told")

    def __init__(self) -> None:
        self._rewards: list[float] = []
        self._collapsing = 0
        self._target: float | None = None
        self._told: set[str] = set()

    def take(self, metrics: Mapping[str, float]) -> list[Verdict]:
        """Add a report; what is wrong since this one, told once until it has been well again."""
        found = [self._numbers(metrics), self._collapse(metrics)]
        return [one for one in found if one is not None]

    def _numbers(self, metrics: Mapping[str, float]) -> Verdict | None:
        odd = [name for name, value in metrics.items() if value - value != 0]
        if not self._is_new("not-a-number", bad=bool(odd), said=bool(metrics)):
            return None
        names = ", ".join(odd[:_NAMED]) + (f" and {len(odd) - _NAMED} more" if len(odd) > _NAMED else "")
        return Verdict("not-a-number", f"it reports no finite number for {names}")

    def _collapse(self, metrics: Mapping[str, float]) -> Verdict | None:
        entropy, same, reward = (_known(metrics, name) for name in ("entropy", "same", "reward"))
        target = _known(metrics, "target")
        self._target = self._target if target is None else target
        if entropy is None or same is None or reward is None:
            return None
        self._rewards = [*self._rewards[1 - _WINDOW :], reward]
        bad = self._target is not None and reward < self._target
        bad = bad and entropy < _LEAST_ENTROPY and same > _MOST_SAME and not self._rises()
        self._collapsing = self._collapsing + 1 if bad else 0
        well = entropy > 2 * _LEAST_ENTROPY or (self._target is not None and reward >= self._target)
        if not self._is_new("collapsed", bad=self._collapsing >= _REPORTS, said=well):
            return None
        return Verdict(
            "collapsed",
            f"its policy has collapsed: entropy {entropy:.3g}, {same:.0%} of the groups learn nothing, and "
            f"the reward stays at {reward:.3g} of {self._target:g}; go back to a checkpoint before that, and "
            "raise the entropy bonus",
        )

    def _rises(self) -> bool:
        """Whether the later half of the latest rewards is above the earlier one."""
        half = len(self._rewards) // 2
        if not half or self._target is None:
            return False
        before, after = sum(self._rewards[:half]) / half, sum(self._rewards[-half:]) / half
        return after - before > _RISE * abs(self._target)

    def _is_new(self, kind: str, *, bad: bool, said: bool) -> bool:
        """Whether it is wrong and was not told yet; `said`: a report that is well ends what was told."""
        if bad:
            new = kind not in self._told
            self._told.add(kind)
            return new
        if said:
            self._told.discard(kind)
        return False


def _known(metrics: Mapping[str, float], name: str) -> float | None:
    """The metric by any of its names; None: not reported, or no finite number."""
    for called in NAMES[name]:
        for full in (called, f"train/{called}"):
            value = metrics.get(full)
            if value is not None and value - value == 0:
                return value
    return None
