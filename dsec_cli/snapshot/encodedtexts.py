"""Texts in base 64 that may hold a secret: values of a Secret of Kubernetes, logins of Docker.

A text in base 64 has one of three spellings of whatever it contains, by where that begins. So what secrets
begin with is searched for in all three, in the same pass as everything else. Pure.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error

from dsec.record import Record
from dsec_cli.snapshot.pattern import regex
from dsec_cli.snapshot.secretvalues import is_drawn, is_password, is_stated, is_wordy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CONTENT = (
    *("ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "hf_", "sk-", "npm_", "AKIA", "dckr_pat_", "pypi-"),
    *("xoxb-", "xoxp-", "nvapi-", "://", "-----BEGIN ", '"auth"'),
    *(word for name in ("password", "secret", "token") for word in (name, name.upper(), name.title())),
    *("_key", "_KEY", "-key", "apiKey", "ApiKey"),
)
"""What a text with a secret in it has, if it is not a password alone."""
_MOST, _LEAST, _SNIFFED = 1 << 16, 16, 64
_RUN = regex(r"[A-Za-z0-9+/]*={0,2}")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SHAPELESS = regex(r"[\0-\x08\x0e-\x1a\x7f]")
"""What no text has."""


def _spelled(content: str) -> Iterator[str]:
    """The characters that stand for a text wherever it begins, in each of the three places."""
    for before in range(3):
        code = b64encode(b"\0" * before + content.encode() + b"\0" * 2).decode()
        yield code[-(-before * 8 // 6) : (before + len(content)) * 8 // 6]


WORDS = tuple(dict.fromkeys(word for content in _CONTENT for word in _spelled(content)))
"""What is searched for."""


class Encoded(Record):
    """A text in base 64."""

    start: int
    end: int
    plain: bytes


def texts(text: str, places: Iterable[int]) -> Iterator[Encoded]:
    """Those around these places that are texts indeed, and not the pixels of a picture."""
    end = 0
    for at in sorted(places):
        if at < end:
            continue
        before = text[max(end, at - _MOST) : at]
        start = at - len(before) + len(before.rstrip(_ALPHABET))
        hit = _RUN.match(text, at, start + _MOST)
        end = at + 1 if hit is None else hit.end()
        if end - start >= _LEAST and (plain := _plain(text[start:end])) is not None:
            yield Encoded(start, end, plain)


def _plain(code: str) -> bytes | None:
    """What is written; None: no text."""
    if _decoded(code[:_SNIFFED]) is None:
        return None
    return _decoded(code)


def _decoded(code: str) -> bytes | None:
    bare = code.rstrip("=")
    try:
        plain = b64decode(bare[: len(bare) - (len(bare) % 4 == 1)] + "=" * (-len(bare) % 4), validate=True)
    except (Error, ValueError):
        return None
    return None if _SHAPELESS.search(plain.decode("latin-1")) is not None else plain


_KIND = regex(
    r"^[\"'{ \t]*[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?Secret[\"']?[ \t]*[,}]?[ \t]*\r?$", re.MULTILINE
)
KIND_WORDS = ("kind: Secret", '"kind": "Secret"', '"kind":"Secret"')
"""What a manifest of a Secret has."""
_ENTRY = regex(
    r"^[ \t]{1,40}[\"']?[\w.-]{1,253}[\"']?[ \t]*:[ \t]*"
    r"(?P<q>[\"']?)(?P<value>[^\s\"']{6,4096})(?P=q)[ \t]*,?[ \t]*\r?$",
    re.MULTILINE,
)
_DATA = regex(r"^[ \t]*[\"']?(?:data|stringData)[\"']?[ \t]*:[ \t]*\{?[ \t]*\r?\n", re.MULTILINE)
_SPLIT = regex(r"^---", re.MULTILINE)


def manifest_values(text: str) -> Iterator[tuple[int, int]]:
    """Values of a Secret of Kubernetes that are passwords, encoded or not."""
    at = 0
    for part in [*(hit.start() for hit in _SPLIT.finditer(text)), len(text)]:
        if _KIND.search(text[at:part]) is not None:
            yield from _values(text, at, part)
        at = part


def _values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for data in _DATA.finditer(text, start, end):
        indent = len(data[0]) - len(data[0].lstrip(" \t"))
        at = data.end()
        while at < end:
            stop = text.find("\n", at, end)
            stop = end if stop < 0 else stop
            line = text[at:stop]
            if line.strip() and len(line) - len(line.lstrip(" \t")) <= indent:
                break
            hit = _ENTRY.match(text, at, stop)
            if hit is not None and _is_secret(hit["value"]):
                yield hit.span("value")
            at = stop + 1


def _is_secret(value: str) -> bool:
    plain = _decoded(value) if len(value) % 4 == 0 else None
    word = value if plain is None or not plain.isascii() else plain.decode("latin-1").strip()
    if (
        not word.isascii()
        or any(char.isspace() for char in word)
        or is_stated(value)
        or is_stated(word, quoted=False)
    ):
        return False
    return is_drawn(word) or (is_password(word) and not is_wordy(word))
