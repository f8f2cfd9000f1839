"""Looks for one version of each package such that all known requirements hold: the proof that a set works."""

from __future__ import annotations

from dsec_cli.packages.known import PYTHON
from dsec_cli.packages.ranges import EVERYTHING, NOTHING, intersect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.packages.conflicts import Entry
    from dsec_cli.packages.known import Shelf
    from dsec_cli.packages.ranges import Ranges

    Wanted = dict[str, Ranges]

_STEPS = 300
"""Versions tried before it gives up; a set that works is found in a few dozen."""


def settle(entries: tuple[Entry, ...], shelf: Shelf) -> dict[str, str] | None:
    """A version of every package of which something is known, newest first; None: none was found.

    Only releases whose requirements have all been read are chosen, where any of the package's have.
    """
    wanted: Wanted = {}
    for entry in entries:
        wanted[entry.name] = intersect(wanted.get(entry.name, EVERYTHING), shelf.ranges(entry.wanted))
    if shelf.python():
        wanted[PYTHON] = shelf.ranges(shelf.python())
    if NOTHING in wanted.values():
        return None
    return _Search(shelf).complete(wanted, {})


class _Search:
    """One search: what is left of its steps."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.left = _STEPS

    def complete(self, wanted: Wanted, chosen: dict[str, str]) -> dict[str, str] | None:
        """The choices completed; `wanted` holds what all chosen ones allow."""
        undecided = [one for one in wanted if one not in chosen and self._choices(one, EVERYTHING)]
        if not undecided:
            return chosen
        # The package with the fewest versions left is the one that fails soonest.
        name = min(undecided, key=lambda one: len(self._choices(one, wanted[one])))
        for version in reversed(self._choices(name, wanted[name])):
            self.left -= 1
            if self.left < 0:
                return None
            now = {**chosen, name: version}
            narrowed = self._narrowed(wanted, name, now)
            found = None if narrowed is None else self.complete(narrowed, now)
            if found is not None:
                return found
        return None

    def _choices(self, name: str, ranges: Ranges) -> tuple[str, ...]:
        known = self.shelf.candidates(name, ranges)
        facts = self.shelf.facts(name)
        if facts is None or not facts.read:
            return known
        return tuple(one for one in known if self.shelf.is_read(name, one))

    def _narrowed(self, wanted: Wanted, name: str, chosen: dict[str, str]) -> Wanted | None:
        """What is wanted once `name` is chosen; None: that leaves nothing of some package."""
        found = dict(wanted)
        for on, need in self.shelf.needs(name, chosen[name]).items():
            found[on] = intersect(found.get(on, EVERYTHING), need.ranges)
            if found[on] == NOTHING or (on in chosen and not self.shelf.holds(found[on], chosen[on])):
                return None
        return found
