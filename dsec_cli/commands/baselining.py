"""Baselines: findings that were there before, known by fingerprint, so that only new ones count.

    {"format": "dsec.baseline/1", "findings": [
        {"fingerprint", "code", "file", "path", "message", "reason"}]}

Files are named, and fingerprints made, as seen from the folder of the baseline, so that it holds
wherever the linter is called from. `reason` is for people to fill in; it is kept when the baseline
is written again.
"""

from __future__ import annotations

import json
import os
import shlex

from dsec.errors import FileProblem
from dsec.record import Record
from dsec_cli.commands.choosing import NEVER_SILENT
from dsec_cli.commands.renamed import renamed
from dsec_cli.diagnostics import Silenced
from dsec_cli.report.fingerprint import fingerprints, seen_from
from dsec_cli.report.output import to_file
from dsec_cli.words import english, say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.source.text import SourceText

NAME, VERSION = "dsec.baseline", 1
MOST_BYTES = 64 * 2**20
MOST_NAMED = 10
"""Entries that are gone are named up to this many."""


class Known(Record):
    """One finding of a baseline."""

    fingerprint: str
    code: str
    file: str
    path: str
    message: str
    reason: str


class Compared(Record):
    """What a baseline makes of a lint."""

    diagnostics: tuple[Diagnostic, ...]
    moved: tuple[tuple[str, str], ...]
    """Files as the baseline calls them, which are gone, and as they seem to be called now."""
    gone: tuple[Known, ...]
    """Entries of files that were checked, by rules that ran, that no longer occur."""


