"""Texts of programs whose adjacent literals are read as one: `"ghp_" "aB3..."`, `"a" + "b"`. Pure."""

from __future__ import annotations

import bisect
import itertools
import re

from dsec.record import Record
from dsec_cli.snapshot.pattern import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SEAM = regex(
    r"[\"'](?<=[\w/:.=+-][\"'])[ \t]*+(?:\.\.|[+.&\\])?+[ \t]*+"
    r"(?:\\?(?:(?<=[ \t+.&])(?:#|//)[^\n]{0,160}+)?+\r?\n"
    r"[ \t]*+(?:(?:#|//)[^\n]{0,160}+\n[ \t]*+){0,4}+(?:\.\.|[+.&])?+[ \t]*+)?+"
    r"[rbfuRBFU]{0,2}+[\"'](?=[\w/:.=+-])"
)
"""The end of one literal and the beginning of the next, with only a sign of joining and comments between.

It begins with the quote, as that is what can be searched for quickly.
"""


_SHELL_SEAM = regex(r"[\"'](?<=[\w/:.=+-][\"'])[\"']?(?=[\w/:.=+-])|\\\r?\n(?<=[\w/:.=+-]\\\n)(?=[\w/:.=+-])")
"""The same of a shell, where words go on through quotes and in the next line."""
_FOLDED = regex(r"\\\n(?<=[\w/:.=+-]\\\n)[ \t]*+(?=[\w/:.=+-])")
"""A literal of YAML that goes on in the next line."""
_QUOTES = "\"'"
_MARKS = tuple(map("".join, (*itertools.product("rbfuRBFU"), *itertools.product("rbfuRBFU", repeat=2))))
"""What stands before a literal."""
_OPENED = (*_QUOTES, *(mark + quote for mark in _MARKS for quote in _QUOTES))
SIGNS = (
    *(quote + sign for quote in _QUOTES for sign in "\t+&"),
    *(quote + first + one for quote in _QUOTES for first in " ." for one in (*" \t+.&\\\r\n", *_OPENED)),
    *(quote + remark for quote in _QUOTES for remark in (" #", " //", ".#", ".//")),
    *(quote + mark + other for quote in _QUOTES for mark in _MARKS for other in _QUOTES),
)
"""Every `SEAM` begins with one of these, or with one of the next at its second character."""
SIGNS_BEHIND = tuple(
    char + quote + sign
    for char in map(chr, range(256))
    if char.isalnum() or char in "_/:.=+-"
    for quote in _QUOTES
    for sign in (*_QUOTES, *"\n\r\\")
)
"""Those that would be too many without what must stand before: docstrings end so, too."""
_DATA = (".json", ".jsonl", ".yaml", ".yml", ".csv", ".tsv", ".txt", ".svg", ".xml", ".html", ".lock", ".sum")
_SHELL = (".sh", ".bash", ".zsh", ".envrc", "Makefile", ".mk", "Dockerfile", "Containerfile")


class Joined(Record):
    """A text without its seams."""

    text: str
    cuts: tuple[int, ...]
    """Where in it seams were."""
    moved: tuple[int, ...]
    """How many characters were left out up to each."""

    def places(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The pieces of the text as it is that a range of this one consists of."""
        at = start
        while at < end:
            number = bisect.bisect_right(self.cuts, at)
            stop = min(end, self.cuts[number]) if number < len(self.cuts) else end
            off = self.moved[number - 1] if number else 0
            yield at + off, stop + off
            at = stop


def seam_of(name: str) -> re.Pattern[str] | None:
    """What joins the literals of a file of this name; None: nothing, it is data."""
    if name.endswith((".yaml", ".yml")):
        return _FOLDED
    if name.endswith(_DATA):
        return None
    return _SHELL_SEAM if name.endswith(_SHELL) else SEAM


def joined(text: str, seam: re.Pattern[str], signs: Iterable[int]) -> Joined | None:
    """The text without seams; None: it has none. `signs`: where each `SEAM` may begin, in order."""
    parts: list[str] = []
    cuts: list[int] = []
    moved: list[int] = []
    at = gone = 0
    for start, end in _seams(text, signs) if seam is SEAM else (hit.span() for hit in seam.finditer(text)):
        parts.append(text[at:start])
        at = end
        gone += end - start
        cuts.append(end - gone)
        moved.append(gone)
    return Joined("".join([*parts, text[at:]]), tuple(cuts), tuple(moved)) if cuts else None


def _seams(text: str, signs: Iterable[int]) -> Iterator[tuple[int, int]]:
    end = 0
    for at in signs:
        if at >= end and (hit := SEAM.match(text, at)) is not None:
            end = hit.end()
            yield at, end
