"""Numbers as people read them."""

from __future__ import annotations

from dsec.units import BitsPerSecond
from dsec_cli.words import Said, say

_UNITS = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"))


def ms(nanoseconds: int) -> str:
    """A time in milliseconds, or in microseconds below one."""
    if nanoseconds < 1_000_000:
        return f"{nanoseconds / 1000:.0f} us"
    return f"{nanoseconds / 1_000_000:.1f} ms"


def size_text(count: int) -> str:
    """Bytes as flows are written: 4MiB."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):.4g} {unit}"
    return f"{count} B"


def rate(bps: int) -> str:
    """A rate, to three figures."""
    for factor, unit in _UNITS:
        if bps >= factor:
            return f"{bps / factor:.3g} {unit}" if bps < 1000 * factor else f"{bps / factor:.0f} {unit}"
    return f"{bps} bit/s"


def contract_rate(bps: int) -> str:
    """A rate as contracts write it."""
    return str(BitsPerSecond(bps))


def share(part: int, whole: int) -> str:
    """A share in per cent."""
    return f"{100 * part / whole:.2f} %" if whole else "none"


def below(ppm: int) -> str:
    """An upper bound in per cent."""
    return f"{ppm / 10_000:.2g} %"


PACKETS, DATAGRAMS, MESSAGES = "packets", "datagrams", "messages"


def many(count: int, what: str) -> Said:
    """`1 packet`, `2 packets`."""
    if what == PACKETS:
        return say("1 packet") if count == 1 else say("{count} packets", count=count)
    if what == DATAGRAMS:
        return say("1 datagram") if count == 1 else say("{count} datagrams", count=count)
    return say("1 message") if count == 1 else say("{count} messages", count=count)
