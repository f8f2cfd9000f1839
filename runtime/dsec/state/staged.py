"""States copied into shared memory and written from there by a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from dsec.interpreter import import_path
from dsec.state.messages import readable, receive, send
from dsec.state.staging import Slot, copy_in
from dsec.state.writer import message_of, result_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.state.layout import Layout
    from dsec.state.writing import Result, Wish

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from dsec.state.writer import main; main(int(sys.argv[2]), (int(sys.argv[3]), int(sys.argv[4])))"
)
_END_S = 30.0


class Staged:
    """Two buffers in turn: one holds the state before, for the next to be compared with."""

    name = "staging"

    def __init__(self, threads: int, slots: tuple[Slot, Slot]) -> None:
        """`threads`: how many copy at once."""
        self._threads = threads
        self._slots = slots
        self._base: int | None = None
        self._taken = 0
        self._writer: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    def prepare(self, nbytes: int) -> None:
        """Have the memory at hand, and the writer started."""
        for slot in self._slots:
            slot.fit(nbytes)
            slot.fault_in()
        self._start()

    def take(self, layout: Layout, wish: Wish) -> None:
        """Copy the state and have it written; raises OSError."""
        self._start()
        self._taken = 0 if self._base is None else 1 - self._base
        copy_in(layout, self._slots[self._taken].fit(layout.nbytes), threads=self._threads)
        assert self._link is not None
        try:
            send(self._link, message_of(wish, self._taken, layout.nbytes))
        except OSError:
            return  # the writer is gone: `poll` finds that out and says so

    def _start(self) -> None:
        if self._writer is not None and self._writer.poll() is None:
            return
        self._stop()
        mine, theirs = socket.socketpair()
        handles = [theirs.fileno(), *(slot.handle for slot in self._slots)]
        with theirs:
            self._writer = subprocess.Popen(
                [sys.executable, "-I", "-c", _CODE, _ROOT, *map(str, handles)],
                stdin=subprocess.DEVNULL,
                pass_fds=handles,
                start_new_session=True,  # a terminal's Ctrl-C must not cut a write short
            )
        self._link = mine
        send(mine, {"path": import_path()})

    def poll(self, timeout_s: float | None) -> tuple[Result | None, str] | None:
        """The result or the problem of the last state taken; None: not yet."""
        assert self._link is not None
        if timeout_s is not None and not readable(self._link, timeout_s):
            return None
        answer = receive(self._link)
        if answer is None:
            self._stop()
            self._base = None
            return None, "the process that writes states was ended before it had written this one"
        if "problem" in answer:
            return None, answer["problem"]
        self._base = self._taken
        return result_of(answer), ""

    def _stop(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._writer is not None:
            try:
                self._writer.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._writer.kill()
                self._writer.wait()
            self._writer = None
            self._base = None

    def close(self) -> None:
        """End the writer and give the memory back."""
        self._stop()
        for slot in self._slots:
            slot.close()
