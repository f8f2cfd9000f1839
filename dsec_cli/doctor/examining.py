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
    threads: list[threading.Thread] = []
    answers: dict[int, Examined] = {}
    for at, check in enumerate(checks):
        thread = threading.Thread(target=_ask, args=(at, check, host, done), daemon=True)
        threads.append(thread)
        while (short := _no_room(thread)) is not None:
            # Where there is no room for another thread, there is once an earlier one has ended.
            found = _next(done, _ROOM_S) if len(answers) < at else None
            if found is None:
                answers[at] = _unasked(check, short)
                break
            answers[found[0]] = found[1]
            threads[found[0]].join(_ROOM_S)
    while len(answers) < len(checks):
        waiting = [check.budget_s for at, check in enumerate(checks) if at not in answers]
        found = _next(done, begun + max(waiting) - time.monotonic())
        if found is None:
            break
        answers[found[0]] = found[1]
    return tuple(answers.get(at) or _late(check) for at, check in enumerate(checks))


_ROOM_S = 3.0
"""How long is waited for a check to end where no other one can begin beside it."""


def _no_room(thread: threading.Thread) -> tuple[str, str] | None:
    """Start it; what stands in the way, in words and with what helps."""
    try:
        thread.start()
    except (RuntimeError, MemoryError) as wrong:
        short = shortage(wrong)
        if short is None:
            raise
        return short
    return None


def _next(done: queue.SimpleQueue[tuple[int, Examined]], timeout_s: float) -> tuple[int, Examined] | None:
    try:
        return done.get(timeout=max(0.0, timeout_s))
    except queue.Empty:
        return None


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
