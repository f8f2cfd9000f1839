"""Asks every check within its time: none may hang, and none may take the others along."""

from __future__ import annotations

import queue
import resource
import threading
import time
from subprocess import SubprocessError

from dsec.errors import DSecError
from dsec.record import Record
from dsec_cli.doctor.check import UNKNOWN, Answer
from dsec_cli.shortage import shortage
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
    ImportError,
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
    short: tuple[str, str] | None = None
    """What there was too little of to ask it, and how to have more: no fact of the machine."""


def examine(checks: Sequence[Check], host: Host) -> tuple[Examined, ...]:
    """All answers in the order of the checks; a check that is not done in time is left behind.

    Each has a thread; those that hang are daemons, which do not keep the process.
    """
    _ready()
    done: queue.SimpleQueue[tuple[int, Examined]] = queue.SimpleQueue()
    begun = time.monotonic()
    answers: dict[int, Examined] = {}
    for at, check in enumerate(checks):
        try:
            threading.Thread(target=_ask, args=(at, check, host, done), daemon=True).start()
        except (RuntimeError, MemoryError) as wrong:
            short = shortage(wrong)
            if short is None:
                raise
            answers[at] = _unasked(check, short)
    while len(answers) < len(checks):
        waiting = [check.budget_s for at, check in enumerate(checks) if at not in answers]
        left = begun + max(waiting) - time.monotonic()
        try:
            at, answers_it = done.get(timeout=max(0.0, left))
        except queue.Empty:
            break
        answers[at] = answers_it
    return tuple(answers.get(at) or _late(check) for at, check in enumerate(checks))


_LEAST_BYTES = 512 << 20


def _ready() -> None:
    """Raise DSecError where this process may have so little that its answers would be about that alone."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY and most < _LEAST_BYTES:
        raise DSecError(
            say("memory of this process is limited to {size} MiB (ulimit -v)", size=most >> 20),
            hint=say("raise the limit to {size} MiB or more: ulimit -v unlimited", size=_LEAST_BYTES >> 20),
        )


def _ask(at: int, check: Check, host: Host, done: queue.SimpleQueue[tuple[int, Examined]]) -> None:
    begun = time.monotonic()
    try:
        answer, short = check.look(host), None
    except _WRONG as wrong:
        short = shortage(wrong)
        answer = _failed(wrong) if short is None else _unasked(check, short).answer
    done.put((at, Examined(check, answer, int((time.monotonic() - begun) * 1000), short)))


def _unasked(check: Check, short: tuple[str, str]) -> Examined:
    answer = Answer(UNKNOWN, (say("could not be asked: {why}", why=short[0]),), short[1])
    return Examined(check, answer, 0, short)


def answered(check: Check, host: Host) -> Answer:
    """What a check says; one that fails says that."""
    try:
        return check.look(host)
    except _WRONG as wrong:
        return _failed(wrong)


def _failed(wrong: Exception) -> Answer:
    said = f"{type(wrong).__name__}: {wrong}"
    return Answer(UNKNOWN, (say("the check failed: {why}", why=said),))


def _late(check: Check) -> Examined:
    text = say("no answer within {span:g} s", span=check.budget_s)
    return Examined(check, Answer(UNKNOWN, (text,)), int(check.budget_s * 1000))
