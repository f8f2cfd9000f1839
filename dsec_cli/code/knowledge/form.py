"""The written form of the knowledge base: JSON text to entries, and the fields that it has.

    {"version": 1, "entries": [{"name": ..., "kind": ..., ...}, ...]}

`FIELDS` is the one description of an entry: the reader, the JSON Schema and the docs follow it.
"""

from __future__ import annotations

import json
import re

from dsec.record import Record
from dsec_cli.code.knowledge.entry import UNKNOWN, Entry, EnvName, FileUse
from dsec_cli.code.knowledge.table import Knowledge, tabulate
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
KINDS = ("client", "function", "server", "tool", "toolkit")
ACCESS = ("read", "read-write", "write")
CALLS = ("async", "blocking", "both")
LABEL = r"(\*|[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)"
HOST = rf"{LABEL}(\.{LABEL})*:([1-9][0-9]{{0,4}}|\*)"
ENV = r"[A-Za-z_][A-Za-z0-9_]*"
RATE = r"[0-9]+(\.[0-9]+)?req/(s|min|h|day)"
URL = r"https://[^\s/]+\.[^\s/]+(/\S*)?"


class Field(Record):
    """One key of an entry: its form, whether it must be there, what it says."""

    key: str
    shape: str
    required: bool
    meaning: str


FIELDS = (
    Field("name", "word", True, "Its name; unique."),
    Field("kind", "kind", True, "What it is."),
    Field("framework", "word", True, "The framework it belongs to; `plain` for a library by itself."),
    Field(
        "imports",
        "words",
        True,
        "Names by which code reaches it; each belongs to one entry. A call with its first argument is "
        "written `boto3.client(s3)`.",
    ),
    Field("function", "text", True, "What it does, in a line."),
    Field(
        "egress",
        "egress",
        True,
        "Whom it calls: `host:port`, where `*` stands for a label; or `unknown: reason`.",
    ),
    Field(
        "env",
        "env",
        True,
        "Environment variables that it reads; required: it fails without it, unless an argument gives it.",
    ),
    Field(
        "files", "files", True, "Files that it reads or writes; path `argument`: the caller chooses which."
    ),
    Field("subprocess", "flag", True, "Whether it starts other programs."),
    Field("executes", "flag", True, "Whether it runs code or commands that are its input."),
    Field("privileges", "text", False, "What it may do beyond reading."),
    Field("rate", "rate", False, "The provider's own limit, such as `1req/s`; written as in a contract."),
    Field("rate_source", "url", False, "Where the provider states the limit."),
    Field("calls", "calls", False, "Whether calls block."),
    Field("streams", "flag", False, "Whether answers can arrive in parts."),
    Field("cost", "text", False, "What the provider says it costs."),
    Field("notes", "text", False, "What else to know."),
    Field("source", "url", False, "Where this can be read; every entry that DSec ships has one."),
    Field("checked", "date", False, "Day on which it was compared with its source; absent: it was not."),
)


class NotKnowledgeError(ValueError):
    """The text is no knowledge base; says where and why."""


def parse(text: str) -> Knowledge:
    """The entries that `text` holds; raises NotKnowledgeError."""
    document = _json(text)
    if not isinstance(document, dict) or set(document) != {"version", "entries"}:
        raise NotKnowledgeError('it must be {"version": 1, "entries": [...]}')
    if document["version"] != VERSION or isinstance(document["version"], bool):
        raise NotKnowledgeError(
            say(
                "it has version {document!r:.40}; this dsec reads {version}",
                document=document["version"],
                version=VERSION,
            )
        )
    if not isinstance(document["entries"], list):
        raise NotKnowledgeError("entries must be a list")
    entries = [_entry(at, item) for at, item in enumerate(document["entries"], 1)]
    _refuse_repeated(entries)
    return tabulate(entries)


def trusted(text: str) -> list[Entry]:
    """The entries of a text that is right: what DSec ships, and tests check with `parse`.

    It takes a fifth of the time, which each run that reads an agent's code would spend.
    """
    return [_taken(item) for item in json.loads(text)["entries"]]


def _taken(item: dict[str, Any]) -> Entry:
    get = item.get
    env = tuple(EnvName(one["name"], one["required"], one["secret"]) for one in item["env"])
    files = tuple(FileUse(one["access"], one["path"]) for one in item["files"])
    lists = {"imports": tuple(item["imports"]), "egress": tuple(item["egress"]), "env": env, "files": files}
    return Entry._make(lists[key] if key in lists else get(key) for key in Entry._fields)


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as problem:
        raise NotKnowledgeError(
            say("line {lineno} is no JSON: {msg}", lineno=problem.lineno, msg=problem.msg)
        ) from None
    except (ValueError, RecursionError) as problem:
        raise NotKnowledgeError(say("it is no JSON: {problem}", problem=problem)) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r:.60} is written twice in one object")
    return found


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no JSON number")


