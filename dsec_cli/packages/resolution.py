"""Finds a set of versions in an index with the resolver that pip uses, or the two chains that forbid it."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.packages.alternatives import Alternative, apart
from dsec_cli.packages.conflicts import Chain, Conflict, Entry
from dsec_cli.packages.derived_conflict import of_all
from dsec_cli.packages.known import PYTHON
from dsec_cli.packages.markers import judge
from dsec_cli.packages.ranges import EVERYTHING, NOTHING, holds, intersect, names_early, of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from dsec_cli.packages.index import Index, Release
    from dsec_cli.packages.ranges import Ranges

    Key = tuple[str, frozenset[str]]

ROUNDS = 2000
"""Steps of the resolver before it gives up."""
_INDEX = "metadata in the index"
_MOST_ASKED = 40
"""Entries that are left out, one after the other, to find those that are enough."""
_TRIED = 6
"""Other versions of an entry that are tried, nearest first."""


class Want(Record):
    """A requirement, and how it came about."""

    name: str
    extras: frozenset[str]
    wanted: str
    entry: Entry
    links: tuple[str, ...]
    """From the entry to the package that wants it."""
    source: str = ""


class Choice(Record):
    """A release that the resolver may choose."""

    name: str
    extras: frozenset[str]
    release: Release
    entry: Entry
    links: tuple[str, ...]


class Resolved(Record):
    """What the resolver came to."""

    versions: Mapping[str, str]
    """By package; empty where there is no way."""
    conflict: Conflict | None = None
    alternative: Alternative | None = None
    unknown: tuple[str, ...] = ()
    """Releases whose requirements the index does not tell."""
    gave_up: bool = False


def resolve(entries: tuple[Entry, ...], index: Index, known: Mapping[str, str]) -> Resolved:
    """A version of every package that is needed; raises IndexProblem."""
    resolved = _attempt(entries, index, known)
    if resolved.conflict is None:
        return resolved
    conflict = _of_enough(resolved.conflict, entries, index, known)
    return resolved._replace(conflict=conflict, alternative=_nearest(conflict, entries, index, known))


def _of_enough(
    conflict: Conflict, entries: tuple[Entry, ...], index: Index, known: Mapping[str, str]
) -> Conflict:
    """The conflict, if what it blames has no set by itself; else that of entries that are enough.

    What the resolver met last need not be why there is no set: it may be a version of one entry only.
    """
    alone = tuple(one for one in entries if one in _blamed(conflict))
    if alone == entries or not _attempt(alone, index, known).versions:
        return conflict
    core = entries
    for entry in entries[:_MOST_ASKED]:
        fewer = tuple(one for one in core if one != entry)
        if fewer and not _attempt(fewer, index, known).versions:
            core = fewer
    again = _attempt(core, index, known).conflict
    if again is not None and len(core) < 3 and _blamed(again) == set(core):
        return again
    return of_all(core, _INDEX) or conflict


def _blamed(conflict: Conflict) -> set[Entry]:
    return {one.entry for one in (conflict.one, conflict.other) if one.entry.path}


def _attempt(entries: tuple[Entry, ...], index: Index, known: Mapping[str, str]) -> Resolved:
    # Only who asks an index has the library.
    from resolvelib import BaseReporter, ResolutionImpossible, ResolutionTooDeep, Resolver

    provider = _provider(index, known)
    wants = [Want(one.name, one.extras, one.wanted, one, ()) for one in entries]
    resolver: Any = Resolver(provider, BaseReporter())
    try:
        result = resolver.resolve(wants, max_rounds=ROUNDS)
    except ResolutionTooDeep:
        return Resolved({}, gave_up=True, unknown=tuple(sorted(provider.unknown)))
    except ResolutionImpossible as problem:
        causes = [cause.requirement for cause in problem.causes]
        return Resolved({}, _conflict(causes, index), unknown=tuple(sorted(provider.unknown)))
    versions = {name: choice.release.version for (name, _), choice in result.mapping.items()}
    return Resolved(dict(sorted(versions.items())), unknown=tuple(sorted(provider.unknown)))


def _conflict(causes: list[Want], index: Index) -> Conflict:
    """The two that exclude each other; where it is no matter of two, one and what the index offers."""
    chains = [(want, _chain(want)) for want in dict.fromkeys(causes)]
    pairs = [
        (first.entry == second.entry, intersect(one.ranges, other.ranges) != NOTHING, one, other)
        for at, (first, one) in enumerate(chains)
        for second, other in chains[at + 1 :]
        if first.name == second.name
    ]
    disjoint = [pair for pair in pairs if not pair[1]] or [pair for pair in pairs if not pair[0]]
    if not disjoint:
        want, chain = chains[0]
        return Conflict(want.name, chain, _offer(want.name, index))
    _, _, one, other = min(disjoint, key=lambda pair: pair[:2])
    if other.entry.path < one.entry.path:
        one, other = other, one
    return Conflict(other.links[-1].partition(" ")[0], one, other)


def _offer(name: str, index: Index) -> Chain:
    newest = [one.version for one in index.releases(name)][-1:]
    wanted = f"<={newest[0]}" if newest else ""
    entry = Entry(name, wanted, origin="index")
    return Chain(entry, (entry.text if newest else f"no {name}",), of(wanted), wanted, ())


def _chain(want: Want) -> Chain:
    end = f"{want.name} {want.wanted}".rstrip()
    sources = (want.source,) if want.source else ()
    return Chain(want.entry, (*want.links, end), of(want.wanted), want.wanted, sources)


def _nearest(
    conflict: Conflict, entries: tuple[Entry, ...], index: Index, known: Mapping[str, str]
) -> Alternative | None:
    """The smaller change of one of the two entries with which the whole set can be resolved."""
    found = []
    for entry in {one.entry for one in (conflict.one, conflict.other) if one.entry.path}:
        for far, version in _by_distance(entry, index)[:_TRIED]:
            changed = entry._replace(wanted=f"=={version}")
            resolved = _attempt(tuple(changed if one == entry else one for one in entries), index, known)
            if resolved.versions:
                names = (conflict.one.entry.name, conflict.other.entry.name, conflict.on)
                works = tuple(
                    sorted((name, resolved.versions[name]) for name in set(names) & set(resolved.versions))
                )
                found.append(Alternative(entry, f"=={version}", works, far))
                break
    return min(found, key=lambda one: (one.distance, one.entry.path)) if found else None


def _by_distance(entry: Entry, index: Index) -> list[tuple[tuple[int, ...], str]]:
    releases = [one.version for one in index.releases(entry.name) if one.yanked is None]
    ranges = of(entry.wanted)
    meant = [one for one in releases if holds(ranges, one)]
    bounds = [clause.strip().lstrip("<>=!~").removesuffix(".*") for clause in entry.wanted.split(",")]
    others = [one for one in releases if one not in meant and not names_early(f"=={one}")]
    return sorted((min(apart(one, other) for one in meant or bounds), other) for other in others)


def _provider(index: Index, known: Mapping[str, str]) -> Any:
    """What the resolver asks; a class of the library's, so it is made where that is imported."""
    from resolvelib import AbstractProvider

    class Provider(AbstractProvider):  # type: ignore[type-arg]
        unknown: set[str] = set()  # noqa: RUF012 - replaced below, one for each provider

        def identify(self, requirement_or_candidate: Want | Choice) -> Key:
            return requirement_or_candidate.name, requirement_or_candidate.extras

        def get_preference(
            self,
            identifier: Key,
            resolutions: Mapping[Key, Choice],  # noqa: ARG002 - the library's signature
            candidates: Mapping[Key, Iterator[Choice]],  # noqa: ARG002
            information: Mapping[Key, Iterator[Any]],
            backtrack_causes: Sequence[Any],
        ) -> Any:
            wants = [one.requirement for one in information[identifier]]
            cause = any(identifier == self.identify(one.requirement) for one in backtrack_causes)
            exact = any(want.wanted.startswith("==") for want in wants)
            own = any(not want.links for want in wants)
            return not cause, not exact, not own, identifier[0], sorted(identifier[1])

        def find_matches(
            self,
            identifier: Key,
            requirements: Mapping[Key, Iterator[Want]],
            incompatibilities: Mapping[Key, Iterator[Choice]],
        ) -> list[Choice]:
            wants = list(requirements[identifier])
            bad = {one.release.version for one in incompatibilities[identifier]}
            name, extras = identifier
            return [
                Choice(name, extras, one, wants[0].entry, (*wants[0].links, f"{name} {one.version}"))
                for one in _offered(wants, index)
                if one.version not in bad
            ]

        def is_satisfied_by(self, requirement: Want, candidate: Choice) -> bool:
            return holds(of(requirement.wanted), candidate.release.version)

        def get_dependencies(self, candidate: Choice) -> list[Want]:
            return _dependencies(candidate, index, known, self.unknown)

    provider = Provider()
    provider.unknown = set()
    return provider


