"""`dsec packages --resolve`: what a resolver and the index make of the packages that are wanted.

uv is asked where it is installed, else resolvelib, which has to be; the answer names which one it was.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

from dsec.errors import DSecError
from dsec.versions import range_problem
from dsec_cli.commands import uv_resolver
from dsec_cli.commands.indexing import index_url, pip_settings, shown
from dsec_cli.commands.resolver_answer import Answer, http_index, in_time, is_nothing_in, published_of
from dsec_cli.commands.uv_answer import by_uv
from dsec_cli.packages import markers
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.packages.conflicts import Entry
    from dsec_cli.packages.held import Held
    from dsec_cli.packages.index import Index


class ResolverProblem(DSecError):
    """The resolver is not installed, or came to no end."""


def resolve(entries: tuple[Entry, ...], held: Held, *, index: str | None, limit_s: float) -> Answer:
    """Ask a resolver; raises IndexProblem, UvProblem and ResolverProblem."""
    until = time.monotonic() + limit_s
    held = held._replace(known=_here(held.known))
    good = tuple(one for one in entries if _can_be_asked(one))
    path = uv_resolver.found(os.environ)
    if not path:
        return _by_resolvelib(good, held, index=index, until=until, limit_s=limit_s)
    with tempfile.TemporaryDirectory(prefix="dsec-uv-") as folder:
        # uv looks for a project's settings from here upwards, and anybody may put some into /tmp.
        with open(os.path.join(folder, "uv.toml"), "w", encoding="utf-8"):
            pass
        uv = uv_resolver.known(path, os.environ, folder, until)
        if uv is not None:
            return by_uv(uv, good, held, index=index, until=until, limit_s=limit_s, folder=folder)
    oldest = ".".join(map(str, uv_resolver.OLDEST))
    note = say("{path} is not uv {oldest} or newer, so resolvelib is asked", path=path, oldest=oldest)
    answer = _by_resolvelib(good, held, index=index, until=until, limit_s=limit_s)
    return answer._replace(notes=(note, *answer.notes))


def _can_be_asked(entry: Entry) -> bool:
    """Whether name and range are what they must be; where they are not, that is a finding of its own."""
    from dsec_cli.packages.requirement import read

    whole = read(uv_resolver.line_of(entry))
    plain = entry.wanted.isascii() and not any(ch in entry.wanted for ch in "\r\n;@#\\ ")
    return (
        whole is not None
        and whole.name == entry.name
        and plain
        and not (entry.wanted and range_problem(entry.wanted))
    )


def _by_resolvelib(
    entries: tuple[Entry, ...], held: Held, *, index: str | None, until: float, limit_s: float
) -> Answer:
    from importlib.util import find_spec

    if find_spec("resolvelib") is None:
        raise ResolverProblem(
            "no resolver is installed", hint='pip install uv, or "dsec[resolve]", brings one'
        )
    from importlib.metadata import version

    url = index or index_url(os.environ)
    source = http_index(url, held, limit_s)
    answer = Answer(held, {}, f"resolvelib {version('resolvelib')}", shown(url), limit_s, notes=_not_asked())
    return in_time(lambda: _resolved(answer, entries, source), until=until, limit_s=limit_s)


def _not_asked() -> tuple[str, ...]:
    """Settings of pip that resolvelib does without."""
    pip = pip_settings(os.environ)
    notes = [
        say("the extra index {url} is not asked: with uv installed it is", url=shown(one)) for one in pip.more
    ]
    notes += [
        say("the constraints in {path} do not count: with uv installed they do", path=one)
        for one in pip.constraints
    ]
    return tuple(notes)


def _resolved(answer: Answer, entries: tuple[Entry, ...], source: Index) -> Answer:
    from dsec_cli.packages.resolution import resolve as settle

    held = answer.held
    held = held._replace(published={entry.name: published_of(entry.name, source) for entry in entries})
    answer = answer._replace(held=held)
    if any(is_nothing_in(entry, held) for entry in entries):
        return answer  # DS112 says so, and a resolver could only say the same
    resolved = settle(entries, source, held.known)
    if resolved.gave_up:
        raise ResolverProblem("the resolver gave up", hint="state narrower ranges")
    disputes = ((resolved.conflict, resolved.alternative),) if resolved.conflict is not None else ()
    return answer._replace(
        held=held._replace(disputes=disputes), versions=dict(resolved.versions), unknown=resolved.unknown
    )


def _here(known: object) -> dict[str, str]:
    """What is known of the environment; where no Python is named, that of dsec itself."""
    assert isinstance(known, dict)
    machine = known.get("platform_machine") or os.uname().machine
    if "python_version" in known:
        return {**known, "platform_machine": machine}
    return {**known, **markers.environment(".".join(map(str, sys.version_info[:3])), machine=machine)}
