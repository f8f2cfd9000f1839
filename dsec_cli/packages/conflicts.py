"""Finds entries that cannot be met together, and names both chains that lead to the package in dispute.

Nothing is claimed of a release whose requirements are not known, so what is found is a conflict by
the table; that nothing is found proves nothing.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.packages.known import PYTHON, Need
from dsec_cli.packages.ranges import (
    EVERYTHING,
    NOTHING,
    intersect,
    names_early,
    of,
    point,
    spell,
    unite,
    without,
)
from dsec_cli.packages.requirement import split_extras

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract
    from dsec_cli.packages.known import Row, Shelf
    from dsec_cli.packages.ranges import Ranges
    from dsec_cli.source.tree import Path

CONTRACT, ENVIRONMENT = "contract", "environment"
_DEEPEST = 3
"""Longest chain of requirements that is followed."""
_MOST_EACH = 3
"""Disputes of one entry about one package, with those before it."""
_MOST_RANGES = 100
"""Different ranges of one package that are compared with each other."""


class Entry(Record):
    """A package that is wanted, and by whom."""

    name: str
    wanted: str
    extras: frozenset[str] = frozenset()
    path: Path = ()
    """In the contract; empty: it is not stated there."""
    origin: str = CONTRACT

    @property
    def text(self) -> str:
        """As in a chain: `trl ==0.9.6`."""
        return f"{self.name} {self.wanted}".rstrip()


class Chain(Record):
    """How an entry leads to a range of the package at its end."""

    entry: Entry
    links: tuple[str, ...]
    """From the entry to the last package, each with its version or range."""
    ranges: Ranges
    text: str
    """The range at the end, in words."""
    sources: tuple[str, ...]
    why: str = ""
    """What goes wrong otherwise, where that is known."""

    @property
    def words(self) -> str:
        """`contract -> trl 0.9.6 -> transformers >=4.31.0`."""
        return " -> ".join((self.entry.origin, *self.links))


class Conflict(Record):
    """Two entries that ask for versions of one package of which there is none."""

    on: str
    one: Chain
    other: Chain
    more: tuple[Entry, ...] = ()
    """Entries without which the two could go together."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Where what the chains say is written, each once."""
        return tuple(dict.fromkeys((*self.one.sources, *self.other.sources)))

    @property
    def why(self) -> str:
        """What goes wrong otherwise, where that is known."""
        return self.one.why or self.other.why


def entries_of(contract: Contract) -> tuple[Entry, ...]:
    """The Python packages that a contract wants."""
    return tuple(
        Entry(*_named(one.package, one.version or ""), path=one.path)
        for one in contract.dependencies
        if one.package is not None
    )


def _named(package: str, version: str) -> tuple[str, str, frozenset[str]]:
    name, extras = split_extras(package)
    text = ",".join(part.strip() for part in version.split(",") if part.strip())
    return name, f"=={text}" if text[:1].isdigit() and "," not in text else text, extras


def find(entries: tuple[Entry, ...], shelf: Shelf) -> tuple[Conflict, ...]:
    """Pairs of entries that cannot be met together, by their order, each with its shortest chains.

    Of each entry the disputes with the first few before it are named: of 1,000 versions of one package
    any two are at odds.
    """
    by_target = chains_of(entries, shelf)
    shortest: dict[tuple[int, int], Conflict] = {}
    for on, chains in sorted(by_target.items()):
        for pair, conflict in _disputes(on, chains):
            before = shortest.get(pair)
            if before is None or _length(conflict) < _length(before):
                shortest[pair] = conflict
    return tuple(shortest[pair] for pair in sorted(shortest))


def chains_of(entries: tuple[Entry, ...], shelf: Shelf) -> dict[str, list[tuple[int, Chain]]]:
    """By package, the chains that lead to it, each with its entry's place; the last may be the Python's."""
    found: dict[str, list[tuple[int, Chain]]] = {}
    for at, entry in enumerate(entries):
        for on, chain in _chains(entry, shelf):
            found.setdefault(on, []).append((at, chain))
    python = shelf.python()
    if python:
        found.setdefault(PYTHON, []).append((len(entries), _python(python)))
    return found


