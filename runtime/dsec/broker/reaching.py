"""A run's way to its broker: found where there is one, started where there is none.

Who is elected and takes all GPUs begins at once, and starts the broker a moment later, when its first
Steps run: nobody else needs it sooner, because the socket listens already.
"""

from __future__ import annotations

import contextlib
import os

from dsec.broker import place, register
from dsec.broker.firstcome import first
from dsec.sweep import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence

    from dsec.processes import Children
    from dsec.rundir import RunDir

REACH_S = 5.0
"""For how long a broker is looked for."""
_FIRST_S, _MOST_S = 0.01, 0.5
"""Between two looks."""
_START_S = 0.25
"""For how long the first Steps have the machine to themselves."""


class Reaching:
    """Looks for the broker, again and again until there is one or the time is over."""

    def __init__(
        self,
        run: RunDir,
        children: Children,
        *,
        environ: Mapping[bytes, bytes],
        found: Callable[[socket.socket], None],
        failed: Callable[[str], None],
    ) -> None:
        """`found` gets a connection, `failed` why there is none."""
        self._run = run
        self._children = children
        self._loop = children.loop
        self._environ = environ
        self._found, self._failed = found, failed
        self._elected: place.Elected | None = None
        """This run is to start a broker, and has not yet."""
        self._seeks = False
        self._until = self._wait = 0.0
        self.folder = ""

    def seek(self, devices: Sequence[str] = ()) -> bool:
        """Look now; whether all `devices` are this run's at once, because nobody else is there."""
        self._seeks, self._until, self._wait = True, self._loop.now() + REACH_S, _FIRST_S
        try:
            self.folder = place.folder(self._environ)
        except OSError as problem:
            self._give_up(f"{problem.filename}: {problem.strerror}")
            return False
        return self._look(devices)

    def seek_again(self, *, anew: bool) -> None:
        """Look soon; `anew`: for as long as the first time, else for what is left of that."""
        self._seeks = True
        if anew:
            self._until, self._wait = self._loop.now() + REACH_S, _FIRST_S
        self._later()

    def _look(self, devices: Sequence[str] = ()) -> bool:
        if not self._seeks or self._elected is not None:
            return False
        sock, why = None, "there is no broker, and none could be started"
        try:
            self.folder = place.folder(self._environ)  # an ending broker may just have removed it
            sock = place.connect(self.folder)
            self._elected = place.elect(self.folder) if sock is None else None
        except OSError as problem:
            why = f"{problem.filename or self.folder}: {problem.strerror}"
        if self._elected is not None:
            return self._take(self._elected, devices)
        if sock is not None:
            self._seeks = False
            self._found(sock)
        elif self._loop.now() >= self._until:
            self._give_up(why)
        else:
            self._later()
        return False

    def _take(self, elected: place.Elected, devices: Sequence[str]) -> bool:
        taken = bool(devices) and first(self._run, self.folder, elected, devices)
        if taken:
            self._loop.at(self._loop.now() + _START_S, self._start)
        else:
            self._start()
        return taken

    def _start(self) -> None:
        """Start the broker that this run was elected to start."""
        elected, self._elected = self._elected, None
        if elected is None:
            return
        try:
            pid = place.spawn(self.folder, elected, self._environ)
        except OSError:
            self._later()  # the lock is free again
            return
        self._children.spare(pid)
        self._loop.on_end(pid, lambda *_: None)  # it is to be collected, nothing else
        self._look()

    def _later(self) -> None:
        self._loop.at(self._loop.now() + self._wait, self._again)
        self._wait = min(self._wait * 2, _MOST_S)

    def _again(self) -> None:
        self._look()

    def _give_up(self, why: str) -> None:
        self._seeks = False
        self._failed(why)

    def stop(self, *, clean: bool) -> None:
        """Look no longer; `clean`: nothing of the run is left, and no broker that would see to it."""
        self._seeks = False
        elected, self._elected = self._elected, None
        if elected is None:
            return
        if clean:
            with contextlib.suppress(OSError):
                register.save(f"{self.folder}/{place.LEASES}", (), boot=boot_id())
            place.tidy(self.folder)
        for fd in elected:
            os.close(fd)
