"""How a value is written so that every YAML reader reads the same: plain where that is safe, else quoted."""

from __future__ import annotations

_WORDS = frozenset(("", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<"))
"""Read as something else than text by YAML 1.1, 1.2 or both, in any case."""
_NEVER_FIRST = frozenset("-?:,[]{}#&*!|>'\"%@` \t")
_BRACKETS = frozenset("[]{},")
_NUMBER = frozenset("0123456789")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def spelled(value: str | int | bool, style: str = "plain", *, flow: bool = False) -> str:
    """`value` as YAML; a text in the quotes of `style`, or without where that reads as the same text.

    `flow`: it will stand inside brackets.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if style == "single" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if style == "plain" and is_plain(value, flow=flow):
        return value
    return double(value)


def double(text: str) -> str:
    """`text` in double quotes."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def is_plain(text: str, *, flow: bool = False) -> bool:
    """Whether `text` without quotes is this very text to every reader."""
    if not text.isprintable() or reads_as_other(text) or text[0] in _NEVER_FIRST or text[-1] in " :":
        return False
    if ": " in text or " #" in text:
        return False
    return not flow or (_BRACKETS.isdisjoint(text) and ":" not in text)


def reads_as_other(text: str) -> bool:
    """Whether some YAML reader takes the plain word `text` for a number, a truth value, a date or nothing."""
    if text.lower() in _WORDS:
        return True
    unsigned = text[1:] if text[0] in "+-" else text
    bare = unsigned.replace("_", "")
    if unsigned[:1] not in _NUMBER and unsigned[:1] != ".":
        return False
    if bare[:2].lower() in ("0x", "0o", "0b"):
        return True
    # A day (2027-01-31), minutes and seconds (1:30), and numbers of any kind.
    if bare[:4].isdigit() and bare[4:5] == "-":
        return True
    mantissa, _, exponent = bare.lower().partition("e")
    digits = mantissa.replace(".", "").replace(":", "")
    return (
        not digits
        or (digits.isdigit() and (not exponent or exponent.lstrip("+-").isdigit()))
        or (unsigned.lower() in (".inf", ".nan"))
    )
