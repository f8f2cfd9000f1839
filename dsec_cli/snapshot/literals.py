"""Texts of programs whose adjacent literals are read as one: `"ghp_" "aB3..."`, `"a" + "b"`. Pure."""

from __future__ import annotations

import bisect
import re

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SEAM = re.compile(
    r"[\"'](?<=[\w/:.=+-][\"'])[ \t]*(?:[+.&]|\\|\.\.)?[ \t]*(?:\\?\r?\n[ \t]*(?:[+.&]|\.\.)?[ \t]*)?"
    r"[rbfuRBFU]{0,2}[\"'](?=[\w/:.=+-])"
)
"""The end of one literal and the beginning of the next, with nothing but a sign of joining between them.

It begins with the quote, as that is what can be searched for quickly.
"""


_SHELL_SEAM = re.compile(r"[\"'](?<=[\w/:.=+-][\"'])[\"']?(?=[\w/:.=+-])")
"""The same of a shell, where words go on through quotes."""
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
    if name.endswith(_DATA):
        return None
    return _SHELL_SEAM if name.endswith(_SHELL) else SEAM


def joined(text: str, seam: re.Pattern[str]) -> Joined | None:
    """The text without seams; None: it has none."""
    parts: list[str] = []
    cuts: list[int] = []
    moved: list[int] = []
    at = gone = 0
    for hit in seam.finditer(text):
        parts.append(text[at : hit.start()])
        at = hit.end()
        gone += at - hit.start()
        cuts.append(at - gone)
        moved.append(gone)
    return Joined("".join([*parts, text[at:]]), tuple(cuts), tuple(moved)) if cuts else None