def against(entry: Entry, others: dict[str, list[tuple[int, Chain]]], shelf: Shelf) -> set[Entry]:
    """The entries, of those whose chains are `others`, that `entry` cannot go with."""
    found = set()
    for on, chain in _chains(entry, shelf):
        for _, other in others.get(on, ()):
            if not _both_around(chain, other) and intersect(chain.ranges, other.ranges) == NOTHING:
                found.add(other.entry)
    return found


def _both_around(one: Chain, other: Chain) -> bool:
    return one.entry.origin == other.entry.origin == ENVIRONMENT


def _python(wanted: str) -> Chain:
    entry = Entry(PYTHON, wanted, origin=ENVIRONMENT)
    version = wanted.removeprefix("==").removesuffix(".*")
    return Chain(entry, (f"{PYTHON} {version}",), of(wanted), wanted, ())


def _length(conflict: Conflict) -> int:
    return len(conflict.one.links) + len(conflict.other.links)


def _disputes(on: str, chains: list[tuple[int, Chain]]) -> Iterator[tuple[tuple[int, int], Conflict]]:
    apart = _apart([chain.ranges for _, chain in chains])
    for later, (beside, other) in enumerate(chains):
        named = 0
        for place in apart.get(other.ranges, ()):
            at, one = chains[place]
            if place >= later or named == _MOST_EACH:
                break
            if at != beside and not _both_around(one, other):
                named += 1
                yield (at, beside), Conflict(on, one, other)


def _apart(ranges: list[Ranges]) -> dict[Ranges, list[int]]:
    """For ranges that have nothing in common with some of the others, the places of those."""
    places: dict[Ranges, list[int]] = {}
    for place, one in enumerate(ranges):
        if one in places or len(places) < _MOST_RANGES:
            places.setdefault(one, []).append(place)
    found: dict[Ranges, list[int]] = {}
    for one in places:
        others = [at for other, at in places.items() if intersect(one, other) == NOTHING]
        if others:
            found[one] = sorted(place for at in others for place in at)
    return found


def _chains(entry: Entry, shelf: Shelf) -> Iterator[tuple[str, Chain]]:
    ranges = shelf.ranges(entry.wanted)
    yield entry.name, Chain(entry, (entry.text,), ranges, entry.wanted, ())
    label = _label(entry.name, ranges, entry.wanted, shelf)
    loose = names_early(entry.wanted)
    yield from _onward(Chain(entry, (label,), ranges, "", ()), entry.name, shelf, loose=loose)


def _label(name: str, ranges: Ranges, text: str, shelf: Shelf) -> str:
    """`trl 0.9.6` where only one release is meant, else the range."""
    here = shelf.installed.get(name)
    meant = shelf.candidates(name, ranges)
    if here is not None and meant == here.releases:
        return f"{name} {meant[0]} (installed)"
    exact = text[2:] if text.startswith("==") and not text.endswith(".*") and "," not in text else ""
    return f"{name} {exact.lstrip('=') or text}".rstrip()


def _onward(chain: Chain, name: str, shelf: Shelf, *, loose: bool = False) -> Iterator[tuple[str, Chain]]:
    """The chains that lead on from a package, nearest first."""
    for on, need in sorted(wants(name, chain.ranges, shelf, loose=loose).items()):
        sources = (*chain.sources, *need.sources)
        links = (*chain.links, f"{on} {need.text}")
        yield on, Chain(chain.entry, links, need.ranges, need.text, sources, need.why)
        seen = any(link.partition(" ")[0] == on for link in chain.links)
        if len(chain.links) < _DEEPEST and on != PYTHON and not seen:
            label = _label(on, need.ranges, need.text, shelf)
            onward = Chain(chain.entry, (*chain.links, label), need.ranges, "", sources)
            yield from _onward(onward, on, shelf, loose=_names_early(need.text))


