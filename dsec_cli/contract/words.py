"""A command line in one string, split into words as a POSIX shell would, and no shell run."""

from __future__ import annotations


def split(text: str) -> tuple[str, ...]:
    """The words of `text`; raises ValueError with the reason (an open quotation, for one)."""
    if text.isascii() and not any(c in text for c in "'\"\\"):
        # Nearly every command; splitting on blanks is then all that the shell's rules amount to.
        return tuple(word for word in text.translate(_BLANKS).split(" ") if word)
    from shlex import split as split_quoted

    return tuple(split_quoted(text))


_BLANKS = {ord(blank): " " for blank in "\t\r\n"}
