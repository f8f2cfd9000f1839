"""What the end of a failed attempt's log says about why it failed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OUT_OF_DEVICE_MEMORY = (
    b"CUDA out of memory",
    b"HIP out of memory",
    b"OutOfMemoryError",
    b"CUDA_ERROR_OUT_OF_MEMORY",
    b"cudaErrorMemoryAllocation",
    b"RESOURCE_EXHAUSTED: Out of memory",
)
"""What programs write when a device has no memory left."""

MARKS: tuple[tuple[str, Sequence[bytes]], ...] = (
    (
        "gpu-lost",
        (
            b"GPU is lost",
            b"GPU_IS_LOST",
            b"fallen off the bus",
            b"NVRM: Xid",
            b"uncorrectable ECC error",
            b"cudaErrorECCUncorrectable",
            b"CUDA_ERROR_ECC_UNCORRECTABLE",
        ),
    ),
    ("cuda-oom", OUT_OF_DEVICE_MEMORY),
    ("disk-full", (b"No space left on device", b"Disk quota exceeded", b"ENOSPC", b"EDQUOT")),
    (
        "host-oom",
        (
            b"\nMemoryError",
            b"Cannot allocate memory",
            b"std::bad_alloc",
            b"DefaultCPUAllocator: can't allocate memory",
            b"DefaultCPUAllocator: not enough memory",
        ),
    ),
    (
        "nccl-timeout",
        (
            b"Watchdog caught collective operation timeout",
            b"Timed out waiting for collective",
            b"NCCL watchdog thread terminated",
            b"ncclInProgress timed out",
        ),
    ),
)
"""Causes, the likelier root first: a rank that runs out of memory makes the others time out."""
_LINE_BYTES = 200


def cause_in(tail: bytes) -> tuple[str, str] | None:
    """The cause that the log's end names, and the line that names it; None: it names none."""
    text = b"\n" + tail
    for cause, marks in MARKS:
        at = max(text.rfind(mark) for mark in marks)
        if at >= 0:
            return cause, _line(text, at)
    return None


def _line(text: bytes, at: int) -> str:
    """The line around `at`, cut to what one can read, without what a terminal would obey."""
    at += text.startswith(b"\n", at)
    begin = max(text.rfind(b"\n", 0, at) + 1, at - _LINE_BYTES // 2)
    end = text.find(b"\n", at)
    line = text[begin : len(text) if end < 0 else end][:_LINE_BYTES].decode("utf-8", "replace")
    return " ".join("".join(ch if ch.isprintable() else " " for ch in line).split())
