"""MIG instances: their profiles where only sizes are printed, and the memory that is theirs."""

from __future__ import annotations

from dsec import cards

_CORES = {"a100": 14, "a800": 14, "h100": 16, "h200": 16, "h800": 16}
"""Multiprocessors of one slice, by family; 3g of an H100 has 60, so slices are rounded down."""
_SLICES = 7
_EIGHTHS = (1, 2, 4, 8)
_MEASURED_MIB = {
    ("a100", "1g.20gb"): 19968,
    ("h100", "1g.10gb"): 9984,
    ("h100", "2g.20gb"): 20096,
    ("h100", "3g.40gb"): 40448,
    ("h200", "1g.18gb"): 16384,
    ("h200", "2g.35gb"): 33280,
    ("h200", "3g.71gb"): 71424,
}
"""From recorded output."""


def share(profile: str) -> tuple[int, int]:
    """(2, 3) of `2c.3g.71gb`: the compute instances of one GPU instance share its memory; else (1, 1)."""
    parts = profile.removeprefix("mig:").split(".")
    if len(parts) == 3 and parts[0][:-1].isdecimal() and parts[1][:-1].isdecimal():
        mine, all_ = int(parts[0][:-1]), int(parts[1][:-1])
        return (mine, all_) if 0 < mine <= all_ else (1, 1)
    return 1, 1


def part(profile: str, memory_bytes: int | None) -> int | None:
    """What an instance may count on of the memory that its GPU instance has."""
    mine, all_ = share(profile)
    return None if memory_bytes is None else memory_bytes * mine // all_


def size_bytes(profile: str, family: str) -> int | None:
    """Memory of the GPU instance of a profile: as measured, else 9/10 of what its name says."""
    whole = profile.partition("c.")[2] or profile
    measured = _MEASURED_MIB.get((family, whole))
    if measured is not None:
        return measured * cards.MIB
    gigabytes = whole.rpartition(".")[2].removesuffix("gb").partition("+")[0]
    return int(gigabytes) * 10**9 * 9 // 10 if gigabytes.isdecimal() and len(gigabytes) < 6 else None


def profile_of(card: cards.Card | None, total: int | None, cores: int | None, all_cores: int | None) -> str:
    """`1g.20gb` of an instance's memory and multiprocessors; "" where it cannot be told.

    `cores` are the instance's own, `all_cores` those of all that share its memory.
    """
    if card is None or total is None or not cores or not all_cores or card.family not in _CORES:
        return ""
    whole = cards.total_bytes(card)
    eighths = (total * 16 + whole) // (2 * whole)
    if eighths not in _EIGHTHS or abs(total * 8 - eighths * whole) * 8 > eighths * whole:
        return ""
    slices = [min(_SLICES, number // _CORES[card.family]) for number in (cores, all_cores)]
    if not slices[0]:
        return ""
    name = f"{slices[1]}g.{(card.gb * eighths * 2 + 8) // 16}gb"
    return name if cores == all_cores else f"{slices[0]}c.{name}"
