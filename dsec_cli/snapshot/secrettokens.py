"""Tokens that their own form gives away. Pure.

A token is a long run of letters, digits, `_` and `-`. Only what begins, or is preceded, as tokens are is
looked at: of a file without secrets that is next to nothing, however many kinds there are.
"""

from __future__ import annotations

import re

from dsec_cli.snapshot.pattern import regex
from dsec_cli.snapshot.secretvalues import is_drawn
from dsec_cli.source.secrets import DOTTED, ESCAPES, SHAPES, is_placeholder, looks_random, token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.keywords import Keywords
    from dsec_cli.source.secrets import Shape

    Found = tuple[int, int, str]
    """Start, end and kind."""

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"
_LONG = regex(r"[A-Za-z0-9_-]{20}")
"""No token is shorter."""
_RUN = regex(r"[A-Za-z0-9_-]*")
_CLASSES = bytes(
    ord("t") if chr(byte) in _ALPHABET else ord(".") if byte in b".:" else 32 for byte in range(256)
)
_ENDED, _WITH_PARTS = b"t" * 24 + b".", frozenset((24, 25, 26, 32, 36))
"""The end of the first part of a token that only its parts tell, and how long such a part is."""
_MOST_PART = 40
_BEGUN = b"." + b"t" * 60
"""The second part of a token that is longer than most."""
_BLOB = 200
"""Letters and digits of base 64 without a break: a picture or a key in a file of its own, no token."""
_BASE64 = regex(r"[A-Za-z0-9+/]*")
_MOST_INNER = 1 << 12
_BY_PREFIX: dict[str, list[Shape]] = {}
for _shape in SHAPES:
    _BY_PREFIX.setdefault(_shape.prefix, []).append(_shape)
_BEGIN = regex("|".join(re.escape(one) for one in sorted(_BY_PREFIX, key=lambda one: (-len(one), one))))
_DOTTED = {shape.prefix: shape for shape in DOTTED}
_BEFORE = regex(
    rf"(?<!\d)(?P<telegram>\d{{8,10}}:)\Z|(?<![\w-])(?:(?P<dotted>{'|'.join(map(re.escape, _DOTTED))})"
    r"|(?P<azure>[\w~.]{3}\dQ~)|(?P<terraform>[A-Za-z0-9]{14}\.atlasv1\.)|(?P<airtable>pat[A-Za-z0-9]{14}\.))\Z"
)
"""What stands before a run that is a part of a token."""
_TELEGRAM = 35
"""Characters behind the colon."""
_REST = {
    "telegram": (regex(r"AA[\w-]{30,60}(?![\w-])"), "a Telegram token"),
    "azure": (regex(r"[\w~.-]{31,34}(?![\w~-])"), "an Azure key"),
    "terraform": (regex(r"[\w-]{60,80}(?![\w-])"), "a cloud access key"),
    "airtable": (regex(r"[0-9a-f]{64}(?![\w-])"), "an API key"),
}
_WHOLE = regex(
    r"[MNO][A-Za-z\d_-]{23,25}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"
    r"|[0-9a-f]{32}\.(?=[A-Za-z]*\d)[A-Za-z0-9]{16}(?![\w.-])"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9a-f]{32}(?![\w-])"
    r"|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?![\w-])"
    r"|ops_eyJ[A-Za-z0-9+/]{100,}={0,3}"
)
"""Of Discord, Zhipu, fal and 1Password: told by their parts."""
_INNER = regex(
    r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{40,255}|glpat-[\w-]{20,64}|npm_[A-Za-z0-9]{36}"
    r"|sk-(?:proj|ant|svcacct|or)-[\w-]{20,255}|xox[abps]-[\w-]{20,255}|nvapi-[\w-]{40,255}"
    r"|dckr_pat_[\w-]{20,64}|pypi-AgE[\w-]{50,255}|hf_[A-Za-z]{34}(?![A-Za-z0-9])"
)
"""Tokens that nothing else looks like, also right behind a letter or a dash: `notes-ghp_...`."""


