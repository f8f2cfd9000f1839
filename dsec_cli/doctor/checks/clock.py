"""The clock: whether it is kept in step, and whether it is quick to read."""

from __future__ import annotations

import ctypes

from dsec_cli.doctor.check import NOTE, UNKNOWN, Answer, Check, as_root, fine
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_UNSYNCHRONISED = 0x0040
_QUICK = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")


class _Adjustment(ctypes.Structure):
    _fields_ = (
        ("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long), ("esterror", ctypes.c_long), ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )  # fmt: skip


def look(host: Host) -> Answer:
    """By what keeps the kernel's clock; how far other hosts are away `ds-netcheck` says."""
    source = (host.text("sys/devices/system/clocksource/clocksource0/current_clocksource") or "").strip()
    found = _Adjustment()
    if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(found)) < 0:
        return Answer(UNKNOWN, (say("the kernel does not say how its clock is kept"),))
    return told(synchronised=not found.status & _UNSYNCHRONISED, error_us=found.maxerror, source=source)


def told(*, synchronised: bool, error_us: int, source: str) -> Answer:
    """The same in words."""
    if not synchronised:
        return Answer(
            NOTE,
            (say("nobody keeps the clock in step: times of several hosts cannot be compared"),),
            as_root("timedatectl set-ntp true"),
        )
    if source and source not in _QUICK:
        return Answer(NOTE, (say("the clock is read from {source}, which is slow", source=source),))
    return fine(say("the clock is kept in step (within {span:.0f} ms)", span=error_us / 1000))


CHECK = Check("clock", look)
