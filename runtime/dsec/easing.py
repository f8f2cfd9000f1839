"""What the executor does about memory: it passes forecasts on, asks workers for some, ends an offender."""

from __future__ import annotations

from dsec.core.stall import decision
from dsec.outcomes import length

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.attention import Attention
    from dsec.runner import Runner

_MINUTE_MS = 60_000


def respond(told: dict[str, Any], attention: Attention, runner: Runner) -> None:
    """Act on a tell of the kind `forecast`, `over-baseline` or `scarce`."""
    kind = told["tell"]
    if kind == "forecast":
        where = {"step": told["step"], "iteration": told["iteration"], "device": told["device"]}
        attention.notice("forecast", forecast_line(told), **where)
    elif kind == "over-baseline":
        _ask_back(told, attention, runner)
    elif kind == "scarce":
        _relieve(told, attention, runner)


def forecast_line(told: dict[str, Any]) -> str:
    """The forecast as one line."""
    what = "GPU memory" if told["device"] else "main memory"
    owner = {
        (True, "states"): "that it states",
        (False, "states"): "that it states",
        (True, "has"): "that the GPU has for it",
        (False, "has"): "that this machine has for it",
    }[bool(told["device"]), told["whose"]]
    if told["unit"] == "execution":
        rate, ahead = f"{size(told['slope'] // 1000)} an execution", f"{told['ahead']} executions"
    else:
        rate = f"{size(told['slope'] * _MINUTE_MS // 1000)} a minute"
        ahead = length(max(1, round(told["ahead"] / 1000)) * 1000)
    return f"{what} grows by {rate}: it reaches the {size(told['limit'])} {owner} in about {ahead}"


def size(count: int) -> str:
    """Bytes for people: `40 GiB`, `12.5 MiB`."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{round(count / unit, 1):g} {name}"
    return f"{count} B"


def _ask_back(told: dict[str, Any], attention: Attention, runner: Runner) -> None:
    held, stated = size(told["held"]), size(told["stated"])
    asked = bool(told["worker"]) and runner.ask_worker(told["worker"], "empty_cache")
    what = "its worker is asked to empty its cache" if asked else "it is no worker that could be asked"
    detail = f"it holds {held} of GPU memory and states {stated}: {what}"
    where = {"step": told["step"], "iteration": told["iteration"], "device": told["device"]}
    attention.notice("over-baseline", detail, **where)


def _relieve(told: dict[str, Any], attention: Attention, runner: Runner) -> None:
    """A machine is about to end somebody: better who exceeds its own statement, by its level."""
    left, device = size(told["left"]), told["device"]
    place = "the GPU has" if device else "this machine has"
    what = "memory" if device else "main memory"
    attempt = runner.find(told["step"], told["iteration"], told["attempt"])
    if attempt is None:
        detail = f"{place} {left} of {what} left, and no Step exceeds what it states"
        attention.notice("over-memory", detail, device=device)
        return
    held, stated = size(told["held_bytes"]), size(told["stated_bytes"])
    detail = f"{place} {left} of {what} left: it holds {held} and states {stated}"
    attention.notice("over-memory", detail, step=attempt.step.id, iteration=attempt.iteration, device=device)
    if attempt.stopped:
        return
    retries_left, droppable = runner.failing.prospects(attempt)
    if decision(attempt.step.level, known=True, retries_left=retries_left, droppable=droppable) == "tell":
        return
    attempt.why = f"its processes held {held}, it states {stated}"
    runner.stop(attempt, "over-memory")
