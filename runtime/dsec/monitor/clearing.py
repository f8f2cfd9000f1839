"""Whether a device is free of an attempt that ended: the driver lets go later than the kernel."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsec.monitor.scene import Tell

DIRTY_AFTER_S = 10.0
"""How long a device may take until it is said to be dirty."""


class Question(Record):
    """The executor wants to give these devices away."""

    token: int
    devices: tuple[str, ...]
    pids: frozenset[int]
    """Processes that the attempt had."""
    asked_s: float


class Clearing:
    """Keeps the questions that are open."""

    def __init__(self) -> None:
        self._open: dict[int, Question] = {}
        self._dirty: set[int] = set()

    @property
    def pending(self) -> bool:
        """Whether a question is open."""
        return bool(self._open)

    def ask(self, question: Question) -> None:
        """Take a question up."""
        self._open[question.token] = question

    def look(self, now_s: float, held: Callable[[str], Mapping[int, int | None] | None]) -> list[Tell]:
        """Answers to what can be answered; `held`: who holds a device, None: the driver does not say."""
        told: list[Tell] = []
        for question in list(self._open.values()):
            left = _left(question, held)
            if not left:
                del self._open[question.token]
                self._dirty.discard(question.token)
                told.append({"tell": "clear", "token": question.token})
            elif now_s - question.asked_s >= DIRTY_AFTER_S and question.token not in self._dirty:
                self._dirty.add(question.token)
                device, pid = left
                told.append({"tell": "dirty", "token": question.token, "device": device, "pid": pid})
        return told


def _left(
    question: Question, held: Callable[[str], Mapping[int, int | None] | None]
) -> tuple[str, int] | None:
    """A device and a process of the attempt that still holds it."""
    for device in question.devices:
        mine = sorted(question.pids & set(held(device) or ()))
        if mine:
            return device, mine[0]
    return None
