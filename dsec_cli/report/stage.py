"""What a command is doing, shown on a terminal while it takes long; it touches standard error alone."""

from __future__ import annotations

import os
import sys

from dsec_cli.report.terminal import columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.report.format import Tell

MANY = 5_000
"""Steps with which a stage takes so long that whoever waits wants to know."""


class Stage:
    """`with Stage("reading big.yaml", str, steps=10_000):` shows the text, and takes it away at the end."""

    def __init__(self, text: str, tell: Tell, *, steps: int) -> None:
        shown = steps >= MANY and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._text = f"dsec: {tell(text)} ..." if shown else ""

    def __enter__(self) -> None:
        if self._text:
            sys.stderr.write(f"\r\x1b[K{self._text[: columns(sys.stderr) - 1]}")
            sys.stderr.flush()

    def __exit__(self, *_error: object) -> None:
        if self._text:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
