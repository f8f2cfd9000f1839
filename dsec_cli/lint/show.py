"""How amounts read in messages: exact where they are round, two decimals where they are not."""

from __future__ import annotations

from dsec import cards
from dsec.units import Bytes
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.cards import Card
    from dsec_cli.contract.values import GpuMemory

GIB = 2**30
MIB = 2**20


def size(amount: int) -> str:
    """`24Gi` or `40GB` when that is the whole truth, `0.35 GiB` or `12 MiB` when it is not."""
    exact = str(Bytes(amount))
    if exact.endswith(("Pi", "Ti", "Gi", "TB", "GB")) and len(exact) <= 6:
        return exact
    return f"{amount / GIB:.2f} GiB" if amount >= GIB // 10 else f"{-(-amount // MIB)} MiB"


def core_count(thousandths: int) -> str:
    """`8` or `0.5` cores."""
    return f"{thousandths / 1000:g}"


def counted(amount: int, noun: str) -> str:
    """`1 GPU`, `2 GPUs`; the noun is a key of `COUNTED`."""
    return say(COUNTED[noun][amount != 1], count=amount)


COUNTED = {
    "GPU": ("{count} GPU", "{count} GPUs"),
    "line": ("{count} line", "{count} lines"),
}
"""Templates for one and for several."""


def of_card(row: Card, among: str = "") -> str:
    """`h100-sxm-80gb has 79.65 GiB (81,559 MiB)`; `among` says of which it is the largest."""
    memory: str = cards.memory_text(cards.total_bytes(row))
    if row.mib is None:
        memory = say("{gb} GB by its name (true size unknown)", gb=row.gb)
    if among:
        return say("{largest}, {type}, has {memory}", largest=among, type=row.type, memory=memory)
    return say("{type} has {memory}", type=row.type, memory=memory)


def memory_range(memory: GpuMemory) -> tuple[int, int]:
    """Least and greatest bytes that a stated GPU memory can mean.

    A class such as `24GB-class` covers cards from 24 x 10^9 bytes to 24 x 2^30 bytes, because
    makers count either way; an exact amount means itself.
    """
    low = int(memory.bytes)
    return (low, low * GIB // 10**9) if memory.nominal else (low, low)
