"""Whether a command colours its text: its option, then the environment, the user's setting, the terminal."""

from __future__ import annotations

import os

from dsec_cli.report.terminal import wants_color

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO


def colored(when: str, stream: IO[str]) -> bool:
    """Whether to colour what goes to `stream`; raises FileProblem for damaged settings."""
    if when == "auto" and not os.environ.get("NO_COLOR") and not os.environ.get("FORCE_COLOR"):
        path = os.path.join(os.path.expanduser("~"), ".ds", "config.yaml")
        if os.path.exists(path):
            from dsec_cli.settings import value_of

            when = value_of("color", path=path)
    return wants_color(when, stream)
