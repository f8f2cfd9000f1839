"""What the error numbers of NVIDIA's driver (Xid) mean for the device and for whoever used it.

Meanings are those of NVIDIA's public catalogue "XID Errors" (docs.nvidia.com/deploy/xid-errors).
"""

from __future__ import annotations

_PROGRAM = {
    8: "a kernel ran past the watchdog's limit",
    13: "a program used the GPU wrongly (graphics engine exception)",
    31: "a program touched memory that is not its own (page fault)",
    43: "a program's work on the GPU was stopped",
    45: "a program's work on the GPU was cleaned up before its end",
    68: "a video decoder failed on its input",
    69: "a program used the GPU wrongly (graphics engine class error)",
}
_DEVICE = {
    32: "the driver's command stream was damaged on its way (PCIe)",
    38: "the driver's firmware failed",
    46: "the GPU stopped working on what it was given",
    48: "memory has an error that cannot be corrected (double-bit ECC)",
    61: "the GPU's own controller failed",
    62: "the GPU's own controller halted",
    63: "a damaged row of memory was recorded for replacement",
    64: "a damaged row of memory could not be recorded for replacement",
    74: "an NVLink failed",
    79: "the GPU fell off the bus",
    92: "memory has many errors that can be corrected",
    94: "a memory error was contained: only the program that touched it is harmed",
    95: "a memory error was not contained: every program on the GPU may be harmed",
    110: "the security engine failed",
    119: "the GPU's system processor does not answer",
    120: "the GPU's system processor failed",
    121: "the link between processor and GPU failed",
    140: "memory has an error that could not be recovered from",
    143: "the GPU could not be initialised",
}
_MILD = frozenset({63, 92, 94})
"""Faults of the device after which work may go on."""


def meaning(xid: int) -> str:
    """One line, without the number; an unknown one says so."""
    return _PROGRAM.get(xid) or _DEVICE.get(xid) or "an error that the catalogue of this version lacks"


def failing(xid: int) -> bool:
    """Whether the device is to be kept out of use; an unknown error does not condemn it."""
    return xid in _DEVICE and xid not in _MILD


def program(xid: int) -> bool:
    """Whether a program is to blame, so that the device stays in use."""
    return xid in _PROGRAM
