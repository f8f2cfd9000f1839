"""Did you mean: the nearest of the words that would have been right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word closest to `word`, or "" when none is close."""
    # Only a wrong word pays for difflib (4 ms); a clean contract never imports it.
    from difflib import get_close_matches

    found = get_close_matches(word[:64], sorted(known), n=1, cutoff=0.6)
    return found[0] if found else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that proposes the nearest known word, or lists what there is."""
    names = sorted(known)
    best = nearest(word, names)
    if best:
        return f"did you mean {best!r}?"
    if not names:
        return ""
    shown = ", ".join(names[:8])
    return f"known here: {shown}{', ...' if len(names) > 8 else ''}"
