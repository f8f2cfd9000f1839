"""`dsec packages --resolve`: what the index makes of the packages that are wanted."""

from __future__ import annotations

import os
import sys

from dsec.errors import DSecError
from dsec_cli.commands.indexing import HttpIndex, index_url, shown
from dsec_cli.exit import tell as write
from dsec_cli.packages import markers
from dsec_cli.packages.held import Held, Published
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.packages.conflicts import Entry
    from dsec_cli.packages.index import Index
    from dsec_cli.report.format import Tell


class ResolverProblem(DSecError):
    """The resolver is not installed, or came to no end."""


def resolve(
    entries: tuple[Entry, ...], held: Held, *, index: str | None, tell: Tell = str
) -> tuple[Held, dict[str, str], str]:
    """What the index offers and forbids, the versions that the resolver came to, and the index's URL.

    Raises IndexProblem and ResolverProblem.
    """
    from importlib.util import find_spec

    if find_spec("resolvelib") is None:
        raise ResolverProblem("the resolver is not installed", hint='pip install "dsec[resolve]" brings it')
    from dsec_cli.packages.resolution import resolve as settle

    known = _here(held.known)
    python = known.get("python_full_version") or known["python_version"]
    url = index or index_url(os.environ)
    source = HttpIndex(url, python=python, machine=known.get("platform_machine", "x86_64"))
    published = {entry.name: _published(entry.name, source) for entry in entries}
    held = held._replace(known=known, published=published)
    if any(_nothing_in(entry, published) for entry in entries):
        return held, {}, shown(url)  # DS112 says so, and a resolver could only say the same
    resolved = settle(entries, source, known)
    for one in resolved.unknown[:5]:
        note = say("note: {note}", note=say("the index does not tell what {release} requires", release=one))
        write(tell(note))
    if resolved.gave_up:
        raise ResolverProblem("the resolver gave up", hint="state narrower ranges")
    disputes = ((resolved.conflict, resolved.alternative),) if resolved.conflict is not None else ()
    return held._replace(disputes=disputes), dict(resolved.versions), shown(url)


def _here(known: object) -> dict[str, str]:
    """What is known of the environment; where no Python is named, that of dsec itself."""
    assert isinstance(known, dict)
    machine = known.get("platform_machine") or os.uname().machine
    if "python_version" in known:
        return {**known, "platform_machine": machine}
    return {**known, **markers.environment(".".join(map(str, sys.version_info[:3])), machine=machine)}


def _published(name: str, index: Index) -> Published:
    releases = index.releases(name)
    yanked = {one.version: one.yanked for one in releases if one.yanked is not None}
    return Published(name, tuple(one.version for one in releases), yanked)


def _nothing_in(entry: Entry, published: dict[str, Published]) -> bool:
    from dsec.core.pep440 import satisfies

    return not any(satisfies(entry.wanted, one) for one in published[entry.name].versions)
