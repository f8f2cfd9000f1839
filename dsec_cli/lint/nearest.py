"""Did you mean: the nearest of the words that would have been right."""

from __future__ import annotations

from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = 10


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that proposes the nearest known word, or lists what there is; "" if nothing is."""
    # Only a wrong word pays for the import; a clean contract never gets here.
    from dsec_cli.contract.suggest import nearest

    names = sorted(known)
    best = nearest(word, names)
    if best is not None:
        return say("did you mean {word!r}?", word=best.word)
    if not names:
        return ""
    more = ", ..." if len(names) > SHOWN else ""
    return say("known here: {names}{more}", names=", ".join(names[:SHOWN]), more=more)
