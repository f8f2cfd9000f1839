"""Which checks are meant by words, and what their answers mean for the exit code."""

from __future__ import annotations

from dsec_cli.doctor.check import ABSENT, PROBLEM, UNKNOWN
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.exit import UNKNOWN as NOT_FOUND_OUT
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.doctor.check import Check
    from dsec_cli.doctor.examining import Examined


def chosen(checks: Sequence[Check], text: str | None) -> frozenset[str]:
    """Names of the checks that the words of `text` mean; raises UsageError for an unknown word."""
    if text is None:
        return frozenset()
    found: set[str] = set()
    words = [part.strip() for part in text.split(",") if part.strip()]
    if not words:
        raise UsageError(say("no check is named"), hint="--only disk, --require gpu,landlock")
    for word in words:
        meant = {check.name for check in checks if word == check.name or word in check.words}
        if not meant:
            known = [name for check in checks for name in (check.name, *check.words)]
            raise UsageError(say("there is no check {word!r}", word=word), hint=did_you_mean(word, known))
        found |= meant
    return frozenset(found)


def code_of(found: Sequence[Examined], required: frozenset[str]) -> int:
    """1 for a problem or something required that is not here, 3 for something required that is unknown."""
    states = {one.check.name: one.answer.status for one in found}
    if PROBLEM in states.values() or any(states.get(name, ABSENT) == ABSENT for name in required):
        return NO
    return NOT_FOUND_OUT if any(states[name] == UNKNOWN for name in required) else YES
