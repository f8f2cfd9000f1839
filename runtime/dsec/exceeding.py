"""What the executor does when an attempt holds more memory than its Step states."""

from __future__ import annotations

from dsec.core.overuse import enforced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.attention import Attention
    from dsec.runner import Runner


def respond(told: dict[str, Any], attention: Attention, runner: Runner) -> None:
    """End the attempt, unless its Step is critical: then say it only."""
    attempt = runner.find(told["step"], told["iteration"], told["attempt"])
    if attempt is None or attempt.stopped:
        return
    detail = f"its processes held {_size(told['held'])}, it states {_size(told['limit'])}"
    attention.notice("over-memory", detail, step=told["step"], iteration=told["iteration"])
    if enforced(attempt.step):
        attempt.why = detail
        runner.stop(attempt, "over-memory")


def _size(count: int) -> str:
    return f"{count / 2**20:.0f} MiB"
