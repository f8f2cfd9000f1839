"""Numbers that look drawn, the same on every machine: SplitMix64, and distributions in whole numbers.

Durations are milliseconds. Logarithms and powers of two are computed bit by bit on integers, because
those of a C library may differ in their last digit.
"""

from __future__ import annotations

from functools import cache
from math import isqrt

from dsec.record import Record

_WORD = 2**64
_ONE = 2**48
"""Fixed point: this is 1."""
_LOG2_E = 406_082_553_034_800
"""log2(e) in fixed point."""


class Draw:
    """SplitMix64 (Steele, Lea and Flood, 2014), from a seed and words that tell one stream from another."""

    def __init__(self, seed: int, *words: str) -> None:
        self._state = seed % _WORD
        for word in words:
            for byte in word.encode():
                self._state = (self._state * 1_099_511_628_211 + byte + 1) % _WORD

    def word(self) -> int:
        """64 bits."""
        self._state = (self._state + 0x9E3779B97F4A7C15) % _WORD
        mixed = self._state
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % _WORD
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % _WORD
        return mixed ^ mixed >> 31

    def below(self, limit: int) -> int:
        """From 0 to `limit` - 1."""
        return self.word() * limit // _WORD


class Lasts(Record):
    """A distribution of durations."""

    kind: str
    """`fixed`, `uniform` (low to high), `exponential` (mean), `lognormal` (median, spread)."""
    ms: int
    """The duration, the lowest, the mean, or the median."""
    high_ms: int = 0
    spread_permille: int = 1000
    """`lognormal`: about two thirds lie between median / spread and median x spread; in thousandths."""

    @property
    def typical_ms(self) -> int:
        """What a scheduler is told to expect."""
        return (self.ms + self.high_ms) // 2 if self.kind == "uniform" else self.ms

    def draw(self, draw: Draw) -> int:
        """One duration, at least a millisecond unless it is fixed."""
        if self.kind == "fixed":
            return self.ms
        if self.kind == "uniform":
            return max(1, self.ms + draw.below(self.high_ms - self.ms + 1))
        if self.kind == "exponential":
            return max(1, exponential(draw, self.ms))
        return max(1, self._lognormal(draw))

    def _lognormal(self, draw: Draw) -> int:
        # The sum of twelve uniform numbers less six is close to normal, never beyond six deviations.
        normal = sum(draw.below(_ONE) for _ in range(12)) - 6 * _ONE
        power = log2(self.spread_permille, 1000) * normal // _ONE
        return self.ms * exp2(power) // _ONE


def exponential(draw: Draw, mean: int) -> int:
    """A gap between events that come at random, `mean` apart on average."""
    uniform = draw.word() + 1
    return -log2(uniform, _WORD) * mean // _LOG2_E


def log2(over: int, under: int) -> int:
    """The logarithm of over / under, in fixed point, rounded down; both above 0."""
    shift = over.bit_length() - under.bit_length()
    ratio = (over << 60) // (under << shift) if shift >= 0 else (over << 60 - shift) // under
    if ratio < 1 << 60:
        ratio, shift = ratio << 1, shift - 1
    found = shift << 48
    for bit in range(47, -1, -1):
        ratio = ratio * ratio >> 60
        if ratio >= 1 << 61:
            ratio >>= 1
            found += 1 << bit
    return found


def exp2(power: int) -> int:
    """2 to a fixed-point power, in fixed point."""
    whole, part = power >> 48, power % _ONE
    found = _ONE
    for at, root in enumerate(_roots()):
        if part >> 47 - at & 1:
            found = found * root // _ONE
    return found << whole if whole >= 0 else found >> -whole


@cache
def _roots() -> tuple[int, ...]:
    """2 to the powers 1/2, 1/4, 1/8, ..., in fixed point."""
    roots = [isqrt(2 * _ONE * _ONE)]
    while len(roots) < 48:
        roots.append(isqrt(roots[-1] * _ONE))
    return tuple(roots)
