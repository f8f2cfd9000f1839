"""The door to zstandard: how bytes are made smaller, and what may come back out of them.

A frame's codec is one byte: the low half says how bytes were compressed, the high half into how many
planes they were split before (0: not at all). Two planes hold the even and the odd bytes: in 16-bit
floating-point numbers the odd ones, sign and exponent, compress well, the others do not at all.
Without zstandard, zlib of the standard library takes its place; what is stored says which it was.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

from dsec.store.outcomes import Expected
from dsec.store.packform import CodecError, NoZstdError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    Plain = bytes | memoryview
else:
    Protocol = object

RAW, ZSTD, ZLIB = 0, 1, 2
_IN_C = "zstandard.backend_c"
_PLANES = (2, 4)
_WORTH = 0.97
"""Compressed data that is larger than this part of the plain data is not kept."""
_CLEARLY = 0.93
"""Planes must beat the plain data by this much: splitting costs time on both ways."""
_SAMPLE = 8192
_WINDOW = 1 << 23
"""The most memory, in bytes, that decompressing may ask for as its window."""
_SMALL, _LARGE, _TIGHT = 2, 1, 9
"""Levels for text and code, for pieces, and for what is sent."""
_TUNED = {"strategy": 2, "window_log": 21, "hash_log": 16, "chain_log": 14, "search_log": 1, "min_match": 5}
"""What zstandard does for text and code: between its levels 2 (4 % more bytes) and 3 (2 % fewer).

Tables that fit the nearest caches, so that threads which share them do not slow each other down.
"""


class Compressor(Protocol):
    """What zstandard and zlib have in common."""

    code: int
    name: str

    def compress(self, data: Plain, level: int) -> bytes:
        """The data, smaller."""

    def decompress(self, data: Plain, size: int) -> bytes:
        """The data back, which must be `size` bytes; raises CodecError."""


def _library() -> Any:
    """zstandard; where it can be had alone, its part in C, which starts in a fifth of the time."""
    alone = "zstandard" not in sys.modules
    if alone and _IN_C not in sys.modules and (package := PathFinder.find_spec("zstandard")) is not None:
        part = PathFinder.find_spec(_IN_C, package.submodule_search_locations)
        if part is not None and part.loader is not None:
            with Expected(ImportError):  # the package itself knows what to do then
                module = part.loader.create_module(part)
                assert module is not None, "the interpreter makes modules of C"
                part.loader.exec_module(module)
                sys.modules[_IN_C] = module
    if alone and _IN_C in sys.modules:
        return sys.modules[_IN_C]
    import zstandard

    return zstandard


class Zstd:
    """zstandard; not for two threads at once."""

    code = ZSTD
    name = "zstd"

    def __init__(self) -> None:
        self._library = _library()
        self._at: dict[int, Any] = {}
        self._back = self._library.ZstdDecompressor(max_window_size=_WINDOW)

    def compress(self, data: Plain, level: int) -> bytes:
        """One frame that says how long its content is."""
        if level not in self._at:  # who only reads needs none
            self._at[level] = self._compressor(level)
        packed: bytes = self._at[level].compress(data)
        return packed

    def _compressor(self, level: int) -> Any:
        if level != _SMALL:
            return self._library.ZstdCompressor(level=level)
        tuned = self._library.ZstdCompressionParameters(**_TUNED)
        return self._library.ZstdCompressor(compression_params=tuned)

    def decompress(self, data: Plain, size: int) -> bytes:
        """Never takes more memory than `size`: what the frame says of itself is compared first."""
        try:
            if self._library.get_frame_parameters(data).content_size != size:
                raise CodecError("it says that it is of another length")
            plain: bytes = self._back.decompress(data, max_output_size=size)
        except self._library.ZstdError as problem:
            raise CodecError(str(problem)) from None
        return plain


class Zlib:
    """The standard library's."""

    code = ZLIB
    name = "zlib"

    def compress(self, data: Plain, level: int) -> bytes:
        """One stream."""
        import zlib  # few stores have any, and loading it takes a fiftieth of a comparison

        return zlib.compress(data, 6 if level == _SMALL else level)

    def decompress(self, data: Plain, size: int) -> bytes:
        """Stops one byte after `size`."""
        import zlib

        stream = zlib.decompressobj()
        try:
            plain = stream.decompress(data, size + 1)
        except zlib.error as problem:
            raise CodecError(str(problem)) from None
        if not stream.eof or len(plain) != size or stream.unused_data:
            raise CodecError("it is of another length")
        return plain


