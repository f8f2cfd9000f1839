"""Readings over time, in as many parts as there is room for: how hot each device ran, and when."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

BARS = "▁▂▃▄▅▆▇█"
UNKNOWN = "·"


def heat(
    readings: Iterable[tuple[int, int | None]], *, begin_us: int, end_us: int, parts: int
) -> list[int | None]:
    """Mean of what was read in each part of the time, in thousandths; None: nothing is known of it."""
    sums, many = [0] * parts, [0] * parts
    whole = max(1, end_us - begin_us)
    for at_us, permille in readings:
        if permille is None or not begin_us <= at_us <= end_us:
            continue
        part = min(parts - 1, (at_us - begin_us) * parts // whole)
        sums[part] += permille
        many[part] += 1
    return [total // count if count else None for total, count in zip(sums, many, strict=True)]


def bars(shares: Iterable[int | None]) -> str:
    """One sign a part: from low to high, a point where nothing is known."""
    return "".join(
        UNKNOWN if share is None else BARS[min(7, max(0, (share * 8 + 999) // 1000 - 1))] for share in shares
    )


def filled(shares: list[int | None]) -> list[int | None]:
    """A part without a reading between two that have one is as the one before it."""
    known = [at for at, share in enumerate(shares) if share is not None]
    if not known:
        return shares
    found, last = list(shares), None
    for at in range(known[0], known[-1] + 1):
        last = shares[at] if shares[at] is not None else last
        found[at] = last
    return found
