"""How much the tables know of the packages that are wanted: what "nothing found" rests on."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.packages.conflicts import Entry
    from dsec_cli.packages.held import Held


class Coverage(Record):
    """Numbers for a contract."""

    packages: int
    """That the contract wants."""
    known: int
    """Of these, those of which the tables hold a rule."""
    rules: int
    """That the tables hold of them."""


def covered(entries: tuple[Entry, ...], held: Held) -> Coverage:
    """What the shipped table and those of the user hold of the entries' packages."""
    shelf = held.shelf()
    names = {entry.name for entry in entries}
    facts = [shelf.facts(name) for name in names]
    rules = [len(one.rows) for one in facts if one is not None and one.rows]
    return Coverage(len(names), len(rules), sum(rules))
