"""Amounts as SkyPilot and Compose write them. None: not understood."""

from __future__ import annotations

_FACTORS = {"b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}
_FACTORS |= {"t": 2**40, "tb": 2**40, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "": 1}
MOST = 10**15


def decimal(text: str) -> float | None:
    """`8`, `0.5`; nothing that is no plain number of 0 or more."""
    bare = text.strip()
    whole, _, fraction = bare.partition(".")
    digits = whole + fraction
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 15:
        return None
    return float(bare)


def binary_size(text: str) -> int | None:
    """`512m`, `2gb`, `1073741824`: Compose's letters are powers of 1024."""
    bare = text.strip().lower()
    digits = bare.rstrip("kmgtib ")
    number, factor = decimal(digits), _FACTORS.get(bare[len(digits) :].strip())
    if number is None or factor is None:
        return None
    size = round(number * factor)
    return size if 0 < size < MOST else None


def at_least(text: str) -> tuple[str, bool]:
    """`8+` -> (`8`, True): the number, and whether more may be given."""
    bare = text.strip()
    return bare.removesuffix("+"), bare.endswith("+")


def thousandths(text: str) -> int | None:
    """`0.5` processors as 500."""
    number = decimal(text)
    return None if number is None or number > 10**6 else max(1, round(number * 1000)) if number else None