def _offered(wants: list[Want], index: Index) -> Iterator[Release]:
    """Releases that all of them allow, newest first; yanked and early ones only where they are named."""
    ranges: Ranges = EVERYTHING
    for want in wants:
        ranges = intersect(ranges, of(want.wanted))
    found = [one for one in index.releases(wants[0].name) if holds(ranges, one.version)]
    exact = any(want.wanted.startswith("==") and not want.wanted.endswith(".*") for want in wants)
    good = found if exact else [one for one in found if one.yanked is None]
    early = any(names_early(want.wanted) for want in wants)
    final = good if early else [one for one in good if not names_early(f"=={one.version.partition('+')[0]}")]
    return reversed(final or good)


def _dependencies(choice: Choice, index: Index, known: Mapping[str, str], unknown: set[str]) -> list[Want]:
    facts = index.facts(choice.name, choice.release)
    if facts is None:
        unknown.add(f"{choice.name} {choice.release.version}")
        return []
    wants = [
        Want(row.on, frozenset(row.extras), row.needs, choice.entry, choice.links, row.source)
        for row in facts.rows
        if row.on != PYTHON and judge(row.when, known, extras=choice.extras) is not False
    ]
    if choice.extras:
        wants.append(
            Want(choice.name, frozenset(), f"=={choice.release.version}", choice.entry, choice.links[:-1])
        )
    return wants
