"""Tokens that their own form gives away, found in one pass over a text. Pure.

A token is a long run of letters, digits, `_` and `-`. Runs are found by two operations of the interpreter
on the whole text; only what begins, or is preceded, as tokens are is looked at: of a file without secrets
that is next to nothing, however many kinds there are.
"""

from __future__ import annotations

import re

from dsec_cli.snapshot.secretvalues import is_drawn
from dsec_cli.source.secrets import DOTTED, SHAPES, is_placeholder, token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.secrets import Shape

    Found = tuple[int, int, str]
    """Start, end and kind."""

_TOKEN = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"
_LONG = 20
"""No token is shorter."""
_RUN = b"t" * _LONG
_CLASSES = bytes(ord("t") if byte in _TOKEN else ord(" ") for byte in range(256))
_BLOB = 200
"""Letters and digits of base 64 without a break: a picture or a key in a file of its own, no token."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]*")
_PICTURE = 2000
"""So many, and nothing within is looked at."""
_MOST_INNER = 1 << 12
_BY_PREFIX: dict[str, list[Shape]] = {}
for _shape in SHAPES:
    _BY_PREFIX.setdefault(_shape.prefix, []).append(_shape)
_BEGIN = re.compile("|".join(re.escape(one) for one in sorted(_BY_PREFIX, key=lambda one: (-len(one), one))))
_FIRST = frozenset(prefix[:2] for prefix in _BY_PREFIX)
"""What they begin with: looking here first spares most runs the rest."""
_DOTTED = {shape.prefix: shape for shape in DOTTED}
_BEFORE = re.compile(
    rf"(?<!\d)(?P<telegram>\d{{8,10}}:)\Z|(?<![\w-])(?:(?P<dotted>{'|'.join(map(re.escape, _DOTTED))})"
    r"|(?P<azure>[\w~.]{3}\dQ~)|(?P<terraform>[A-Za-z0-9]{14}\.atlasv1\.)|(?P<airtable>pat[A-Za-z0-9]{14}\.))\Z"
)
"""What stands before a run that is a part of a token."""
_REST = {
    "telegram": (re.compile(r"AA[\w-]{30,60}(?![\w-])"), "a Telegram token"),
    "azure": (re.compile(r"[\w~.-]{31,34}(?![\w~-])"), "an Azure key"),
    "terraform": (re.compile(r"[\w-]{60,80}(?![\w-])"), "a cloud access key"),
    "airtable": (re.compile(r"[0-9a-f]{64}(?![\w-])"), "an API key"),
}
_WHOLE = re.compile(
    r"[MNO][A-Za-z\d_-]{23,25}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"
    r"|[0-9a-f]{32}\.(?=[A-Za-z]*\d)[A-Za-z0-9]{16}(?![\w.-])"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9a-f]{32}(?![\w-])"
    r"|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?![\w-])"
    r"|ops_eyJ[A-Za-z0-9+/]{100,}={0,3}"
)
"""Of Discord, Zhipu, fal and 1Password: told by their parts."""
_INNER = re.compile(
    r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{40,255}|glpat-[\w-]{20,64}|npm_[A-Za-z0-9]{36}"
    r"|sk-(?:proj|ant|svcacct|or)-[\w-]{20,255}|xox[abps]-[\w-]{20,255}|nvapi-[\w-]{40,255}"
    r"|dckr_pat_[\w-]{20,64}|pypi-AgE[\w-]{50,255}|hf_[A-Za-z]{34}(?![A-Za-z0-9])"
)
"""Tokens that nothing else looks like, also right behind a letter or a dash: `notes-ghp_...`."""


def tokens(data: bytes, text: str) -> Iterator[Found]:
    """All of them; `text` has a character for each byte of `data`. They may overlap."""
    classes = data.translate(_CLASSES)
    at = classes.find(_RUN)
    while at >= 0:
        end = classes.find(b" ", at + _LONG)
        end = len(text) if end < 0 else end
        yield from _in_run(text, at, end)
        if text[end : end + 1] in ("+", "/") and (blob := _BASE64.match(text, at)) is not None:
            end = max(end, blob.end() if blob.end() - at > _PICTURE else end)
        at = classes.find(_RUN, end)


def _in_run(text: str, start: int, end: int) -> Iterator[Found]:
    if text[start : start + 2] in _FIRST and (hit := _BEGIN.match(text, start, end)) is not None:
        yield from _shaped(text, start, hit[0])
    elif (hit := _WHOLE.match(text, start)) is not None and not is_placeholder(hit[0]):
        yield *hit.span(), "a token"
    if text[start - 1 : start] in (".", ":", "~"):
        yield from _continued(text, start)
    if end - start <= _MOST_INNER:
        for hit in _INNER.finditer(text, start, end):
            if not is_placeholder(hit[0]):
                yield *hit.span(), "a token"


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
        and (is_drawn(rest[0]) or hit.lastgroup != "telegram")
    ):
        yield hit.start(), rest.end(), kind