def _names_early(text: str) -> bool:
    """The same of several ranges in words; of those that are left out it is assumed."""
    return " more" in text or any(names_early(part) for part in text.split(" or "))


def wants(name: str, ranges: Ranges, shelf: Shelf, *, loose: bool = False) -> dict[str, Need]:
    """What every version in the ranges wants, by package: the widest that any of them allows."""
    key = (name, ranges, loose)
    if key not in shelf.wants:
        shelf.wants[key] = _wants(name, ranges, shelf, loose=loose)
    return shelf.wants[key]


def _wants(name: str, ranges: Ranges, shelf: Shelf, *, loose: bool) -> dict[str, Need]:
    unlisted = shelf.unlisted(name, ranges, loose=loose)
    parts = [_of_unlisted(name, unlisted, shelf)] if unlisted else []
    if parts == [{}]:
        return {}
    parts += [shelf.needs(name, version) for version in shelf.candidates(name, ranges)]
    found = {}
    for on in set(parts[0]).intersection(*parts[1:]) if parts else ():
        needs = [part[on] for part in parts]
        united = unite(need.ranges for need in needs)
        if united != EVERYTHING:
            sources = tuple(dict.fromkeys(source for need in needs for source in need.sources))
            found[on] = Need(united, spell(need.text for need in needs), sources, _shared(needs))
    return found


def _shared(needs: list[Need]) -> str:
    """The reason, if all have the same."""
    reasons = {need.why for need in needs}
    return reasons.pop() if len(reasons) == 1 else ""


def _of_unlisted(name: str, ranges: Ranges, shelf: Shelf) -> dict[str, Need]:
    """What rows that cover the whole of the ranges say of releases that nobody has listed."""
    facts = shelf.facts(name)
    rows: dict[str, list[Row]] = {}
    for row in facts.rows if facts is not None else ():
        if not row.versions and shelf.applies(row) and intersect(shelf.ranges(row.within), ranges):
            rows.setdefault(row.on, []).append(row)
    found = {}
    for on, held in rows.items():
        if without(ranges, unite(shelf.ranges(row.within) for row in held)) == NOTHING:
            united = unite(shelf.ranges(row.needs) for row in held)
            reasons = {row.why for row in held}
            why = reasons.pop() if len(reasons) == 1 else ""
            found[on] = Need(united, spell(row.needs for row in held), tuple(row.source for row in held), why)
    return found


def with_bystanders(entries: tuple[Entry, ...], shelf: Shelf) -> tuple[Conflict, ...]:
    """Entries that an installed package which the contract does not name rules out."""
    named = {entry.name for entry in entries}
    found = []
    for name, here in sorted(shelf.installed.items()):
        for on, need in sorted(shelf.needs(name, here.releases[0]).items()) if name not in named else ():
            for entry in entries:
                if entry.name == on and intersect(need.ranges, shelf.ranges(entry.wanted)) == NOTHING:
                    around = Entry(name, f"=={here.releases[0]}", origin=ENVIRONMENT)
                    links = (f"{name} {here.releases[0]}", f"{on} {need.text}")
                    one = Chain(around, links, need.ranges, need.text, need.sources, need.why)
                    own = Chain(entry, (entry.text,), shelf.ranges(entry.wanted), entry.wanted, ())
                    found.append(Conflict(on, one, own))
    return tuple(found)


def installed_outside(entries: tuple[Entry, ...], shelf: Shelf) -> tuple[tuple[Entry, str], ...]:
    """Entries whose package is installed in a version that their range does not hold."""
    found = []
    for entry in entries:
        here = shelf.installed.get(entry.name)
        if here is not None and point(here.releases[0]) and not _holds(entry, here.releases[0]):
            found.append((entry, here.releases[0]))
    return tuple(found)


def _holds(entry: Entry, version: str) -> bool:
    from dsec.core.pep440 import satisfies

    return satisfies(entry.wanted, version)
