"""The answer of a resolver, and what an index says besides, within the time of the whole answer."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from dsec.record import Record
from dsec_cli.commands import uv_resolver
from dsec_cli.commands.indexing import LIMITS, HttpIndex
from dsec_cli.packages.held import Held, Published

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dsec_cli.packages.conflicts import Entry
    from dsec_cli.packages.index import Index

    Found = TypeVar("Found")


class Answer(Record):
    """What the resolver came to."""

    held: Held
    """What was known before, with what the index offers and forbids."""
    versions: dict[str, str]
    resolver: str
    """Name and version."""
    url: str
    """Of the index, without what is secret in it; "": the resolver has its own settings."""
    limit_s: float
    """What the whole answer may take."""
    words: str = ""
    """The resolver's own, where it found no set."""
    unknown: tuple[str, ...] = ()
    """Releases of which the index does not state what they need."""
    notes: tuple[str, ...] = ()


def http_index(url: str, held: Held, limit_s: float) -> HttpIndex:
    """The index at `url`, for the Python and the machine that packages are wanted for."""
    python = held.known.get("python_full_version") or held.known["python_version"]
    machine = held.known.get("platform_machine", "x86_64")
    # The time of the whole answer ends it; this is for whoever asks an index without such a limit.
    return HttpIndex(url, python=python, machine=machine, limits=LIMITS._replace(whole_s=limit_s + 60))


def in_time(work: Callable[[], Found], *, until: float, limit_s: float) -> Found:
    """What `work` returns or raises; raises OutOfTimeError where it takes longer.

    It runs in a thread that is left alone then: a name server that is silent can be waited for in no other
    way, and the command ends anyway.
    """
    results: list[Found] = []
    problems: list[BaseException] = []

    def task() -> None:
        with suppress(BaseException):  # it is raised again by who waits
            try:
                results.append(work())
            except BaseException as problem:
                problems.append(problem)
                raise

    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    thread.join(max(0.0, until - time.monotonic()))
    if problems:
        raise problems[0]
    if not results:
        raise uv_resolver.out_of_time(limit_s)
    return results[0]


def published_of(name: str, index: Index) -> Published:
    """What the index offers of one package; raises IndexProblem."""
    releases = index.releases(name)
    yanked = {one.version: one.yanked for one in releases if one.yanked is not None}
    return Published(name, tuple(one.version for one in releases), yanked)


def is_nothing_in(entry: Entry, held: Held) -> bool:
    """Whether the index, as far as it was asked, has no version in the entry's range."""
    from dsec.core.pep440 import satisfies

    there = held.published.get(entry.name)
    return there is not None and not any(satisfies(entry.wanted, one) for one in there.versions)
