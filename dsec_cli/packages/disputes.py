"""All conflicts of a contract's packages: what an index has shown, then what the table says of the rest."""

from __future__ import annotations

from dsec_cli.packages.alternatives import nearest
from dsec_cli.packages.conflicts import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.packages.alternatives import Alternative
    from dsec_cli.packages.conflicts import Conflict, Entry
    from dsec_cli.packages.held import Held


def disputes(entries: tuple[Entry, ...], held: Held) -> tuple[tuple[Conflict, Alternative | None], ...]:
    """Each pair once, with the nearest change that works."""
    shelf = held.shelf()
    shown = {_pair(one) for one, _ in held.disputes}
    told = [one for one in find(entries, shelf) if _pair(one) not in shown]
    return (*held.disputes, *((one, nearest(one, entries, shelf)) for one in told))


def _pair(conflict: Conflict) -> frozenset[Entry]:
    return frozenset((conflict.one.entry, conflict.other.entry))
