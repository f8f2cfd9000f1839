"""Lines of a screen: pieces of text with a style, cut and filled to a width."""

from __future__ import annotations

from dsec.core.heat import BARS
from dsec_cli.cells import cells, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    Piece: TypeAlias = tuple[str, str]
    """A text and its style: ANSI codes such as `1;31`, or ""."""
    Line: TypeAlias = list[Piece]

BOLD, DIM, RED, GREEN, YELLOW, CYAN, REVERSE = "1", "2", "31", "32", "33", "36", "7"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NARROW = _EIGHTHS + BARS + "─·…"
"""Signs that this screen draws with, each as wide as a letter."""


def width_of(text: str) -> int:
    """Cells that a text takes; of lines and bars it is known without looking at each sign."""
    return len(text) if text.isascii() or not text.strip(_NARROW) else cells(text)


def cut(text: str, width: int) -> str:
    """The beginning of a text that takes at most `width` cells; an ellipsis stands for the rest."""
    if width <= 0:
        return ""
    if text.isascii():
        return text if len(text) <= width else text[: width - 1] + "…"
    if width_of(text) <= width:
        return text
    kept, used = "", 0
    for char in text:
        size = cells(char)
        if used + size > width - 1:
            break
        kept += char
        used += size
    return kept + "…"


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """A text in exactly `width` cells, whatever it holds."""
    short = cut(plain(text), width)
    gap = " " * (width - width_of(short))
    return gap + short if right else short + gap


def bar(permille: int | None, width: int) -> str:
    """A bar in exactly `width` cells; of what is not known it is made of points."""
    if permille is None:
        return "·" * width
    eighths = min(width * 8, max(0, permille) * width * 8 // 1000)
    whole, part = divmod(eighths, 8)
    text = "█" * whole + (_EIGHTHS[part] if part else "")
    return text + " " * (width - len(text))


def warmth(permille: int | None) -> str:
    """The colour of a share: the more the warmer."""
    if permille is None:
        return DIM
    return GREEN if permille < 700 else YELLOW if permille < 900 else RED


def line_width(line: Iterable[Piece]) -> int:
    """Cells that a line takes."""
    return sum([width_of(text) for text, _ in line])


def trimmed(line: Sequence[Piece], width: int) -> Line:
    """The line in at most `width` cells."""
    found: Line = []
    left = width
    for text, style in line:
        size = width_of(text)
        if size > left:
            found.append((cut(text, left), style))
            break
        found.append((text, style))
        left -= size
    return found


def painted(line: Iterable[Piece], *, color: bool) -> str:
    """The line as the terminal is sent it."""
    if not color:
        return "".join(text for text, _ in line).rstrip()
    return "".join(f"\x1b[{style}m{text}\x1b[0m" if style and text else text for text, style in line)
