"""Which unit the writer of an unknown one most likely meant; loaded only to say so."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

HABITS: dict[str, dict[str, str]] = {
    "size": {
        "": "Gi",
        "g": "Gi",
        "m": "Mi",
        "k": "Ki",
        "t": "Ti",
        "p": "Pi",
        "gig": "Gi",
        "gigs": "Gi",
        "gigabyte": "GB",
        "gigabytes": "GB",
        "gbyte": "GB",
        "gbit": "GB",
        "megabytes": "MB",
        "mbit": "MB",
        "bytes": "B",
    },
    "bandwidth": {
        "": "Gbps",
        "g": "Gbps",
        "m": "Mbps",
        "gb": "Gbps",
        "mb": "Mbps",
        "gi": "Gbps",
        "gbit": "Gbps",
        "mbit": "Mbps",
        "gib": "GiB/s",
        "mib": "MiB/s",
    },
    "byte rate": {
        "": "GB/s",
        "g": "GB/s",
        "gb": "GB/s",
        "tb": "TB/s",
        "mb": "MB/s",
        "gib": "GiB/s",
        "tib": "TiB/s",
        "gbps": "GB/s",
        "tbps": "TB/s",
    },
    "FLOP rate": {"": "TFLOPS", "t": "TFLOPS", "tflop": "TFLOPS", "tflop/s": "TFLOPS", "tflops/s": "TFLOPS"},
    "duration": {
        "": "s",
        "secs": "s",
        "second": "s",
        "seconds": "s",
        "mins": "m",
        "minute": "m",
        "minutes": "m",
        "hr": "h",
        "hrs": "h",
        "hour": "h",
        "hours": "h",
        "day": "d",
        "days": "d",
        "msec": "ms",
        "msecs": "ms",
        "millis": "ms",
        "usec": "us",
    },
    "temperature": {"": "C", "degc": "C", "deg": "C", "celsius": "C", "degrees": "C"},
    "request rate": {
        "": "req/min",
        "/min": "req/min",
        "/s": "req/s",
        "/h": "req/h",
        "rps": "req/s",
        "rpm": "req/min",
        "qps": "req/s",
        "req": "req/min",
        "request/min": "req/min",
        "requests/min": "req/min",
        "requests/s": "req/s",
        "requests/h": "req/h",
        "requests/day": "req/day",
    },
}
"""What people write by habit, in lower case, for each kind of quantity; "" is no unit at all."""


_MOST_DIGITS = 20
_SIZES = ((2**34, "B"), (2**23, "Ki"), (2**12, "Mi"))
"""From which number on a size without a unit is one of this unit: no machine has 65536Gi."""


def unit_meant(kind: str, unit: str, legal: Collection[str], *, number: str = "") -> str:
    """The legal unit of `number`, or "" when none is likely."""
    low = unit.lower().replace(" ", "")
    if kind == "size" and not low and number.isdecimal() and len(number) < _MOST_DIGITS:
        return next((likely for least, likely in _SIZES if int(number) >= least), "Gi")
    if unit.endswith("Bps") and unit.removesuffix("ps") + "/s" in legal:
        # `GBps` differs from `Gbps` by a factor of eight, whatever folding case would say.
        return unit.removesuffix("ps") + "/s"
    for other in legal:
        if other.lower() == low:
            return other
    habit = HABITS.get(kind, {}).get(low, "")
    if habit:
        return habit
    near = [other for other in legal if len(low) > 1 and _one_edit(low, other.lower())]
    # Two legal units at the same distance mean different amounts: then say neither.
    return near[0] if len({other.lower() for other in near}) == 1 else ""


def _one_edit(left: str, right: str) -> bool:
    """True when one inserted, dropped or changed character makes the words equal."""
    if len(left) > len(right):
        left, right = right, left
    if len(right) - len(left) > 1:
        return False
    same = 0
    while same < len(left) and left[same] == right[same]:
        same += 1
    skip = same + (len(left) == len(right))
    return left[skip:] == right[same + 1 :]