def read(path: str) -> tuple[Known, ...]:
    """The entries of a baseline file; raises FileProblem."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise FileProblem(
                say("{path} is larger than {most} MiB", path=path, most=MOST_BYTES >> 20),
                hint="check the name",
            )
        whole = json.loads(data.decode("utf-8"))
    except OSError as problem:
        raise FileProblem(
            say("baseline {path} could not be read: {why}", path=path, why=system(problem)),
            hint=say("write it with: dsec lint --write-baseline {path}", path=shlex.quote(path)),
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise _damaged(path, f"it is no JSON: {problem}") from problem
    name, _, version = str(whole.get("format") if isinstance(whole, dict) else "").partition("/")
    if name != NAME or not (version.isascii() and version.isdigit() and len(version) < 10):
        raise _damaged(path, f"its format is not {NAME}/{VERSION}")
    if int(version) > VERSION:
        raise FileProblem(
            say(
                "baseline {path} was written by a newer DSec ({name}/{version})",
                path=path,
                name=name,
                version=version,
            ),
            hint="update DSec",
        )
    found = whole.get("findings")
    if not isinstance(found, list):
        raise _damaged(path, "it has no list of findings")
    return tuple(_known(path, one) for one in found)


def _known(path: str, entry: object) -> Known:
    values = tuple(entry.get(name) for name in Known._fields) if isinstance(entry, dict) else ()
    if not values or not all(isinstance(value, str) for value in values):
        raise _damaged(path, f"an entry lacks one of {', '.join(Known._fields)}")
    return Known._make(values)


def _damaged(path: str, why: str) -> FileProblem:
    return FileProblem(
        say("baseline {path} cannot be used: {why}", path=path, why=why),
        hint=say("remove it, and write it anew: dsec lint --write-baseline {path}", path=shlex.quote(path)),
    )


def compare(
    path: str,
    known: tuple[Known, ...],
    diagnostics: tuple[Diagnostic, ...],
    *,
    texts: Mapping[str, SourceText],
    codes: frozenset[str],
) -> Compared:
    """Mark what the baseline at `path` knows; `codes` are those of the rules that ran."""
    folder = _folder(path)
    by_print = {one.fingerprint: one for one in known}
    marked, met = [], set()
    called = renamed(known, diagnostics, texts, folder=folder)
    keys = fingerprints(diagnostics, texts, folder=folder, called=called)
    for one, key in zip(diagnostics, keys, strict=True):
        entry = by_print.get(key)
        if entry is not None and one.code not in NEVER_SILENT:
            met.add(key)
            if one.silenced is None:
                one = one._replace(silenced=Silenced("baseline", entry.reason))
        marked.append(one)
    checked = {called.get(name) or seen_from(folder, name) for name in texts}
    gone = [one for one in known if one.fingerprint not in met and one.file in checked and one.code in codes]
    moved = tuple((old, seen_from(folder, name)) for name, old in sorted(called.items()))
    return Compared(tuple(marked), moved, tuple(gone))


def notes(path: str, gone: tuple[Known, ...], moved: tuple[tuple[str, str], ...] = ()) -> tuple[str, ...]:
    """What to say about files that were moved, and entries that no longer occur."""
    return _moved(path, moved) + _gone(path, gone)


def _moved(path: str, moved: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    if not moved:
        return ()
    return (
        say(
            "{file}: taken for renamed: {files} (--write-baseline {file} notes it)",
            file=path,
            files=_first([f"{old} -> {new}" for old, new in moved]),
        ),
    )


def _gone(path: str, gone: tuple[Known, ...]) -> tuple[str, ...]:
    if not gone:
        return ()
    return (
        say(
            "{file}: no longer found: {entries} (--write-baseline {file} drops them)",
            file=path,
            entries=_first([f"{one.code} {one.file} {one.path}".rstrip() for one in gone]),
        ),
    )


def _first(names: list[str]) -> str:
    """The first of many, and how many more there are."""
    more = [f"+{len(names) - MOST_NAMED}"] if len(names) > MOST_NAMED else []
    return ", ".join([*names[:MOST_NAMED], *more])


def write(
    path: str,
    diagnostics: tuple[Diagnostic, ...],
    *,
    texts: Mapping[str, SourceText],
    codes: frozenset[str],
) -> str:
    """Write what counts now to `path`, as a whole or not at all; a line that says what it holds.

    Entries of files and rules that this run did not look at stay, unless their file is gone.
    """
    old = read(path) if os.path.exists(path) else ()
    folder = _folder(path)
    reasons = {one.fingerprint: one.reason for one in old}
    prints = fingerprints(diagnostics, texts, folder=folder)
    called = renamed(old, diagnostics, texts, folder=folder)
    before = fingerprints(diagnostics, texts, folder=folder, called=called)
    # What was known under another name keeps its reason.
    now = dict(zip(before, prints, strict=True))
    reasons = {now.get(key, key): reason for key, reason in reasons.items()}
    new = [
        Known(
            key,
            one.code,
            seen_from(folder, one.place.file),
            one.path,
            english(one.message),
            reasons.get(key, ""),
        )
        for one, key in zip(diagnostics, prints, strict=True)
        if one.silenced is None and one.code not in NEVER_SILENT
    ]
    checked = {seen_from(folder, name) for name in texts}
    kept = [
        one
        for one in old
        if (one.file not in checked or one.code not in codes)
        and os.path.exists(os.path.join(folder, one.file))
    ]
    entries = sorted({*new, *kept}, key=lambda one: (one.file, one.code, one.path, one.fingerprint))
    document = {"format": f"{NAME}/{VERSION}", "findings": [one._asdict() for one in entries]}
    to_file(
        path, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")
    )
    present = {one.fingerprint for one in entries}
    added = sum(one.fingerprint not in reasons for one in entries)
    dropped = sum(key not in present for key in reasons)
    if len(entries) == 1:
        return say(
            "{file}: 1 finding, {added} of them new, {dropped} dropped",
            file=path,
            added=added,
            dropped=dropped,
        )
    return say(
        "{file}: {count} findings, {added} of them new, {dropped} dropped",
        file=path,
        count=len(entries),
        added=added,
        dropped=dropped,
    )


def _folder(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))
