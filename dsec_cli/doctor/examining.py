"""Asks every check within its time: none may hang, and none may take the others along."""

from __future__ import annotations

import queue
import threading
import time
from subprocess import SubprocessError

from dsec.errors import DSecError
from dsec.record import Record
from dsec_cli.doctor.check import UNKNOWN, Answer
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.doctor.check import Check
    from dsec_cli.doctor.host import Host


_WRONG = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    DSecError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SubprocessError,
    TypeError,
    ValueError,
)
"""What a check may meet on a machine that nobody foresaw."""


class Examined(Record):
    """One check with its answer and the time it took."""

    check: Check
    answer: Answer
    took_ms: int


def examine(checks: Sequence[Check], host: Host) -> tuple[Examined, ...]:
    """All answers in the order of the checks; a check that is not done in time is left behind.

    Each has a thread; those that hang are daemons, which do not keep the process.
    """
    done: queue.SimpleQueue[tuple[int, Answer, int]] = queue.SimpleQueue()
    begun = time.monotonic()
    for at, check in enumerate(checks):
        threading.Thread(target=_ask, args=(at, check, host, done), daemon=True).start()
    answers: dict[int, Examined] = {}
    while len(answers) < len(checks):
        waiting = [check.budget_s for at, check in enumerate(checks) if at not in answers]
        left = begun + max(waiting) - time.monotonic()
        try:
            at, answer, took = done.get(timeout=max(0.0, left))
        except queue.Empty:
            break
        answers[at] = Examined(checks[at], answer, took)
    return tuple(answers.get(at) or _late(check) for at, check in enumerate(checks))


def _ask(at: int, check: Check, host: Host, done: queue.SimpleQueue[tuple[int, Answer, int]]) -> None:
    begun = time.monotonic()
    answer = answered(check, host)
    done.put((at, answer, int((time.monotonic() - begun) * 1000)))


def answered(check: Check, host: Host) -> Answer:
    """What a check says; one that fails says that."""
    try:
        return check.look(host)
    except _WRONG as wrong:
        said = f"{type(wrong).__name__}: {wrong}"
        return Answer(UNKNOWN, (say("the check failed: {why}", why=said),))


def _late(check: Check) -> Examined:
    text = say("no answer within {span:g} s", span=check.budget_s)
    return Examined(check, Answer(UNKNOWN, (text,)), int(check.budget_s * 1000))