def tokens(data: bytes, text: str, keywords: Keywords) -> Iterator[Found]:
    """All of them; `text` has a character for each byte of `data`. They may overlap."""
    for start in keywords.prefixes:
        yield from _prefixed(text, start)
    for start in keywords.runs:
        if _LONG.match(text, start) is not None:
            yield from _continued(text, start)
    classes = data.translate(_CLASSES)
    at = classes.find(_ENDED)
    while at >= 0:
        end = at + len(_ENDED) - 1
        before = text[max(0, end - _MOST_PART) : end]
        length = len(before) - len(before.rstrip(_ALPHABET))
        if length in _WITH_PARTS:
            yield from _of_parts(text, end - length)
        at = classes.find(_ENDED, end)
    at = classes.find(_BEGUN)
    while at >= 0:
        yield from _continued(text, at + 1)
        at = classes.find(_BEGUN, at + len(_BEGUN))


def _prefixed(text: str, start: int) -> Iterator[Found]:
    """The token of a prefix, at the beginning of a run or, if nothing else looks like it, within one."""
    if start == 0 or text[start - 1] not in _ALPHABET or text[max(0, start - 2) : start] in ESCAPES:
        if _LONG.match(text, start) is None:
            return
        if (prefix := _BEGIN.match(text, start)) is not None:
            yield from _shaped(text, start, prefix[0])
        yield from _of_parts(text, start)
    run = _RUN.match(text, start, start + _MOST_INNER + 1)
    end = start if run is None else run.end()
    hit = _INNER.match(text, start, end)
    if hit is not None and end - _run_start(text, start) <= _MOST_INNER and not is_placeholder(hit[0]):
        yield *hit.span(), "a token"


def _of_parts(text: str, start: int) -> Iterator[Found]:
    if (hit := _WHOLE.match(text, start)) is not None and not is_placeholder(hit[0]):
        yield *hit.span(), "a token"


def _run_start(text: str, at: int) -> int:
    """Where the run around a place begins, but not farther away than is looked at."""
    before = text[max(0, at - _MOST_INNER - 1) : at]
    return at - len(before) + len(before.rstrip(_ALPHABET))


def _shaped(text: str, start: int, prefix: str) -> Iterator[Found]:
    """The token that begins with the longest prefix that fits, or with a shorter one."""
    for size in range(len(prefix), 1, -1):
        for shape in _BY_PREFIX.get(prefix[:size], ()):
            hit = token(text, start, min(len(text), start + shape.most + len(shape.prefix) + 1), shape)
            if hit is not None and not (shape.prefix.isalnum() and _in_blob(text, start)):
                yield hit.span.start, hit.span.end, str(hit.kind)
                return


def _in_blob(text: str, start: int) -> bool:
    """Whether a run goes on for longer than tokens do, to both sides."""
    before = text[max(0, start - _BLOB) : start][::-1]
    left = _BASE64.match(before)
    right = _BASE64.match(text, start, start + _BLOB)
    return (left.end() if left else 0) + (right.end() - start if right else 0) >= _BLOB


def _continued(text: str, start: int) -> Iterator[Found]:
    """A token whose first part, with a dot or colon, stands before this run."""
    hit = _BEFORE.search(text, max(0, start - 24), start)
    if hit is None:
        return
    if hit["dotted"]:
        found = token(text, hit.start(), min(len(text), start + 2048), _DOTTED[hit["dotted"]])
        if found is not None:
            yield found.span.start, found.span.end, str(found.kind)
        return
    form, kind = _REST[str(hit.lastgroup)]
    rest = form.match(text, start)
    if (
        rest is not None
        and not is_placeholder(rest[0])
        and (hit.lastgroup != "telegram" or _is_telegram(rest[0]))
    ):
        yield hit.start(), rest.end(), kind


def _is_telegram(rest: str) -> bool:
    return is_drawn(rest) or (len(rest) == _TELEGRAM and looks_random(rest))
