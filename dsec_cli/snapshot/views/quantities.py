"""Sizes and times in a few characters."""

from __future__ import annotations

import time

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size(count: int) -> str:
    """Bytes, in the unit that leaves up to four digits."""
    value = float(count)
    unit = _UNITS[0]
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def moment(ms: int) -> str:
    """A time of the wall clock, UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(ms / 1000))


def counted(number: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
