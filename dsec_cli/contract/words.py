"""A command line in one string, split into words as a POSIX shell would, and no shell run."""

from __future__ import annotations


def split(text: str) -> tuple[str, ...]:
    """The words of `text`; raises ValueError with the reason (an open quotation, for one)."""
    if text.isascii() and not any(c in text for c in "'\"\\"):
        # Nearly every command; splitting on blanks is then all that the shell's rules amount to.
        return tuple(word for word in text.translate(_BLANKS).split(" ") if word)
    return tuple(_words(text))


_BLANKS = {ord(blank): " " for blank in "\t\r\n"}
_PARTS = r"""([ \t\r\n]+)|([^ \t\r\n'"\\]+)|'([^']*)'|"([^"\\]*(?:\\.[^"\\]*)*)"|\\(.)"""
"""Blanks, plain characters, both kinds of quotations, and a character behind a backslash."""


def _words(text: str) -> list[str]:
    """As `shlex.split`, which takes time by the square of a word's length: it adds character by character."""
    import re  # only who quotes pays for it

    words: list[str] = []
    pieces: list[str] | None = None
    end = 0
    for part in re.compile(_PARTS, re.DOTALL).finditer(text):
        if part.start() != end:
            break
        end = part.end()
        blanks, plain, single, double, escaped = part.groups()
        if blanks:
            words += [] if pieces is None else ["".join(pieces)]
            pieces = None
            continue
        pieces = [] if pieces is None else pieces
        pieces.append(plain or single or escaped or _unescaped(double or ""))
    if end != len(text):
        left = text[end:]
        escaping = left[0] != "'" and (len(left) - len(left.rstrip("\\"))) % 2
        raise ValueError("No escaped character" if escaping else "No closing quotation")
    return words if pieces is None else [*words, "".join(pieces)]


def _unescaped(quoted: str) -> str:
    """Within double quotes a backslash counts before a quote and before itself only."""
    if "\\" not in quoted:
        return quoted
    import re

    return re.sub(r'\\(["\\])', r"\1", quoted)
