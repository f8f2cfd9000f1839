"""All conflicts of a contract's packages: what an index has shown, then what the table says of the rest."""

from __future__ import annotations

from dsec_cli.packages.alternatives import nearest
from dsec_cli.packages.conflicts import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.packages.alternatives import Alternative
    from dsec_cli.packages.conflicts import Conflict, Entry
    from dsec_cli.packages.held import Held
    from dsec_cli.packages.known import Shelf
    from dsec_cli.source.tree import Path

_MOST_SOUGHT, _MOST_COMPARED, _FEW = 20, 1000, 50
"""Conflicts for which a way out is sought, entries against which all of these are tried, and entries of
which the ways out are made to go together."""


def disputes(entries: tuple[Entry, ...], held: Held) -> tuple[tuple[Conflict, Alternative | None], ...]:
    """Each pair once, with the nearest change that works; of very many, that of the first."""
    shelf = held.shelf()
    shown = {_pair(one) for one, _ in held.disputes}
    told = [one for one in find(entries, shelf) if _pair(one) not in shown]
    sought = max(1, min(_MOST_SOUGHT, _MOST_COMPARED // len(entries))) if entries else 0
    if 1 < len(told) <= sought and len(entries) <= _FEW:
        return (*held.disputes, *in_turn(told, entries, shelf))
    found = (nearest(one, entries, shelf) if at < sought else None for at, one in enumerate(told))
    return (*held.disputes, *zip(told, found, strict=True))


def in_turn(
    told: list[Conflict], entries: tuple[Entry, ...], shelf: Shelf
) -> Iterator[tuple[Conflict, Alternative | None]]:
    """A way out of each conflict that goes with those of the conflicts before it, where there is one."""
    changed: dict[Path, Alternative] = {}
    now = entries
    left = {_paths(one): one for one in told}
    for conflict in told:
        same = left.get(_paths(conflict))
        before = [changed[path] for path in _paths(conflict) if path in changed]
        if same is None and before:
            yield conflict, before[0]
            continue
        found = nearest(same, now, shelf) if same is not None else None
        if found is None or found.entry.path in changed:
            yield conflict, nearest(conflict, entries, shelf)
            continue
        yield conflict, found
        changed[found.entry.path] = found
        wanted = found.entry._replace(wanted=found.wanted)
        now = tuple(wanted if one == found.entry else one for one in now)
        left = {_paths(one): one for one in find(now, shelf)}


def _paths(conflict: Conflict) -> tuple[Path, Path]:
    return (conflict.one.entry.path, conflict.other.entry.path)


def _pair(conflict: Conflict) -> frozenset[Entry]:
    return frozenset((conflict.one.entry, conflict.other.entry))
