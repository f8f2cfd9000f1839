"""What uv's answers mean for a contract: versions, or the two packages that cannot go together."""

from __future__ import annotations

import os

from dsec_cli.commands import uv_resolver
from dsec_cli.commands.indexing import index_url, pip_settings, shown
from dsec_cli.commands.resolver_answer import Answer, http_index, in_time, is_nothing_in, published_of
from dsec_cli.commands.uv_resolver import Asked, Said, compile_set
from dsec_cli.packages.alternatives import Alternative, apart
from dsec_cli.packages.derived_conflict import conflict_of, of_all
from dsec_cli.packages.held import Held, Published
from dsec_cli.packages.index import IndexProblem
from dsec_cli.packages.known import Shelf
from dsec_cli.packages.ranges import NOTHING, holds, names_early, of, without
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.commands.indexing import HttpIndex
    from dsec_cli.packages.conflicts import Chain, Conflict, Entry
    from dsec_cli.packages.derivation import Derivation
    from dsec_cli.packages.index import Release

_ROUNDS = 6
"""Times that packages without wheels are found and left out."""
_MOST_ASKED = 40
"""Entries that are left out, one after the other, to find those that are enough."""
_MOST_PAGES = 20
"""Packages whose pages are looked at when there is no set."""


def by_uv(
    uv: uv_resolver.Uv,
    entries: tuple[Entry, ...],
    held: Held,
    *,
    index: str | None,
    until: float,
    limit_s: float,
    folder: str,
) -> Answer:
    """Ask uv; raises UvProblem, and IndexProblem where pip's settings cannot be read."""
    pip = pip_settings(os.environ)
    named = index or pip.url
    env = uv_resolver.environment(os.environ, pip, named)
    python = held.known.get("python_full_version") or held.known["python_version"]
    options = uv_resolver.options(pip, wanted=python, machine=held.known["platform_machine"])
    asked = Asked(uv, env, options, uv_resolver.secrets(env), until, limit_s)
    answer = Answer(held, {}, uv.name, shown(named) if named else "", limit_s)
    return _Question(asked, entries, answer, named, folder).answered()


_MORE = ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")


