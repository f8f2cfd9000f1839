"""What the place we write to can show: colours and columns."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import IO, TypeAlias

    Paint: TypeAlias = Callable[[str, str], str]
    """(text, ANSI codes such as "1;31") -> the text in that colour, or as it is."""

COLUMNS = 80
WIDEST = 120
"""Lines of prose get no longer than this, however wide the window."""


def wants_color(when: str, stream: IO[str], *, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour: `always` and `never` decide, then NO_COLOR, FORCE_COLOR, then the terminal."""
    if when != "auto":
        return when == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return environ["FORCE_COLOR"] not in ("0", "false")
    return stream.isatty() and environ.get("TERM") != "dumb"


def columns(stream: IO[str], *, environ: Mapping[str, str] = os.environ) -> int:
    """Columns for prose: COLUMNS, else the terminal's, else 80."""
    wished = environ.get("COLUMNS", "")
    if wished.isascii() and wished.isdigit() and int(wished) > 0:
        found = int(wished)
    else:
        try:
            found = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            found = COLUMNS
    return max(40, min(found or COLUMNS, WIDEST))


def paint(*, wanted: bool) -> Paint:
    """The function that colours a text by ANSI codes, or leaves it as it is."""
    return _painted if wanted else _plain


def _painted(text: str, ansi: str) -> str:
    return f"\x1b[{ansi}m{text}\x1b[0m"


def _plain(text: str, _ansi: str) -> str:
    return text
