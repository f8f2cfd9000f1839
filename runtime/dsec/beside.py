"""A process beside a run, started anew when it dies: the run never waits for it, and goes on without it."""

from __future__ import annotations

import os

from dsec.events import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from dsec.loop import Loop
    from dsec.processes import Children
    from dsec.recorder import Recorder
else:
    Protocol = object

_PAUSE_S = 1.0


class Beside(Protocol):
    """What can be started."""

    what: str
    """What people miss without it, such as `metrics`."""
    after_s: float
    """When it is started, from the beginning of the run; 0: it runs already."""

    def pid(self) -> int:
        """The process that was started last; 0: there is none."""

    def again(self) -> int:
        """Start it anew; its process, 0 where that is given up."""


class Keeper:
    """Looks after one of them."""

    def __init__(self, beside: Beside, loop: Loop, children: Children, recorder: Recorder) -> None:
        self._beside = beside
        self._loop = loop
        self._children = children
        self._recorder = recorder
        self._watch(beside.pid())
        if beside.after_s:
            loop.at(loop.now() + beside.after_s, lambda: self._watch(beside.again()))

    def _watch(self, pid: int) -> None:
        if pid:
            self._children.spare(pid)
            self._loop.on_end(pid, self._gone)

    def _gone(self, pid: int, status: int, usage: object) -> None:  # noqa: ARG002  # as the loop has it
        code = os.waitstatus_to_exitcode(status)
        how = f"it was killed by signal {-code}" if code < 0 else f"it exited with code {code}"
        self._loop.at(self._loop.now() + _PAUSE_S, lambda: self._again(how))

    def _again(self, how: str) -> None:
        pid = self._beside.again()
        if not pid:
            detail = f"this run goes on without {self._beside.what}: {how}"
            self._recorder.emit(Notice(self._recorder.at_us(), "unwatched", "", -1, "", detail))
        self._watch(pid)
