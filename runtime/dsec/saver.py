"""Lets one attempt save its state: asks the processes that said they can, or runs its command."""

from __future__ import annotations

from dsec import sweep
from dsec.onsave import SIGNAL, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec.loop import Loop
    from dsec.processes import Child, Children, Launch

_LOOK_S = 0.01


class Saver:
    """One attempt's saving; what it comes to is told once, unless it is cancelled."""

    def __init__(self, path: str, loop: Loop) -> None:
        """`path`: where its processes say that they can save, and that they have."""
        self._path = path
        self._loop = loop
        self._asked: set[tuple[int, int]] = set()
        self._until = 0.0
        self._told: Callable[[bool], None] | None = None
        self._child: Child | None = None
        self._children: Children | None = None

    def ready(self) -> set[tuple[int, int]]:
        """Living processes that can save, by pid and start time."""
        every, _ = read(self._path)
        return {one for one in every if (seen := sweep.look(one[0])) is not None and seen.ticks == one[1]}

    def all_saved(self) -> bool:
        """Whether all that were asked have saved."""
        if self._child is not None:
            ended = self._child.ended
            return ended is not None and ended.code == 0
        return bool(self._asked) and self._asked <= read(self._path)[1]

    def ask(self, grace_s: float, told: Callable[[bool], None]) -> None:
        """Ask those that are ready; `told` is called when all have saved (True) or the grace is over."""
        self._asked, self._told = self.ready(), told
        self._until = self._loop.now() + grace_s
        for pid, ticks in self._asked:
            sweep.send(sweep.Process(pid, ticks, 0, 0, zombie=False), SIGNAL)
        self._look()

    def _look(self) -> None:
        if self._told is None:
            return
        if self.all_saved():
            self._tell(ok=True)
        elif self._loop.now() >= self._until:
            self._tell(ok=False)
        else:
            self._loop.at(min(self._until, self._loop.now() + _LOOK_S), self._look)

    def run(self, launch: Launch, children: Children, grace_s: float, told: Callable[[bool], None]) -> None:
        """Start the command that saves; exit code 0 within the grace: the state is saved."""
        self._told, self._children = told, children
        try:
            self._child = children.start(launch, on_gone=lambda child: self._left(child))
        except OSError:
            self._loop.at(0.0, lambda: self._tell(ok=False))
            return
        self._loop.at(self._loop.now() + grace_s, self._too_late)

    def _left(self, child: Child) -> None:
        self._tell(ok=child.ended is not None and child.ended.code == 0)

    def _too_late(self) -> None:
        if self._told is not None and self._child is not None and self._children is not None:
            self._children.stop(self._child, grace_s=0.0)
            self._tell(ok=False)

    def _tell(self, *, ok: bool) -> None:
        told, self._told = self._told, None
        if told is not None:
            told(ok)

    def cancel(self) -> None:
        """Nobody wants to know any more."""
        self._told = None
        if self._child is not None and self._child.ended is None and self._children is not None:
            self._children.stop(self._child, grace_s=0.0)
