"""What became of the instances of a run that are not done: failed, stopped, dropped, still running."""

from __future__ import annotations

from dsec.outcomes import recorded, why
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from dsec.core.fold import RunState
    from dsec.events import Exit, Retry
    from dsec.plan import Plan

    Ends: TypeAlias = dict[tuple[str, int], Exit]

_COUNTED = {
    "failed": "{count} failed",
    "stopped": "{count} stopped",
    "dropped": "{count} dropped",
    "running": "{count} running",
    "cut_off": "{count} cut off",
}
_OF_THE_PLAN = frozenset(
    ("not-found", "not-executable", "no-folder", "timeout", "missing-output", "over-memory")
)
_SHELL_FOUND_NONE = 127


def may_lie_in_plan(cause: str, code: int | None) -> bool:
    """Whether the contract itself may be at fault; a run that is resumed says the same again."""
    return cause in _OF_THE_PLAN or (cause == "exit" and code == _SHELL_FOUND_NONE)


def counted(count: dict[str, int]) -> list[str]:
    """How many instances are what; nothing is said of none."""
    return [say(_COUNTED[name], count=count[name]) for name in _COUNTED if count[name]]


def retrying(state: RunState) -> dict[tuple[str, int], Retry]:
    """Of a living run: what waits for another attempt; none where a failure for good ends the run."""
    final = any(end.cause != "interrupted" and at not in state.retrying for at, end in state.failed.items())
    return {} if final and not state.sessions[-1].keep_going else state.retrying


def failed(state: RunState, *, alive: bool) -> Ends:
    """What failed for good: neither stopped with its run nor about to be tried again."""
    again = retrying(state) if alive else {}
    return {at: end for at, end in state.failed.items() if end.cause != "interrupted" and at not in again}


def stopped(state: RunState) -> Ends:
    """What was ended only because its run was."""
    return {at: end for at, end in state.failed.items() if end.cause == "interrupted"}


def told(plan: Plan, state: RunState, ends: Ends) -> list[dict[str, Any]]:
    """These ends as a report lists them."""
    timeouts = {step.id: step.timeout_ms for step in plan.steps} if ends else {}
    return [
        {
            "step": step,
            "iteration": iteration,
            "attempt": end.attempt,
            "cause": end.cause,
            "code": end.code,
            "signal": end.signal,
            "text": why(end, timeouts[step]),
            "log": state.logs.get((step, iteration), ""),
        }
        for (step, iteration), end in ends.items()
    ]


def dropped(state: RunState) -> list[dict[str, Any]]:
    """What the run did without, and why; `log` of the last attempt that failed, where one began."""
    return [
        {
            "step": step,
            "iteration": iteration,
            "text": say("was dropped: {reason}", reason=recorded(reason)),
            "log": state.logs.get((step, iteration), ""),
        }
        for (step, iteration), reason in state.dropped.items()
    ]


def running(state: RunState, now_us: int | None) -> list[dict[str, Any]]:
    """What a living run has running, `now_us` on its executor's clock; None: it does not live."""
    if now_us is None:
        return []
    return [
        {
            "step": one.step,
            "iteration": one.iteration,
            "attempt": one.attempt,
            "for_ms": max(0, now_us - one.at_us) // 1000,
        }
        for one in state.running.values()
    ]


def cut_off(state: RunState) -> list[dict[str, Any]]:
    """What had begun when the last executor was lost, and has no end."""
    return [
        {"step": one.step, "iteration": one.iteration, "attempt": one.attempt, "log": one.log}
        for one in state.running.values()
    ]
