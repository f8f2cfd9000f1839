"""Bech32 (BIP 173), as age writes keys: a readable beginning, `1`, data in 32 letters, a checksum. Pure."""

from __future__ import annotations

_LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def _checked(values: list[int]) -> int:
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for at in range(5):
            check ^= _GENERATOR[at] if (top >> at) & 1 else 0
    return check


def _expanded(beginning: str) -> list[int]:
    return [ord(ch) >> 5 for ch in beginning] + [0] + [ord(ch) & 31 for ch in beginning]


def _regrouped(values: list[int], have: int, want: int, *, pad: bool) -> list[int] | None:
    held, bits, made = 0, 0, []
    for value in values:
        held = held << have | value
        bits += have
        while bits >= want:
            bits -= want
            made.append(held >> bits & ((1 << want) - 1))
        held &= (1 << bits) - 1
    if pad:
        return [*made, held << (want - bits)] if bits else made
    return None if bits >= have or held else made


def encode(beginning: str, data: bytes) -> str:
    """In lower case."""
    values = _regrouped(list(data), 8, 5, pad=True) or []
    check = _checked([*_expanded(beginning), *values, 0, 0, 0, 0, 0, 0]) ^ 1
    values += [check >> 5 * (5 - at) & 31 for at in range(6)]
    return beginning + "1" + "".join(_LETTERS[value] for value in values)


def decode(beginning: str, text: str) -> bytes | None:
    """The bytes, or None for a text that is none of these."""
    if text not in (text.lower(), text.upper()):
        return None
    text = text.lower()
    found, one, rest = text.rpartition("1")
    values = [_LETTERS.find(ch) for ch in rest]
    if not one or found != beginning or len(values) < 6 or -1 in values:
        return None
    if _checked([*_expanded(beginning), *values]) != 1:
        return None
    data = _regrouped(values[:-6], 5, 8, pad=False)
    return bytes(data) if data is not None else None
