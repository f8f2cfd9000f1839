"""All conflicts of a contract's packages: what an index has shown, then what the table says of the rest."""

from __future__ import annotations

from dsec_cli.packages.alternatives import nearest
from dsec_cli.packages.conflicts import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.packages.alternatives import Alternative
    from dsec_cli.packages.conflicts import Conflict, Entry
    from dsec_cli.packages.held import Held

_MOST_SOUGHT, _MOST_COMPARED = 20, 1000
"""Conflicts for which a way out is sought, and entries against which all of these are tried."""


def disputes(entries: tuple[Entry, ...], held: Held) -> tuple[tuple[Conflict, Alternative | None], ...]:
    """Each pair once, with the nearest change that works; of very many, that of the first."""
    shelf = held.shelf()
    shown = {_pair(one) for one, _ in held.disputes}
    told = [one for one in find(entries, shelf) if _pair(one) not in shown]
    sought = max(1, min(_MOST_SOUGHT, _MOST_COMPARED // len(entries))) if entries else 0
    found = (nearest(one, entries, shelf) if at < sought else None for at, one in enumerate(told))
    return (*held.disputes, *zip(told, found, strict=True))


def _pair(conflict: Conflict) -> frozenset[Entry]:
    return frozenset((conflict.one.entry, conflict.other.entry))