def name_of_best() -> str:
    """What `best` gives, without importing it."""
    from importlib.util import find_spec

    return Zstd.name if find_spec("zstandard") is not None else Zlib.name


def best() -> Compressor:
    """Python's zstandard if it is installed, zlib if not; a thread takes one of its own."""
    try:
        return Zstd()
    except ImportError:
        return Zlib()


def _of_code(code: int) -> Compressor:
    if code == ZLIB:
        return Zlib()
    if code != ZSTD:
        raise CodecError("it was compressed in a way that this version does not know")
    try:
        return Zstd()
    except ImportError:
        raise NoZstdError from None


class Codec:
    """Compresses and decompresses frames; not for two threads at once."""

    def __init__(self, compressor: Compressor | None = None) -> None:
        self._own = compressor
        self._known: dict[int, Compressor] = {}

    @property
    def _best(self) -> Compressor:
        if self._own is None:
            self._own = best()
        return self._own

    def pack(self, data: Plain) -> tuple[int, Plain]:
        """Small files and trees, many in a frame: the codec and the bytes to store."""
        return self._smallest(data, _SMALL)

    def pack_tightly(self, data: bytes) -> tuple[int, Plain]:
        """The same, smaller, for four times the time."""
        return self._smallest(data, _TIGHT)

    def pack_piece(self, data: bytes) -> tuple[int, Plain]:
        """A piece of a large file: split into planes where that helps, stored plainly where nothing does."""
        planes, worth = self._probe(data)
        if planes:
            return planes << 4, b"".join(self._plane(data[at::planes]) for at in range(planes))
        return self._smallest(data, _LARGE) if worth else (RAW, data)

    def _smallest(self, data: Plain, level: int) -> tuple[int, Plain]:
        packed = self._best.compress(data, level)
        return (self._best.code, packed) if len(packed) < _WORTH * len(data) else (RAW, data)

    def _probe(self, data: bytes) -> tuple[int, bool]:
        """Number of planes to split into, and whether compressing is worth it: asked of two samples."""
        half = len(data) // 2 & ~7
        sample = data[:_SAMPLE] + data[half : half + _SAMPLE]
        plain = min(len(sample), len(self._best.compress(sample, _LARGE)))
        best, planes = plain * _CLEARLY, 0
        for count in _PLANES:
            size = 0
            for at in range(count):
                plane = sample[at::count]
                size += min(len(plane), len(self._best.compress(plane, _LARGE)))
            if size < best:
                best, planes = size * _CLEARLY, count
        return planes, plain < _WORTH * len(sample)

    def _plane(self, plane: bytes) -> bytes:
        sample, code = plane[: 2 * _SAMPLE], RAW
        stored: Plain = plane
        if len(self._best.compress(sample, _LARGE)) < _WORTH * len(sample):
            code, stored = self._smallest(plane, _LARGE)
        return bytes((code,)) + len(stored).to_bytes(4, "little") + stored

    def unpack(self, code: int, stored: Plain, size: int) -> bytes:
        """The `size` bytes that were packed; raises CodecError and NoZstdError."""
        planes, how = code >> 4, code & 15
        if planes:
            return self._joined(planes, stored, size)
        return self._plain(how, stored, size)

    def _plain(self, how: int, stored: Plain, size: int) -> bytes:
        if how == RAW:
            if len(stored) != size:
                raise CodecError("it is of another length")
            return bytes(stored)  # the same object if it is one
        if how not in self._known:
            self._known[how] = _of_code(how)
        return self._known[how].decompress(stored, size)

    def _joined(self, planes: int, stored: Plain, size: int) -> bytes:
        if planes not in _PLANES:
            raise CodecError("it was split in a way that this version does not know")
        whole, at = bytearray(size), 0
        for plane in range(planes):
            length = int.from_bytes(stored[at + 1 : at + 5], "little")
            part = stored[at + 5 : at + 5 + length]
            if at + 5 > len(stored) or len(part) != length:
                raise CodecError("it is too short")
            want = len(range(plane, size, planes))
            whole[plane::planes] = self._plain(stored[at], part, want)
            at += 5 + length
        if at != len(stored):
            raise CodecError("it is too long")
        return bytes(whole)
