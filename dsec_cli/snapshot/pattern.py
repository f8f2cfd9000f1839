"""Regular expressions that are compiled when they are first used: most runs of a command need few of many."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Pattern:
    """Stands for a pattern; its first use gives it all that the pattern has."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for each in ("finditer", "findall", "match", "fullmatch", "search", "split", "sub", "groupindex"):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`; a mistake in the pattern is raised when it is first used."""
    return _Pattern(text, flags)  # type: ignore[return-value]  # it has all that its users need
