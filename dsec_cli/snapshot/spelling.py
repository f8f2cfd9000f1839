"""Names that are bytes, in documents that are text: the way there and back."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error

_MARK = "b64:"


def spelled(name: bytes) -> str:
    """`name` as text: itself where it is UTF-8, else (and where it looks like the mark) in base 64."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return _MARK + b64encode(name).decode("ascii")
    return _MARK + b64encode(name).decode("ascii") if text.startswith(_MARK) else text


def unspelled(text: str) -> bytes:
    """The bytes that `spelled` wrote."""
    if not text.startswith(_MARK):
        return text.encode("utf-8", "surrogateescape")
    try:
        return b64decode(text[len(_MARK) :], validate=True)
    except (Error, ValueError):
        return text.encode("utf-8")


def readable(name: bytes) -> str:
    """For people: bytes that are no UTF-8 are written in hexadecimal."""
    return name.decode("utf-8", "backslashreplace")