def _entry(at: int, item: Any) -> Entry:
    if not isinstance(item, dict):
        raise NotKnowledgeError(say("entry {at} must be an object", at=at))
    name = item.get("name")
    where = f"entry {at} ({name!r:.60})" if isinstance(name, str) else f"entry {at}"
    values: dict[str, Any] = {}
    for field in FIELDS:
        if field.required and field.key not in item:
            raise NotKnowledgeError(say("{where} has no {key}", where=where, key=field.key))
        value = item.get(field.key)
        values[field.key] = None if value is None and _may_be_null(field) else _value(where, field, value)
    unknown = sorted(set(item) - set(values))
    if unknown:
        raise NotKnowledgeError(
            say("{where} has the unknown key {unknown!r:.60}", where=where, unknown=unknown[0])
        )
    return Entry(**values)


def _may_be_null(field: Field) -> bool:
    return not field.required or field.shape == "flag"


def _value(where: str, field: Field, value: Any) -> Any:
    try:
        return _SHAPES[field.shape](value)
    except _Wrong as problem:
        raise NotKnowledgeError(
            say("{where}: {key} {problem}", where=where, key=field.key, problem=problem)
        ) from None


class _Wrong(ValueError):
    """A value does not have the form of its field."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise _Wrong("must be one line of printable text")
    return value


def _word(value: Any) -> str:
    if any(ch.isspace() for ch in _text(value)[:1] + value[-1:]) or len(value) > 200:
        raise _Wrong("must be a name of at most 200 characters, without spaces around it")
    return str(value)


def _matching(value: Any, pattern: str, what: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise _Wrong(f"must be {what}, not {value!r:.60}")
    return value


def _one_of(value: Any, words: tuple[str, ...]) -> str:
    if value not in words or not isinstance(value, str):
        raise _Wrong(f"must be one of {', '.join(words)}, not {value!r:.60}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(f"must be true, false or null, not {value!r:.60}")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _Wrong(f"must be a list, not {value!r:.60}")
    return value


def _destination(value: Any) -> str:
    if isinstance(value, str) and value.startswith(UNKNOWN) and value[len(UNKNOWN) :].strip():
        return _text(value)
    host = _matching(value, HOST, 'host:port or "unknown: reason"')
    if not host.endswith("*") and int(host.rpartition(":")[2]) > 65535:
        raise _Wrong(f"must have a port of at most 65535, not {value!r:.60}")
    return host


def _object(value: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(keys):
        raise _Wrong(f"must hold objects of {', '.join(keys)}, not {value!r:.60}")
    return value


def _env(value: Any) -> EnvName:
    item = _object(value, ("name", "required", "secret"))
    name = _matching(item["name"], ENV, "the name of a variable")
    return EnvName(name, _flag(item["required"]), _flag(item["secret"]))


def _file(value: Any) -> FileUse:
    item = _object(value, ("access", "path"))
    return FileUse(_one_of(item["access"], ACCESS), _text(item["path"]))


def _date(value: Any) -> str:
    text = _matching(value, r"\d{4}-\d\d-\d\d", "a day such as 2026-11-29")
    from datetime import date  # only files of users pay for it

    try:
        date.fromisoformat(text)
    except ValueError:
        raise _Wrong(f"must be a day of the calendar, not {text!r}") from None
    return text


_SHAPES: dict[str, Any] = {
    "word": _word,
    "text": _text,
    "kind": lambda value: _one_of(value, KINDS),
    "words": lambda value: tuple(map(_word, _list(value))),
    "egress": lambda value: tuple(map(_destination, _list(value))),
    "env": lambda value: tuple(map(_env, _list(value))),
    "files": lambda value: tuple(map(_file, _list(value))),
    "flag": _flag,
    "rate": lambda value: _matching(value, RATE, "a rate such as 1req/s"),
    "calls": lambda value: _one_of(value, CALLS),
    "url": lambda value: _matching(value, URL, "an https address"),
    "date": _date,
}


def _refuse_repeated(entries: list[Entry]) -> None:
    """Two entries of one name, or of one import, leave open which is meant."""
    owner: dict[str, str] = {}
    for entry in entries:
        if entry.name in owner and owner[entry.name] == entry.name:
            raise NotKnowledgeError(say("two entries are called {name!r}", name=entry.name))
        for dotted in dict.fromkeys((entry.name, *entry.imports)):
            if owner.setdefault(dotted, entry.name) != entry.name:
                raise NotKnowledgeError(
                    say(
                        "{owner!r} and {name!r} both claim {dotted!r}",
                        owner=owner[dotted],
                        name=entry.name,
                        dotted=dotted,
                    )
                )
