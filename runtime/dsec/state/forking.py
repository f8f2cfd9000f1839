"""States held still by forking: the child has every page as it was, and writes them."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import warnings

from dsec.state.layout import Layout, Source, views
from dsec.state.messages import readable, receive, send
from dsec.state.staging import Slot, copy_in
from dsec.state.writer import base_of, result_of, said, told
from dsec.state.writing import Base, Result, Wish, write_state

_NEEDED = ("numpy", "zstandard", "blake3", "dsec.state.encoding", "dsec.state.quantising", "fnmatch")
_NICE = 5


class Forked:
    """One buffer, which holds the state before; a child is forked for every save."""

    name = "fork"

    def __init__(self) -> None:
        for name in _NEEDED:  # a child must import nothing: another thread might have held the lock
            try:
                importlib.import_module(name)
            except ImportError:
                continue
        self._slot = Slot()
        self._base: Base | None = None
        self._wish: Wish | None = None
        self._nbytes = 0
        self._child = 0
        self._link: socket.socket | None = None

    def prepare(self, nbytes: int) -> None:
        """Have the memory of the state before at hand."""
        self._slot.fit(nbytes)
        self._slot.fault_in()

    def take(self, layout: Layout, wish: Wish) -> None:
        """Fork a child that has the state as it is now; raises OSError."""
        buffer = self._slot.fit(layout.nbytes)
        mine, theirs = socket.socketpair()
        with warnings.catch_warnings():
            # Python warns of threads in a process that forks; `chosen` has looked at them already.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _write(layout, wish, self._base, buffer, theirs)
        theirs.close()
        self._child, self._link, self._wish, self._nbytes = child, mine, wish, layout.nbytes

    def poll(self, timeout_s: float | None) -> tuple[Result | None, str] | None:
        """The result or the problem of the last state taken; None: not yet."""
        assert self._link is not None
        assert self._wish is not None
        if timeout_s is not None and not readable(self._link, timeout_s):
            return None
        answer = receive(self._link)
        self._reap()
        if answer is None:
            self._base = None  # its buffer may have been half overwritten
            return None, "the process that writes states was ended before it had written this one"
        if "problem" in answer:
            return None, answer["problem"]
        result = result_of(answer)
        buffer = self._slot.fit(self._nbytes)
        self._base = base_of(result, self._wish.placed, views(self._wish.placed, buffer))
        return result, ""

    def _reap(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._child:
            with contextlib.suppress(ChildProcessError):  # somebody else waits for all children
                os.waitpid(self._child, 0)
            self._child = 0

    def close(self) -> None:
        """Give the memory back."""
        self._reap()
        self._base = None
        self._slot.close()


def _write(layout: Layout, wish: Wish, base: Base | None, buffer: memoryview, link: socket.socket) -> None:
    """The child: write the state, make it the one to compare with, say so, and end."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.nice(_NICE)
        try:
            result = write_state(
                wish, {one.placed.name: _bytes(one) for one in layout.sources if not one.placed.alias}, base
            )
            copy_in(layout, buffer, threads=1)
            answer = told(result)
        except (OSError, MemoryError) as problem:
            answer = {"problem": said(problem, wish.folder)}
        send(link, answer)
        code = 0
    finally:
        os._exit(code)  # nothing of the training's own exit is the child's business


def _bytes(source: Source) -> memoryview:
    """A tensor's bytes where they lie; one that is not contiguous is copied together."""
    array = source.array
    if isinstance(array, memoryview):
        return array
    flat = array if array.flags.c_contiguous else array.copy(order="C")
    return memoryview(flat.reshape(-1).view("u1"))
