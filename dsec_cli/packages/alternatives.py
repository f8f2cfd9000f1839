"""The nearest version of one entry with which a conflict is gone, proven by a set of versions that works."""

from __future__ import annotations

from dsec.core.pep440 import parse
from dsec.record import Record
from dsec_cli.packages.conflicts import against, chains_of
from dsec_cli.packages.settle import settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.packages.conflicts import Chain, Conflict, Entry
    from dsec_cli.packages.known import Shelf
    from dsec_cli.source.tree import Path

_TRIED = 60
"""Versions of an entry that are tried, nearest first."""
_NUMBERS = 5
_FAR = (10**9,) * _NUMBERS


class Alternative(Record):
    """What one entry has to say instead, and a set of versions that shows that it works."""

    entry: Entry
    wanted: str
    works: tuple[tuple[str, str], ...]
    """Name and version, the package in dispute among them where a version of it is known."""
    distance: tuple[int, ...]


def nearest(conflict: Conflict, entries: tuple[Entry, ...], shelf: Shelf) -> Alternative | None:
    """The smaller of the two changes that would do; None: the table knows none."""
    found = [
        alternative
        for chain in (conflict.one, conflict.other)
        if chain.entry.path and (alternative := _Trial(chain.entry, conflict, entries, shelf).first())
    ]
    return min(found, key=lambda one: (one.distance, one.entry.path)) if found else None


class _Trial:
    """Other versions of one entry of a conflict, tried nearest first."""

    def __init__(self, entry: Entry, conflict: Conflict, entries: tuple[Entry, ...], shelf: Shelf) -> None:
        self.entry = entry
        self.conflict = conflict
        self.shelf = shelf
        self.others = tuple(one for one in entries if one != entry)
        self.chains: dict[str, list[tuple[int, Chain]]] | None = None
        both = (conflict.one.entry, conflict.other.entry)
        self.partner = tuple(one for one in both if one != entry and one.path)
        self.before = self._against(entry)
        self.known = self._known()

    def _known(self) -> tuple[str, ...]:
        facts = self.shelf.facts(self.entry.name)
        if facts is None:
            return ()
        return tuple(one for one in facts.releases if one in facts.read) if facts.read else facts.releases

    def first(self) -> Alternative | None:
        """The nearest version that works, and the text that the entry should have."""
        entry = self.entry
        by_distance = [(distance(entry.wanted, one, self.shelf, entry.name), one) for one in self.known]
        for far, version in sorted(by_distance)[:_TRIED]:
            works = self._works(version)
            if works is not None:
                names = {entry.name, self.conflict.on, *(one.name for one in self.partner)}
                shown = tuple(sorted((name, one) for name, one in works.items() if name in names))
                return Alternative(entry, self._text(version), shown, far)
        return None

    def _works(self, version: str) -> dict[str, str] | None:
        """Versions that work for both entries, if the change brings no conflict with another one."""
        changed = self.entry._replace(wanted=f"=={version}")
        against = self._against(changed)
        if not against <= self.before - {one.path for one in self.partner}:
            return None
        return settle((changed, *self.partner), self.shelf)

    def _against(self, entry: Entry) -> set[Path]:
        """The entries that it is in conflict with."""
        if self.chains is None:
            self.chains = chains_of(self.others, self.shelf)
        return {other.path for other in against(entry, self.chains, self.shelf) if other != entry}

    def _text(self, version: str) -> str:
        """One version where one was stated; else the run of releases around it that all work."""
        wanted = self.entry.wanted
        if wanted.startswith("==") and "," not in wanted and not wanted.endswith(".*"):
            return f"=={version}"
        low = high = self.known.index(version)
        while low > 0 and self._works(self.known[low - 1]) is not None:
            low -= 1
        while high + 1 < len(self.known) and self._works(self.known[high + 1]) is not None:
            high += 1
        return f"=={version}" if low == high else f">={self.known[low]},<={self.known[high]}"


def distance(wanted: str, version: str, shelf: Shelf, name: str) -> tuple[int, ...]:
    """How far a version lies from the nearest one that is meant: by epoch, major, minor number and so on."""
    meant = shelf.candidates(name, shelf.ranges(wanted)) or tuple(
        clause.lstrip("<>=!~").removesuffix(".*") for clause in wanted.split(",")
    )
    return min((apart(one, version) for one in meant), default=_FAR)


def apart(one: str, other: str) -> tuple[int, ...]:
    """How far two versions are from each other, by epoch, major, minor number and so on."""
    a, b = _numbers(one), _numbers(other)
    return _FAR if a is None or b is None else tuple(abs(x - y) for x, y in zip(a, b, strict=True))


def _numbers(version: str) -> tuple[int, ...] | None:
    found = parse(version)
    if found is None:
        return None
    return (found.epoch, *(*found.release, *[0] * _NUMBERS)[: _NUMBERS - 1])