class _Question:
    """One question to uv, with what has been learnt on the way."""

    def __init__(
        self, asked: Asked, entries: tuple[Entry, ...], answer: Answer, index: str, folder: str
    ) -> None:
        self.asked = asked
        self.entries = entries
        self.answer = answer
        self.folder = folder
        self.pages = _Pages(index, answer.held, asked)
        self.alone = not any(asked.env.get(name) for name in _MORE)
        self.unknown: dict[str, str] = {}
        """Packages that are left out, and of which release nothing is known."""

    def answered(self) -> Answer:
        said = self._ask(self.entries)
        for _ in range(_ROUNDS):
            before = len(self.unknown)
            if said.derivation is not None:
                self._leave_out(said.derivation)
            if len(self.unknown) == before:
                break
            said = self._ask(self.entries)
        answer = self.answer._replace(unknown=tuple(self.unknown.values()))
        return (
            self._solved(said, answer)
            if said.derivation is None
            else self._unsolvable(said.derivation, answer)
        )

    def _ask(self, entries: tuple[Entry, ...]) -> Said:
        if all(one.name in self.unknown for one in entries):
            return Said({}, (), frozenset())  # uv refuses to be asked for nothing
        said = compile_set(self.asked, entries, tuple(self.unknown), self.folder)
        if said.derivation is not None and said.derivation.unsure:
            raise self._no_answer(said.derivation)
        return said

    def _no_answer(self, derivation: Derivation) -> uv_resolver.UvProblem:
        resolver, why = self.asked.uv.name, derivation.words[:300]
        return uv_resolver.UvProblem(
            say("{resolver} could not find out: {why}", resolver=resolver, why=why),
            hint=say("check the network and --index; without --resolve no index is asked"),
        )

    def _solved(self, said: Said, answer: Answer) -> Answer:
        url = answer.url or (said.places[0] if said.places else "")
        more = [one for one in said.places if one != url]
        notes = [say("also asked: {places}", places=", ".join(more))] if more else []
        published = {name: self.pages.published(name) for name in sorted(said.yanked)[:_MOST_PAGES]}
        found = {name: one for name, one in published.items() if one is not None}
        return answer._replace(
            versions=dict(said.versions),
            url=url,
            notes=tuple(notes),
            held=answer.held._replace(published=found),
        )

    def _leave_out(self, derivation: Derivation) -> None:
        """Packages that uv finds no wheel of, though there is a source whose needs are unknown."""
        for name, without_wheel in derivation.unbuilt:
            wanted = [of(one.wanted) for one in self.entries if one.name == name]
            wanted += [one.allowed for one in derivation.needed if one.on == name]
            releases = self.pages.releases(name)
            for ranges in wanted:
                if releases is None:
                    if without(ranges, without_wheel) == NOTHING:
                        self.unknown.setdefault(name, name)
                    continue
                newest = next(
                    (one for one in reversed(releases) if one.yanked is None and holds(ranges, one.version)),
                    None,
                )
                if newest is not None and not newest.wheel_url:
                    self.unknown.setdefault(name, f"{name} {newest.version}")

    def _unsolvable(self, derivation: Derivation, answer: Answer) -> Answer:
        published = self._published(derivation)
        answer = answer._replace(held=answer.held._replace(published=published), words=derivation.words)
        if any(is_nothing_in(entry, answer.held) for entry in self.entries):
            return answer  # DS112 says so
        conflict = self._conflict(derivation)
        if conflict is None:
            raise self._no_answer(derivation)
        disputes = ((conflict, self._nearest(conflict)),)
        return answer._replace(held=answer.held._replace(disputes=disputes))

    def _conflict(self, derivation: Derivation) -> Conflict | None:
        """What the words say, if uv says so of these entries alone; else the entries that are enough."""
        conflict = self._of(derivation, self.entries)
        if conflict is not None and self._is_enough(conflict):
            return conflict
        core = self._core()
        pair = self._of(derivation._replace(required=tuple(one.name for one in core)), core)
        return pair if pair is not None and len(core) < 3 else of_all(core, self.asked.uv.name)

    def _of(self, derivation: Derivation, entries: tuple[Entry, ...]) -> Conflict | None:
        python = Shelf(lambda _: None, known=self.answer.held.known).python()
        return conflict_of(derivation, entries, python, source=self.asked.uv.name, releases=self.pages.usable)

    def _is_enough(self, conflict: Conflict) -> bool:
        blamed = {one.path for one in (conflict.one.entry, conflict.other.entry, *conflict.more)}
        alone = tuple(one for one in self.entries if one.path in blamed)
        try:
            return alone == self.entries or self._ask(alone).derivation is not None
        except uv_resolver.OutOfTimeError:
            return True  # that there is no set is sure, whatever time is left

    def _published(self, derivation: Derivation) -> Mapping[str, Published]:
        """Of the packages that uv does not find as they are wanted, what the index offers."""
        found: dict[str, Published] = {}
        lacking = not {one.name for one in self.entries}.isdisjoint(derivation.missing | derivation.absent)
        for name in dict.fromkeys(one.name for one in self.entries):
            # The page of one index proves nothing where there are others, unless uv speaks of nothing else.
            if lacking and (self.alone or derivation.required == (name,)):
                there = self.pages.published(name) if len(found) < _MOST_PAGES else None
                if there is not None and there.versions:
                    found[name] = there
            if name in derivation.absent:
                found[name] = Published(name, (), {})
        return found

    def _core(self) -> tuple[Entry, ...]:
        """Entries that are enough to have no set, none of which could be missing; each costs a question."""
        core = self.entries
        for entry in self.entries[:_MOST_ASKED]:
            fewer = tuple(one for one in core if one != entry)
            try:
                if fewer and self._ask(fewer).derivation is not None:
                    core = fewer
            except uv_resolver.OutOfTimeError:
                break
        return core

    def _nearest(self, conflict: Conflict) -> Alternative | None:
        """The smaller change of one of the two with which uv finds a set; None: none was found in time."""
        found = []
        for one, other in ((conflict.one, conflict.other), (conflict.other, conflict.one)):
            entry = one.entry
            near = self._near(entry, other) if conflict.on == entry.name else ""
            for wanted in (near, "") if near else ("",) if entry.path else ():
                versions = self._with(entry, wanted)
                version = versions.get(entry.name, "")
                if not version or names_early(f"=={version}"):
                    continue
                names = {conflict.one.entry.name, conflict.other.entry.name, conflict.on}
                works = tuple(sorted((name, versions[name]) for name in names & set(versions)))
                found.append(Alternative(entry, f"=={version}", works, _distance(entry, version)))
                break
        return min(found, key=lambda one: (one.distance, one.entry.path)) if found else None

    def _with(self, entry: Entry, wanted: str) -> Mapping[str, str]:
        """The versions with another range of one entry; empty: there are none, or it takes too long."""
        changed = entry._replace(wanted=wanted)
        try:
            return self._ask(tuple(changed if one == entry else one for one in self.entries)).versions
        except uv_resolver.UvProblem:
            return {}

    def _near(self, entry: Entry, other: Chain) -> str:
        """The version nearest to the entry's that the other one allows; "": not known."""
        releases = [one for one in self.pages.releases(entry.name) or () if one.yanked is None]
        good = [one.version for one in releases if one.wheel_url and holds(other.ranges, one.version)]
        good = [one for one in good if not names_early(f"=={one}")]
        return f"=={min(good, key=lambda one: _distance(entry, one))}" if good and entry.path else ""


def _distance(entry: Entry, version: str) -> tuple[int, ...]:
    bounds = [clause.strip().lstrip("<>=!~").removesuffix(".*") for clause in entry.wanted.split(",")]
    return min((apart(one, version) for one in bounds if one), default=())


class _Pages:
    """The index's pages of single packages, for what uv's words leave open."""

    def __init__(self, url: str, held: Held, asked: Asked) -> None:
        self._url, self._held, self._asked = url, held, asked
        self._index: HttpIndex | None = None
        self._silent = False

    def releases(self, name: str) -> tuple[Release, ...] | None:
        """All releases, in ascending order; None: the index does not tell, or not in a form that we read."""
        if self._silent:
            return None
        try:
            if self._index is None:
                url = self._url or index_url(os.environ)
                self._index = http_index(url, self._held, self._asked.limit_s)
            index = self._index
            return in_time(lambda: index.releases(name), until=self._asked.until, limit_s=self._asked.limit_s)
        except IndexProblem:
            self._silent = True
            return None

    def published(self, name: str) -> Published | None:
        """What is offered of a package; None: not known."""
        if self.releases(name) is None or self._index is None:
            return None
        return published_of(name, self._index)

    def usable(self, name: str) -> tuple[str, ...] | None:
        """Versions that uv would choose, in ascending order; None: not known."""
        releases = self.releases(name)
        if releases is None:
            return None
        good = (one.version for one in releases if one.wheel_url and one.yanked is None)
        return tuple(one for one in good if not names_early(f"=={one}"))
