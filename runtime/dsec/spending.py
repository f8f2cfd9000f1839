"""What the executor does when the GPU-hours of the contract are used up: it says so, or ends the run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.attention import Attention
    from dsec.runner import Runner

ENDED = "max_gpu_hours is used up: "
"""How the reason of a run begins that was ended for it."""
_DETAILS = {
    "warn": "{used} of {most} GPU-hours are used, and by its progress the run will take {expected}",
    "nearly": "{used} of {most} GPU-hours are used, but by its progress the run is nearly done: it goes on",
    "unknown": "{used} of {most} GPU-hours are used, and how far the run is is not known: it goes on",
    "again": "{used} of {most} GPU-hours are used; the run was resumed all the same: it goes on",
    "stop": ENDED + "{used} of {most} GPU-hours, and by its progress the run would take {expected}",
}


def respond(told: dict[str, Any], attention: Attention, runner: Runner) -> None:
    """Act on a tell of the kind `budget`; a run with nothing left to do is neither ended nor blamed."""
    if runner.complete:
        return
    detail = line(told)
    attention.notice("budget", detail)
    if told["word"] == "stop":
        runner.give_up(detail)


def line(told: dict[str, Any]) -> str:
    """The tell in words."""
    expected = told["expected_us"]
    return _DETAILS[told["word"]].format(
        used=_hours(told["used_us"]),
        most=_hours(told["most_us"]),
        expected="an unknown time" if expected is None else _hours(expected),
    )


def _hours(time_us: int) -> str:
    hours = time_us / 3_600_000_000
    return f"{hours:.2f}" if hours >= 1 else f"{hours:.4f}"
