"""User settings: what there is, what a settings file says, and how its text changes.

The file is edited as text, at the place of one value, so comments and order stay as they are.
"""

from __future__ import annotations

import os

from dsec.errors import FileProblem
from dsec.record import Record
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Mapping, Scalar
from dsec_cli.source.yaml import parse
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.tree import Entry


class Setting(Record):
    """One setting; the first choice is its default."""

    key: str
    choices: tuple[str, ...]
    meaning: str
    refusals: tuple[tuple[str, str], ...] = ()
    """Values that people try, and what to say to them."""
    free: bool = False
    """Other values than the choices are possible, too."""


SETTINGS = (
    Setting(
        "color",
        ("auto", "always", "never"),
        say("When text output is coloured; --color and NO_COLOR go first."),
    ),
    Setting(
        "lang", ("auto", "en", "zh"), say("Language of what people read; --lang and DSEC_LANG go first.")
    ),
    Setting(
        "prices",
        ("~/.ds/prices.yaml",),
        say("File of prices that runs are settled by, where it exists; --prices goes first."),
        free=True,
    ),
    Setting(
        "registry",
        ("~/.ds/registry",),
        say("Folder that ds:// dependencies are looked up in; DSEC_REGISTRY goes first."),
        free=True,
    ),
    Setting(
        "safe-directory",
        ("",),
        say(
            "Folders, separated by colons, whose state is taken though others may write to it; "
            "DSEC_SAFE_DIRECTORY goes first."
        ),
        free=True,
    ),
    Setting(
        "telemetry",
        ("false",),
        say("Whether anything is sent anywhere: nothing is, ever."),
        (("true", say("telemetry cannot be switched on: DSec has none")),),
    ),
)


def setting(key: str) -> Setting | None:
    """The setting called `key`."""
    return next((one for one in SETTINGS if one.key == key), None)


def settings_path() -> str:
    """Where this user's settings are."""
    return os.path.join(os.path.expanduser("~"), ".ds", "config.yaml")


def stored(path: str) -> dict[str, str]:
    """What the file at `path` sets, unknown keys included; no file sets nothing."""
    return _values(_read(path))


def value_of(key: str, *, path: str) -> str:
    """The value in force: the file's, else the default."""
    found = setting(key)
    if found is None:
        raise AssertionError(f"{key} is not in the table of settings")
    value = stored(path).get(key, found.choices[0])
    if value not in found.choices and not found.free:
        raise FileProblem(
            say(
                "{path}: {key} is {value!r}, not {choices}",
                path=path,
                key=key,
                value=value,
                choices=" or ".join(found.choices),
            ),
            hint=say("dsctl config set {key} {choices}", key=key, choices=found.choices[0]),
        )
    return value


def changed(path: str, key: str, value: str | None) -> str:
    """The file's text with `key` set to `value` (None: removed)."""
    source = _read(path)
    before = _values(source)
    if before.get(key) == value:
        return source.text
    text = _without(source, key) if value is None else _with(source, key, value)
    wanted = {name: old for name, old in before.items() if name != key} | (
        {} if value is None else {key: value}
    )
    if _values(SourceText.from_bytes(path, text.encode())) != wanted:
        raise FileProblem(
            say("{path} is laid out in a way that cannot be changed safely", path=path),
            hint=say("edit {key} by hand", key=key),
        )
    return text


def _read(path: str) -> SourceText:
    try:
        with open(path, "rb") as file:
            return SourceText.from_bytes(path, file.read())
    except FileNotFoundError:
        return SourceText.from_bytes(path, b"")
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be read: {why}", path=path, why=system(problem)),
            hint="check its permissions",
        ) from problem


def _root(source: SourceText) -> Mapping | None:
    tree = parse(source)
    if tree.problems:
        first = tree.problems[0]
        line = source.position(first.span.start).line
        raise FileProblem(
            say("{name}:{line}: {message}", name=source.name, line=line, message=first.message),
            hint="mend that line, or remove the file",
        )
    roots = [document.root for document in tree.documents if document.root is not None]
    if not roots or (isinstance(roots[0], Scalar) and not roots[0].text):
        return None
    if len(roots) > 1 or not isinstance(roots[0], Mapping):
        raise FileProblem(
            say("{name} is no list of `key: value` lines", name=source.name),
            hint="mend it, or remove the file",
        )
    return roots[0]


def _values(source: SourceText) -> dict[str, str]:
    root = _root(source)
    entries = root.entries if root else ()
    return {
        key.text: value.text if isinstance(value, Scalar) else source.text[value.span.start : value.span.end]
        for key, value in entries
        if isinstance(key, Scalar)
    }


def _entry(root: Mapping | None, key: str) -> Entry | None:
    entries = root.entries if root else ()
    return next((one for one in entries if isinstance(one.key, Scalar) and one.key.text == key), None)


def _with(source: SourceText, key: str, value: str) -> str:
    root = _root(source)
    entry = _entry(root, key)
    text = source.text
    if entry is not None:
        start, end = entry.value.span
        space = "" if text[:start].endswith((" ", "\n")) else " "
        return text[:start] + space + value + text[end:]
    if root is not None and root.flow:
        comma = ", " if root.entries else ""
        return f"{text[: root.span.end - 1]}{comma}{key}: {value}{text[root.span.end - 1 :]}"
    newline = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{newline}{key}: {value}\n"


def _without(source: SourceText, key: str) -> str:
    entry = _entry(_root(source), key)
    if entry is None:
        return source.text
    first = source.position(entry.key.span.start).line
    last = source.position(max(entry.value.span.end - 1, entry.key.span.start)).line
    end = source.line_start(last + 1) if last < source.line_count else len(source.text)
    return source.text[: source.line_start(first)] + source.text[end:]
