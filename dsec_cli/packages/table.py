"""Reads tables of requirements: those that DSec ships, one file a package, and those of the user."""

from __future__ import annotations

from dsec.errors import FileProblem
from dsec.versions import NO_VERSION, range_problem
from dsec_cli.packages.known import PYTHON, Facts, Row
from dsec_cli.packages.ranges import MOST, point, unread
from dsec_cli.packages.requirement import normalised
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORMAT = "dsec.conflicts/1"
NOTES = "_notes"
"""File of rows that no metadata tell; no package's normalised name begins like it."""
_HINT = "the form of a table is in docs/reference/package-table.md"
_SHOWN = 80
"""Characters of a text of the user's that a message repeats."""
_ROW = {"package", "versions", "on", "needs", "when", "source", "why"}
_FILE = {"$schema", "format", "package", "checked", "releases", "read", "rows"}


def parse(data: bytes, where: str) -> tuple[Facts, ...]:
    """The facts of one table, by package; raises FileProblem."""
    import json

    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise FileProblem(
            say("{where} is no JSON: {problem}", where=where, problem=problem), hint=_HINT
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileProblem(
            say("{where} is no table of the format {format}", where=where, format=FORMAT), hint=_HINT
        )
    return _facts(document, where)


def _facts(document: Mapping[str, object], where: str) -> tuple[Facts, ...]:
    _only(document, _FILE, where)
    own = normalised(_text(document, "package", where)) if "package" in document else ""
    stated = document.get("rows", [])
    if not isinstance(stated, list):
        raise FileProblem(say("{where}: rows is no list", where=where), hint=_HINT)
    rows: dict[str, list[Row]] = {own: []} if own else {}
    for at, one in enumerate(stated):
        row = _row(one, own, f"{where}: rows[{at}]")
        rows.setdefault(row.package, []).append(row)
    releases, read = (_texts(document, key, where) if own else () for key in ("releases", "read"))
    releases = tuple(sorted((one for one in releases if point(one)), key=lambda one: point(one) or MOST))
    return tuple(
        Facts(name, releases, frozenset(read), tuple(held))
        if name == own
        else Facts(name, (), frozenset(), tuple(held))
        for name, held in rows.items()
    )


def _row(one: object, own: str, where: str) -> Row:
    if not isinstance(one, dict):
        raise FileProblem(say("{where} is no object", where=where), hint=_HINT)
    _only(one, _ROW, where)
    package = normalised(_text(one, "package", where)) if "package" in one or not own else own
    listed = isinstance(one.get("versions"), list)
    return Row(
        package,
        _texts(one, "versions", where) if listed else (),
        "" if listed else _range(one, "versions", where),
        normalised(_text(one, "on", where)),
        _range(one, "needs", where),
        _marker(one, where),
        _text(one, "source", where),
        _text(one, "why", where) if "why" in one else "",
    )


def _only(one: Mapping[str, object], keys: set[str], where: str) -> None:
    for key in one:
        if key not in keys:
            raise FileProblem(say("{where}: unknown key {key!r}", where=where, key=key), hint=_HINT)


def _text(one: Mapping[str, object], key: str, where: str) -> str:
    value = one.get(key)
    if not isinstance(value, str) or not value.strip():
        raise FileProblem(say("{where}: {key} is no text", where=where, key=key), hint=_HINT)
    return value.strip()


def _texts(one: Mapping[str, object], key: str, where: str) -> tuple[str, ...]:
    value = one.get(key, [])
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise FileProblem(say("{where}: {key} is no list of versions", where=where, key=key), hint=_HINT)
    return tuple(value)


def _range(one: Mapping[str, object], key: str, where: str) -> str:
    text = _text(one, key, where)
    problem = range_problem(text)
    if not problem and unread(text):
        # A row over versions that cannot be compared would hold for all of them.
        problem = NO_VERSION.format(clause=unread(text))
    if problem:
        raise FileProblem(
            say(
                "{where}: {key} {text!r} is no range: {problem}",
                where=where,
                key=key,
                text=_short(text),
                problem=_short(problem),
            ),
            hint=_HINT,
        )
    return text


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _marker(one: Mapping[str, object], where: str) -> str:
    from dsec_cli.packages.markers import is_marker

    text = _text(one, "when", where) if "when" in one else ""
    if text and not is_marker(text):
        raise FileProblem(
            say("{where}: when {text!r} is no environment marker", where=where, text=_short(text)),
            hint=say("such as python_version < '3.10'"),
        )
    return text


def shipped(name: str) -> tuple[Facts, ...]:
    """What the table that DSec ships says, in the file `name`; empty: there is none."""
    if not name or not all(char.isalnum() or char in "-_" for char in name):
        return ()
    folder = __file__.rpartition("/")[0]
    try:
        data: bytes = globals()["__loader__"].get_data(f"{folder}/data/{name}.json")
    except OSError:
        return ()
    return _as_it_is(data)


def _as_it_is(data: bytes) -> tuple[Facts, ...]:
    """The facts of a shipped file, which the tests have read with `parse`."""
    import json

    document = json.loads(data)
    own = document.get("package", "")
    rows: dict[str, list[Row]] = {own: []} if own else {}
    for one in document["rows"]:
        package, stated = one.get("package", own), one["versions"]
        versions, within = ((), stated) if isinstance(stated, str) else (tuple(stated), "")
        when, why = one.get("when", ""), one.get("why", "")
        row = Row(package, versions, within, one["on"], one["needs"], when, one["source"], why)
        rows.setdefault(package, []).append(row)
    releases, read = tuple(document.get("releases", ())), frozenset(document.get("read", ()))
    return tuple(
        Facts(name, *((releases, read) if name == own else ((), frozenset())), tuple(held))
        for name, held in rows.items()
    )


def source(extra: tuple[Facts, ...] = ()) -> Callable[[str], Facts | None]:
    """What knows the facts of each package: the shipped table, its notes, and the user's `extra` ones."""
    added: dict[str, list[Facts]] = {}
    for facts in (*shipped(NOTES), *extra):
        added.setdefault(facts.name, []).append(facts)

    def fetch(name: str) -> Facts | None:
        if name == PYTHON:
            return None
        parts = [*shipped(name), *added.get(name, [])]
        return _merged(name, parts) if parts else None

    return fetch


def _merged(name: str, parts: list[Facts]) -> Facts:
    """All that several tables say; releases are those of the last that lists any."""
    listed = [part for part in parts if part.releases]
    releases = listed[-1].releases if listed else ()
    read = frozenset(version for part in parts for version in part.read)
    return Facts(name, releases, read, tuple(row for part in parts for row in part.rows))
