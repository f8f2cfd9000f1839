"""Reading files without pushing what others need out of the page cache. Standard library only."""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK_BYTES = 8 << 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def fast_read(path: str) -> bytearray:
    """A whole file, leaving the page cache as it was: others' pages stay, none are added for this file."""
    data = bytearray(os.stat(path).st_size)
    done = 0
    for chunk in read_into(path, memoryview(data)):
        done += len(chunk)
        chunk.release()
    del data[done:]
    return data


def fast_chunks(path: str, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[memoryview]:
    """A file piece by piece, for one larger than memory; each piece is valid until the next is asked for.

    It is read ahead in order, and what it brought into the page cache it takes out again.
    """
    buffer = memoryview(bytearray(chunk_bytes))
    return _pieces(path, lambda at: buffer)  # noqa: ARG005 - the same place for every piece


def read_into(path: str, place: memoryview) -> Iterator[memoryview]:
    """As `fast_chunks`, the pieces laid side by side into `place`; what does not fit is not read."""
    return _pieces(path, lambda at: place[at : at + CHUNK_BYTES])


def _pieces(path: str, place_of: Callable[[int], memoryview]) -> Iterator[memoryview]:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        resident = resident_pages(handle, os.fstat(handle).st_size)
        advise(handle, 0, 0, "SEQUENTIAL")
        at = 0
        while True:
            place = place_of(at)
            count = os.preadv(handle, [place], at) if place.nbytes else 0
            if not count:
                return
            pages = resident[at // PAGE_BYTES : (at + count + PAGE_BYTES - 1) // PAGE_BYTES]
            if not any(byte & 1 for byte in pages):
                advise(handle, at, count, "DONTNEED")
            yield place[:count]
            at += count
    finally:
        os.close(handle)


def advise(handle: int, offset: int, length: int, what: str) -> None:
    """Tell the kernel how a part of a file will be used: `SEQUENTIAL`, `DONTNEED`."""
    advice = getattr(os, f"POSIX_FADV_{what}", None)
    if advice is not None:
        with contextlib.suppress(OSError):  # advice only
            os.posix_fadvise(handle, offset, length, advice)


def resident_pages(handle: int, size: int) -> bytes:
    """Per page of the file whether it is in the page cache (bit 0); b"" where that cannot be found out."""
    import ctypes
    import mmap

    if not size:
        return b""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, handle, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        return b""
    pages = ctypes.create_string_buffer((size + PAGE_BYTES - 1) // PAGE_BYTES)
    failed = libc.mincore(address, size, pages)
    libc.munmap(address, size)
    return b"" if failed else pages.raw
