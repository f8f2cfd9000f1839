"""What the place we write to can show: colours and columns."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

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
