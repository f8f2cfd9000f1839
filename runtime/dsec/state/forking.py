"""States held still by forking: the child has every page as it was, and copies or writes them.

Until it has let go of a page, the training pays for a copy of it when it changes it: so where memory is
no matter the child first copies the state, which takes a fraction of the time of writing it.
"""

from __future__ import annotations

import contextlib
import importlib
import mmap
import os
import signal
import socket
import warnings

from dsec.state.layout import Layout, Source, views
from dsec.state.messages import readable, receive, send
from dsec.state.staging import Slot, copy_in
from dsec.state.writer import base_of, result_of, said, told
from dsec.state.writing import Base, Result, Wish, write_state

_NEEDED = (
    "numpy",
    "zstandard",
    "blake3",
    "dsec.state.encoding",
    "dsec.state.quantising",
    "fnmatch",
    "ctypes",
)
_NICE = 5


class Forked:
    """A child is forked for every save.

    Of two buffers one holds the state before and one the copy; where there is one alone, it holds the
    state before, and the child writes from the training's pages.
    """

    name = "fork"

    def __init__(self, threads: int, slots: tuple[Slot, ...]) -> None:
        """`threads`: how many copy at once; `slots`: one or two."""
        self._threads = threads if len(slots) > 1 else 0
        for name in _NEEDED:  # a child must import nothing: another thread might have held the lock
            try:
                importlib.import_module(name)
            except ImportError:
                continue
        self._slots = slots
        self._held = self._taken = 0
        """Which of them holds the state before, and which is for the one that is taken."""
        self._base: Base | None = None
        self._wish: Wish | None = None
        self._nbytes = 0
        self._child = 0
        self._link: socket.socket | None = None

    def prepare(self, nbytes: int) -> None:
        """Have the memory at hand."""
        for slot in self._slots:
            slot.fit(nbytes)
            slot.fault_in()

    def take(self, layout: Layout, wish: Wish) -> None:
        """Fork a child that has the state as it is now; raises OSError."""
        self._taken = (self._held + 1) % len(self._slots)
        slot = self._slots[self._taken]
        slot.fit(layout.nbytes)
        mine, theirs = socket.socketpair()
        child = forked()
        if child == 0:
            _serve(layout, wish, self._base, slot, theirs, threads=self._threads)
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
            if len(self._slots) == 1:
                self._base = None  # its buffer may have been half overwritten
            return None, "the process that writes states was ended before it had written this one"
        if "problem" in answer:
            return None, answer["problem"]
        result = result_of(answer)
        self._held = self._taken
        buffer = self._slots[self._held].fit(self._nbytes)
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
        for slot in self._slots:
            slot.close()


def forked() -> int:
    """`os.fork` without Python's warning of threads: whoever chose this way has looked at them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _serve(
    layout: Layout, wish: Wish, base: Base | None, slot: Slot, link: socket.socket, *, threads: int
) -> None:
    """The child: write the state, make it the one to compare with, say so, and end.

    `threads`: so many copy it first; 0: there is no room for that.
    """
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            buffer = slot.fit(layout.nbytes)
            if threads:  # at the training's own priority: it may be waiting for its pages
                slot.fault_in()  # at once; a fork leaves it to its child to find each page of the slot
                copy_in(layout, buffer, threads=threads)
                _let_go(layout)
            os.nice(_NICE)
            result = _written(layout, wish, base, buffer, apart=bool(threads))
            answer = told(result)
        except (OSError, MemoryError) as problem:
            answer = {"problem": said(problem, wish.folder)}
        send(link, answer)
        code = 0
    finally:
        os._exit(code)  # nothing of the training's own exit is the child's business


def _written(layout: Layout, wish: Wish, base: Base | None, buffer: memoryview, *, apart: bool) -> Result:
    if apart:
        return write_state(wish, views(wish.placed, buffer), base)
    result = write_state(
        wish, {one.placed.name: _bytes(one) for one in layout.sources if not one.placed.alias}, base
    )
    copy_in(layout, buffer, threads=1)
    return result


def _let_go(layout: Layout) -> None:
    """Give the tensors' pages up: the training has them alone again, and this process reads zeros there."""
    import ctypes

    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for source in layout.sources:
        if source.device or isinstance(source.array, memoryview):
            continue
        if source.array.flags.c_contiguous:
            begin = source.array.__array_interface__["data"][0]
            first, end = -(-begin // mmap.PAGESIZE), (begin + source.placed.nbytes) // mmap.PAGESIZE
            if end > first:
                madvise(first * mmap.PAGESIZE, (end - first) * mmap.PAGESIZE, mmap.MADV_DONTNEED)


def _bytes(source: Source) -> memoryview:
    """A tensor's bytes where they lie; one that is not contiguous is copied together."""
    array = source.array
    if source.device:
        whole = memoryview(bytearray(source.placed.nbytes))
        copy_in(
            Layout((source._replace(placed=source.placed._replace(offset=0)),), len(whole), 0),
            whole,
            threads=1,
        )
        return whole
    if isinstance(array, memoryview):
        return array
    flat = array if array.flags.c_contiguous else array.copy(order="C")
    return memoryview(flat.reshape(-1).view("u1"))
