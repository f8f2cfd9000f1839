"""Whether anything is left of a run that went without a word: its executor, its warden, its processes."""

from __future__ import annotations

from dsec import sweep
from dsec.warden import living, name_of, wardens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.broker.desk import Who

_FIRST_S = 0.05
_MOST_S = 1.0
_TIMES = 3
"""A process that forks and dies while /proc is being listed hides its child: nobody is found so often."""


class Leftovers:
    """Looks at one run again and again, ever more rarely."""

    def __init__(self, who: Who, now_s: float) -> None:
        self._who = who
        self.due_s = now_s
        self._wait_s = _FIRST_S
        self._empty = 0

    def look(self, now_s: float) -> bool:
        """Whether nothing is left."""
        if self._any_left():
            self._empty = 0
            self._wait_s = min(self._wait_s * 1.5, _MOST_S)
        else:
            self._empty += 1
            self._wait_s = _FIRST_S
        self.due_s = now_s + self._wait_s
        return self._empty >= _TIMES

    def _any_left(self) -> bool:
        if lives(self._who.pid, self._who.ticks):
            return True
        who = self._who
        last = name_of(who.pid, who.ticks)
        # While its warden waits or works it has not ended yet what is hard to find.
        return bool(
            living(who.job, who.path, last=last, sessions=(), spare=())
            or wardens(who.job, who.path, executor=last)
        )


def lives(pid: int, ticks: int) -> bool:
    """Whether that process is there."""
    found = sweep.look(pid)
    return found is not None and found.ticks == ticks and not found.zombie
