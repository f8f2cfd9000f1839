"""What a register can hold, as far as the code before proves it.

    frozenset of numbers    one of these (64 bits, unsigned)
    ("in", register)        what the caller left in that register
    ("sp", distance)        the stack pointer at the function's entry plus a distance
    ("imp", name)           the address of an imported function
    ("off", name)           an address near it, computed from it
    ("tab", address, width, scale)  an entry of a constant table, by an index that is not known
    ("sum", how)            unknown, and put together here: a register and a constant (`fixed`), or two
                            registers (`free`); compilers call what they load, never such a sum
    ("number",)             one of more numbers than are kept apart, as a loop counts them
    None                    unknown

Joining two values that disagree gives the set of both where both are numbers, else unknown: an answer
is either proved or absent, never likely.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Value: TypeAlias = frozenset[int] | tuple[Any, ...] | None

MASK = (1 << 64) - 1
NUMBER = ("number",)
FIXED, FREE = ("sum", "fixed"), ("sum", "free")
MOST = 24
"""Numbers that one value may be; more are unknown."""


def number(value: int) -> frozenset[int]:
    """Exactly this number."""
    return frozenset((value & MASK,))


def join(one: Value, other: Value) -> Value:
    """What holds of both."""
    if one is None or other is None:
        return FIXED if FIXED in (one, other) else None
    if one == other:
        return one
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        both = one | other
        return both if len(both) <= MOST else NUMBER
    if counts(one) and counts(other):
        return NUMBER
    if isinstance(one, tuple) and isinstance(other, tuple) and {one[0], other[0]} == {"imp", "off"}:
        return ("off", one[1]) if one[1] == other[1] else None
    if counts(one) or counts(other):
        return None
    if FIXED in (one, other):  # a pointer that a loop moves on
        return FIXED
    # Of two registers' sums only what is one on every way counts: long functions use registers again.
    return None


def counts(value: Value) -> bool:
    """Whether a value is a number, or one of many."""
    return isinstance(value, frozenset) or value == NUMBER


def narrow(value: Value, size: int) -> Value:
    """The lowest `size` bytes of a value, zero-extended."""
    if size >= 8 or value is None:
        return value
    if isinstance(value, frozenset):
        mask = (1 << size * 8) - 1
        return frozenset(one & mask for one in value)
    if value[0] == "in" and size == 4:
        return value  # numbers of system calls and flags are read as 32 bits in any case
    return value if value[0] in ("tab", "number") else None


def extend(value: Value, size: int) -> Value:
    """Sign-extend the lowest `size` bytes to 64 bits."""
    if not isinstance(value, frozenset):
        return value if isinstance(value, tuple) and value[0] in ("in", "tab") else None
    bits = size * 8
    sign = 1 << (bits - 1)
    return frozenset((((one & ((1 << bits) - 1)) ^ sign) - sign) & MASK for one in value)


def combine(one: Value, other: Value, how: Callable[[int, int], int], size: int) -> Value:
    """Apply an operation of two numbers to every pair, at a width in bytes."""
    if not (isinstance(one, frozenset) and isinstance(other, frozenset)):
        return NUMBER if counts(one) and counts(other) else None
    if len(one) * len(other) > 4 * MOST:
        return NUMBER
    mask = (1 << size * 8) - 1
    found = frozenset(how(a & mask, b & mask) & mask for a in one for b in other)
    return found if len(found) <= MOST else NUMBER
