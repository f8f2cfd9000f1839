"""The two entries that cannot go together, and how each leads to what is in dispute, out of uv's words."""

from __future__ import annotations

from dsec_cli.packages.conflicts import ENVIRONMENT, Chain, Conflict, Entry
from dsec_cli.packages.known import PYTHON
from dsec_cli.packages.ranges import NOTHING, holds, intersect, of, spell, unite, without
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.packages.derivation import Derivation, Needed

    Releases = Callable[[str], tuple[str, ...] | None]

INDEX, NO_PLACE = "index", "the index"
_DEEPEST, _MOST_CHAINS, _MOST_NAMED = 8, 200, 10


def conflict_of(
    derivation: Derivation,
    entries: tuple[Entry, ...],
    python: str,
    *,
    source: str,
    releases: Releases,
) -> Conflict | None:
    """The two that exclude each other; None: the words name no entry.

    `releases` gives the versions of a package that can be used, in ascending order; None: not known.
    """
    stated = derivation._replace(needed=tuple(one for one in derivation.needed if not one.derived))
    chains: list[Chain] = []
    for clauses in (stated, derivation):
        chains = [
            chain
            for entry in entries
            if entry.name in derivation.required
            for chain in _chains(entry, clauses, source, releases)
        ]
        conflict = _of_two([*chains, *_of_python(python)])
        if conflict is not None:
            return conflict
    return _of_index(derivation, chains, releases) or of_all(
        tuple(entry for entry in entries if entry.name in derivation.required), source
    )


def _of_python(python: str) -> list[Chain]:
    if not python:
        return []
    version = python.removeprefix("==").removesuffix(".*")
    entry = Entry(PYTHON, python, origin=ENVIRONMENT)
    return [Chain(entry, (f"{PYTHON} {version}",), of(python), python, ())]


def _of_two(chains: list[Chain]) -> Conflict | None:
    apart = [
        (one.entry == other.entry, len(one.links) + len(other.links), at, beside)
        for at, one in enumerate(chains)
        for beside, other in enumerate(chains[at + 1 :], at + 1)
        if _end(one) == _end(other) and intersect(one.ranges, other.ranges) == NOTHING
    ]
    if not apart:
        return None
    _, _, at, beside = min(apart)
    return Conflict(_end(chains[at]), chains[at], chains[beside])


def _end(chain: Chain) -> str:
    return chain.links[-1].partition(" ")[0]


def _chains(entry: Entry, derivation: Derivation, source: str, releases: Releases) -> list[Chain]:
    """The entry itself, and the ways from it to what it needs, nearest first; each package once."""
    found = [Chain(entry, (entry.text,), of(entry.wanted), entry.wanted, ())]
    label = f"{entry.name} {_exact(entry.wanted)}".rstrip()
    ways = [Chain(entry, (label,), of(entry.wanted), entry.wanted, ())]
    seen = {entry.name}
    for _ in range(_DEEPEST):
        onward = []
        for way in ways:
            for on, needs in _onward(way, derivation, releases).items():
                texts = [text for need in needs for text in need.texts]
                text = spell(texts) if all(texts) else ""
                allowed = unite(need.allowed for need in needs)
                chain = Chain(entry, (*way.links, f"{on} {text}".rstrip()), allowed, text, (source,))
                found.append(chain)
                if on not in seen and len(found) < _MOST_CHAINS:
                    seen.add(on)
                    onward.append(chain)
        ways = onward
    return found[:_MOST_CHAINS]


def _onward(way: Chain, derivation: Derivation, releases: Releases) -> dict[str, list[Needed]]:
    """By package, the clauses that together tell what every release at the end of the way needs of it."""
    name = _end(way)
    by_target: dict[str, list[Needed]] = {}
    for need in derivation.needed:
        if need.name == name and intersect(need.ranges, way.ranges) != NOTHING:
            by_target.setdefault(need.on, []).append(need)
    return {on: needs for on, needs in by_target.items() if _covers(needs, way, releases)}


def _covers(needs: list[Needed], way: Chain, releases: Releases) -> bool:
    left = without(way.ranges, unite(need.ranges for need in needs))
    if left == NOTHING:
        return True
    there = releases(_end(way))
    return there is not None and not any(holds(left, one) for one in there)


def _exact(wanted: str) -> str:
    exact = wanted.startswith("==") and not wanted.endswith(".*") and "," not in wanted
    return wanted.lstrip("=") if exact else wanted


def _of_index(derivation: Derivation, chains: list[Chain], releases: Releases) -> Conflict | None:
    """Something is needed that the index does not have: the way that leads to it, and what the index has."""
    onward = [chain for chain in chains if chain.sources]
    ends = [chain for chain in onward if _end(chain) in derivation.absent]
    if not ends and len({chain.entry for chain in chains}) == 1:
        ends = onward[-1:]
    if not ends:
        return None
    chain = ends[0]
    name = _end(chain)
    version = (releases(name) or ("",))[-1]
    offer = f"<={version}" if version and not holds(chain.ranges, version) else ""
    entry = Entry(name if offer else NO_PLACE, offer, origin=INDEX)
    wanted = f"{name} {chain.text}".rstrip()
    link = entry.text if offer else say("no {package} that can be used", package=wanted)
    return Conflict(name, chain, Chain(entry, (link,), of(offer), offer, ()))


def of_all(entries: tuple[Entry, ...], source: str) -> Conflict | None:
    """No two of them exclude each other, only all together: the first and the last, and the others."""
    if not entries:
        return None
    own = [Chain(entry, (entry.text,), of(entry.wanted), entry.wanted, ()) for entry in entries]
    first = own[0]._replace(sources=(source,))
    if len(own) > 1:
        names = ", ".join(one.text for one in entries[:_MOST_NAMED])
        first = first._replace(why=say("{packages} have no versions that go together", packages=names))
        return Conflict(entries[-1].name, first, own[-1], entries[1:-1])
    nowhere = Entry(NO_PLACE, "", origin=INDEX)
    link = say("no {package} that can be used", package=first.entry.text)
    return Conflict(first.entry.name, first, Chain(nowhere, (link,), NOTHING, "", ()))
