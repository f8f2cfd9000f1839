"""Compression and hashing of state files: one door each, and what stands in where the better one is absent.

Which ones a file was written with stands in its record; a reader that lacks them says so.
"""

from __future__ import annotations

from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

HASHES = ("blake3", "blake2b")
CODECS = ("zstd", "zlib")
_PROBE_BYTES = 1 << 14
_WORTH = 0.97
"""A block is kept compressed only when it comes to less than this share of itself."""


def hash_name() -> str:
    """The hash that this machine writes: BLAKE3, or BLAKE2b of the standard library without it."""
    try:
        import blake3  # noqa: F401
    except ImportError:
        return "blake2b"
    return "blake3"


def hasher(name: str) -> Callable[[Any], str]:
    """64 hex digits of a buffer's hash; raises StateError where the algorithm is not to be had."""
    if name == "blake3":
        try:
            from blake3 import blake3
        except ImportError:
            raise StateError(
                "the state was written with BLAKE3, which is not installed here: pip install blake3"
            ) from None
        return lambda data: blake3(data).hexdigest()
    if name == "blake2b":
        from hashlib import blake2b

        return lambda data: blake2b(data, digest_size=32).hexdigest()
    raise StateError(f"the state is hashed with {name!r}, which this version does not know")


def codec_name() -> str:
    """The compression that this machine writes: zstd, or zlib of the standard library without it."""
    try:
        import zstandard  # noqa: F401
    except ImportError:
        return "zlib"
    return "zstd"


def compressor(name: str) -> Callable[[Any], bytes]:
    """Fast compression of a buffer; `name` is one of CODECS."""
    if name == "zstd":
        import zstandard

        return zstandard.ZstdCompressor(level=1, write_content_size=False, write_checksum=False).compress
    import zlib

    return lambda data: zlib.compress(data, 1)


def squeezed(data: Any, compress: Callable[[Any], bytes]) -> tuple[bytes | Any, bool]:
    """A buffer of bytes compressed, and whether it is: what a sample shows not to shrink stays as it is."""
    size = len(data)
    if size > 4 * _PROBE_BYTES:
        begin = (size - _PROBE_BYTES) // 2
        if len(compress(data[begin : begin + _PROBE_BYTES])) > _WORTH * _PROBE_BYTES:
            return data, False
    small = compress(data)
    return (small, True) if len(small) < _WORTH * size else (data, False)


def decompressor(name: str) -> Callable[[Any, int], bytes]:
    """Decompression to exactly so many bytes; raises StateError for more, fewer, or damaged ones."""
    if name not in CODECS:
        raise StateError(f"the state is compressed with {name!r}, which this version does not know")
    return _zstd if name == "zstd" else _zlib


def _zstd(data: Any, size: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise StateError(
            "the state was written with zstd, which is not installed here: pip install zstandard"
        ) from None
    try:
        found = zstandard.ZstdDecompressor().decompress(data, max_output_size=max(1, size))
    except zstandard.ZstdError as problem:
        raise StateError(f"a compressed block is damaged: {problem}") from None
    return _exact(found, size)


def _zlib(data: Any, size: int) -> bytes:
    import zlib

    try:
        found = zlib.decompressobj().decompress(data, size + 1)
    except zlib.error as problem:
        raise StateError(f"a compressed block is damaged: {problem}") from None
    return _exact(found, size)


def _exact(found: bytes, size: int) -> bytes:
    if len(found) != size:
        raise StateError(f"a compressed block holds {len(found)} bytes and not the {size} of its record")
    return found
