"""Text as a terminal shows it: how many cells it takes, where it may be cut, what must not be sent."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

TAB = 4
"""Cells a tab is expanded to in excerpts."""


def cells(text: str) -> int:
    """Cells that printable `text` takes: 2 for wide characters, 0 for combining ones."""
    # What was cut to fit has an ellipsis at its ends, each as wide as a letter.
    if text.isascii() or text.strip("…").isascii():
        return len(text)
    return sum(width for _, width in _widths(text))


def padded(text: str, width: int) -> str:
    """`text` with spaces behind it, so that it takes at least `width` cells."""
    return text + " " * (width - cells(text))


def _widths(text: str) -> Iterator[tuple[str, int]]:
    """Each code point with the cells that it adds to those before it."""
    import unicodedata  # only lines beyond ASCII pay for it

    joined = False
    for ch in text:
        if joined or unicodedata.category(ch) in ("Mn", "Me", "Cf"):
            # U+FE0F asks for the emoji form of a narrow symbol; terminals differ, none shows it wider.
            yield ch, 0
        else:
            yield ch, 2 if unicodedata.east_asian_width(ch) in ("W", "F") else 1
        joined = ch == "\u200d"


def shown(text: str) -> str:
    """`text` with tabs expanded and with nothing that a terminal would obey or a reader would not see.

    Bidirectional controls are written out too: they make a line read differently than it parses.
    """
    if text.isprintable():
        return text
    from dsec.markup import terminal_text  # few texts need it

    return terminal_text(text)


def plain(text: str) -> str:
    """`text` with a space for each character that a terminal would obey: for tables, whose width stays."""
    return text if text.isprintable() else "".join(ch if ch.isprintable() else " " for ch in text)


def wrap(text: str, width: int) -> list[str]:
    """Break `text` at spaces, or between wide characters, into lines of at most `width` cells."""
    if text.isascii() and text.isprintable():
        return _wrap_ascii(text, width)
    return _wrap_any(text, width)


def _wrap_any(text: str, width: int) -> list[str]:
    lines: list[str] = []
    line, used = "", 0
    for word in _words(text):
        size = cells(word)
        if line and used + size > width and not word.isspace():
            lines.append(line.rstrip())
            line, used = "", 0
        if not line and word.isspace():
            continue
        line += word
        used += size
    if line.rstrip():
        lines.append(line.rstrip())
    return lines or [""]


def _wrap_ascii(text: str, width: int) -> list[str]:
    """The same of a text in which each character takes a cell."""
    lines: list[str] = []
    text = text.strip(" ")
    start, end = 0, len(text)
    while end - start > width:
        # The last space that leaves the line within its width, else the first one there is.
        stop = text.rfind(" ", start, start + width + 1)
        if stop < 0:
            stop = text.find(" ", start)
            if stop < 0:
                break
        lines.append(text[start:stop].rstrip(" "))
        start = stop
        while text[start] == " ":
            start += 1
    return [*lines, text[start:]]


_CLOSING = "，。：；、！？）」』》…)]},.:;!?%"
"""Marks that no line may begin with: they stay with what is before them."""
_OPENING = "（「『《“([{"
"""Marks that no line may end with."""
_QUOTES = "'\"`"
"""Marks that open and close by turns."""


def _words(text: str) -> Iterator[str]:
    """Runs of spaces, runs of narrow characters, and wide characters one by one."""
    if text.isascii():
        yield from _ascii_words(text)
        return
    run, quoted = "", ""
    for ch, width in _widths(text):
        if run and not (ch.isspace() or run[-1].isspace()) and _stay(run, ch, quoted):
            run += ch
        elif width == 2:
            if run:
                yield run
            run = ch
        elif run and (ch.isspace() != run[-1].isspace() or (width and cells(run[-1]) == 2)):
            yield run
            run = ch
        else:
            run += ch
        if ch in _QUOTES:
            quoted = quoted.replace(ch, "") if ch in quoted else quoted + ch
    if run:
        yield run


def _stay(run: str, ch: str, quoted: str) -> bool:
    """Whether no line may be broken between a run and the next character; `quoted`: the quotes open there."""
    return ch in _CLOSING or ch in quoted or run[-1] in _OPENING or run[-1] in quoted


def _ascii_words(text: str) -> Iterator[str]:
    start = 0
    for at in range(1, len(text)):
        if (text[at] == " ") != (text[at - 1] == " "):
            yield text[start:at]
            start = at
    if text:
        yield text[start:]


def window(text: str, start: int, end: int, *, width: int) -> tuple[str, int, int]:
    """The part of a shown line around cells of `start:end` that fits `width` cells.

    `start` and `end` are code points of `text`; the answer is the cut text and both in its cells.
    """
    before, inside, after = text[:start], text[start:end], text[end:]
    if cells(text) <= width:
        return text, cells(before), cells(before) + cells(inside)
    room = max(width - min(cells(inside), width // 2) - 2, 8)
    before = _tail(before, room * 2 // 3)
    whole, inside = inside, _head(inside, max(width - cells(before) - 2, 1))
    rest = max(width - cells(before) - cells(inside), 0)
    after = _head(after, rest) if inside == whole else ""  # what follows an ellipsis would not be next to it
    return before + inside + after, cells(before), cells(before) + cells(inside)


def _head(text: str, width: int) -> str:
    """The first `width` cells of `text`, an ellipsis in place of what is missing."""
    if cells(text) <= width:
        return text
    if text.isascii():
        return text[: width - 1] + "…" if width > 0 else ""
    used, kept = 0, 0
    for ch, size in _widths(text):
        if used + size > width - 1:
            break
        used += size
        kept += len(ch)
    return text[:kept] + "…" if width > 0 else ""


def _tail(text: str, width: int) -> str:
    """The last `width` cells of `text`, an ellipsis in place of what is missing."""
    if cells(text) <= width:
        return text
    if text.isascii():
        return "…" + text[len(text) - width + 1 :] if width > 0 else ""
    used, kept = 0, 0
    for ch, size in reversed(list(_widths(text))):
        if used + size > width - 1:
            break
        used += size
        kept += len(ch)
    return "…" + text[len(text) - kept :] if width > 0 else ""
