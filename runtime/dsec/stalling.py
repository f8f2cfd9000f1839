"""What the executor does about an attempt that makes no progress: it says so, then the level decides."""

from __future__ import annotations

from dsec.core.stall import decision
from dsec.events import Notice
from dsec.outcomes import length

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dsec.attempts import Attempt
    from dsec.attention import Attention
    from dsec.events import Event
    from dsec.plan import Plan, PlannedStep
    from dsec.runner import Runner

_SUGGESTED = "NCCL_P2P_DISABLE=1"
_ASKED = "DSEC_STALL_REMEDY"
_STARTS_AGAIN = "it is ended and starts again"


def respond(told: dict[str, Any], attention: Attention, runner: Runner) -> None:
    """Act on a tell of the kind `stalled`; the stacks are saved by now."""
    attempt = runner.find(told["step"], told["iteration"], told["attempt"])
    if attempt is None or attempt.stopped:
        return
    saying = [_silence(told)]
    if told["first"]:
        saying.append(f"{told['first']} of {told['ranks']} stopped first")
    if told["kind"] == "stalled":
        saying += _decide(told, attempt, runner)
    for detail in saying:
        attention.notice("stalled", detail, step=attempt.step.id, iteration=attempt.iteration)
    if attempt.why:
        runner.stop(attempt, "stalled")


def _silence(told: dict[str, Any]) -> str:
    quiet, limit = (length(told[name] // 1_000_000 * 1000) for name in ("quiet_us", "limit_us"))
    works = "and nothing works" if told["kind"] == "stalled" else "though something works"
    return f"no sign of progress for {quiet}, {limit} is allowed, {works}: stacks are in {told['stacks']}"


def _decide(told: dict[str, Any], attempt: Attempt, runner: Runner) -> list[str]:
    """What there is to say of what becomes of it; `attempt.why` is set where it is to be ended."""
    level, known = attempt.step.level, told["known"]
    retries_left, droppable = runner.failing.prospects(attempt)
    what = decision(level, known=known, retries_left=retries_left, droppable=droppable)
    if what == "tell":
        return [_why_left(level, known=known)]
    folder = told["stacks"]
    first = f"{told['first']} of {told['ranks']} stopped first, " if told["first"] else ""
    attempt.why = f"{first}its stacks are in {folder}"
    if what == "drop":
        return ["it is ended: the run can do without it"]
    return [_STARTS_AGAIN, *_remedy(attempt, runner)]


def _why_left(level: str, *, known: bool) -> str:
    if level == "critical":
        return "it is critical, so it is left alone"
    if not known:
        return "how long it takes is not known, so it is left alone"
    return "it has no retries left, so it is left alone"


def asked_for(step: PlannedStep) -> dict[str, str]:
    """Variables that the contract asks for once the Step has stalled."""
    words = dict(step.env).get(_ASKED, "").split()
    return dict(word.split("=", 1) for word in words if "=" in word)


def remembered(plan: Plan, remarks: Iterable[Event]) -> dict[str, dict[str, str]]:
    """The same, of Steps that earlier executors of the run ended because they stalled."""
    ended = {
        one.step
        for one in remarks
        if isinstance(one, Notice) and one.kind == "stalled" and one.detail == _STARTS_AGAIN
    }
    return {step.id: asked for step in plan.steps if step.id in ended and (asked := asked_for(step))}


def _remedy(attempt: Attempt, runner: Runner) -> list[str]:
    """Do what the contract asks for; where it asks for nothing, suggest what has helped others."""
    step = attempt.step
    asked = asked_for(step)
    if asked:
        runner.remedies[step.id] = asked
        words = " ".join(f"{name}={value}" for name, value in asked.items())
        return [f"it starts again with {words}, as the contract asks"]
    if len(attempt.lease.devices) < 2:
        return []
    return [
        f"where GPUs wait for each other {_SUGGESTED} may mend it: {_ASKED} in its environment asks for that"
    ]
