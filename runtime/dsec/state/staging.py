"""Memory that two processes share: the copy of a state that is written while training goes on."""

from __future__ import annotations

import mmap
import os
import sys

from dsec.state.layout import Layout, Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHUNK_BYTES = 8 << 20
_POPULATE_WRITE = 23
"""madvise(2), Linux 5.14."""


class Slot:
    """A piece of shared memory that grows when it must; the other process opens the same descriptor."""

    def __init__(self, handle: int | None = None) -> None:
        """`handle`: of a slot that another process made; None: a new one. Raises OSError."""
        self.handle = os.memfd_create("dsec-state", os.MFD_CLOEXEC) if handle is None else handle
        self.size = 0
        self.map: mmap.mmap | None = None

    def fit(self, nbytes: int) -> memoryview:
        """The first so many bytes; raises OSError (no memory left)."""
        if nbytes > self.size or self.map is None:
            self._grow(max(nbytes, mmap.PAGESIZE))
        assert self.map is not None
        return memoryview(self.map)[:nbytes]

    def _grow(self, nbytes: int) -> None:
        size = nbytes + -nbytes % mmap.PAGESIZE
        if os.fstat(self.handle).st_size < size:
            os.ftruncate(self.handle, size)
        self.map = mmap.mmap(self.handle, size)  # the old one goes when its last view does
        self.size = size

    def fault_in(self) -> None:
        """Touch every page now and not in the first save's pause; a kernel that cannot does nothing."""
        import ctypes

        if self.map is None:
            return
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(self.size), _POPULATE_WRITE)

    def close(self) -> None:
        """Give the memory back."""
        self.map = None
        os.close(self.handle)


def copy_in(layout: Layout, into: memoryview, *, threads: int) -> None:
    """Copy every tensor to its place; what two threads do at once is done in half the time."""
    jobs = [job for source in layout.sources if not source.placed.alias for job in _jobs(source, into)]
    if threads < 2 or layout.tracked < 2 * CHUNK_BYTES:
        for job in jobs:
            job.run()
        return
    import threading

    left = iter(jobs)  # taken from under Python's lock, so each job by one thread
    problems: list[Exception] = []

    def work() -> None:
        try:
            for job in left:
                job.run()
        except (MemoryError, RuntimeError, TypeError, ValueError) as problem:  # numpy's and torch's
            problems.append(problem)

    others = [threading.Thread(target=work, daemon=True) for _ in range(threads - 1)]
    for one in others:
        one.start()
    work()
    for one in others:
        one.join()
    if problems:
        raise problems[0]


class _Job:
    """One piece of memory to copy."""

    __slots__ = ("into", "source", "tensor")

    def __init__(self, source: Any, into: Any, *, tensor: bool = False) -> None:
        self.source, self.into, self.tensor = source, into, tensor

    def run(self) -> None:
        if self.tensor:
            self.into.copy_(self.source)
        elif isinstance(self.into, memoryview):
            self.into[:] = self.source
        else:
            self.into[...] = self.source  # numpy copies with Python's lock released


def _jobs(source: Source, into: memoryview) -> list[_Job]:
    placed = source.placed
    if not placed.nbytes:
        return []
    place = into[placed.offset : placed.offset + placed.nbytes]
    if source.device:
        return [_from_device(source, place)]
    if isinstance(source.array, memoryview):
        return [_Job(part, place[at : at + CHUNK_BYTES]) for at, part in _chunks(source.array)]
    np = sys.modules["numpy"]  # whoever made the array has it
    array = source.array
    if not array.flags.c_contiguous:
        return [_Job(array, np.frombuffer(place, array.dtype).reshape(array.shape))]
    flat = array.reshape(-1).view(np.uint8)
    target = np.frombuffer(place, np.uint8)
    return [
        _Job(flat[at : at + CHUNK_BYTES], target[at : at + CHUNK_BYTES])
        for at in range(0, placed.nbytes, CHUNK_BYTES)
    ]


def _chunks(view: memoryview) -> list[tuple[int, memoryview]]:
    return [(at, view[at : at + CHUNK_BYTES]) for at in range(0, view.nbytes, CHUNK_BYTES)]


def _from_device(source: Source, place: memoryview) -> _Job:
    """From a GPU straight into the shared memory."""
    torch = sys.modules["torch"]  # whoever made the tensor has it
    flat = torch.frombuffer(place, dtype=source.array.dtype).view(source.placed.shape)
    return _Job(source.array, flat, tensor=True)
