"""`dsec config` and `dsctl config`: the user settings."""

from __future__ import annotations

import os

from dsec.errors import FileProblem
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import YES, UsageError
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.report.output import emit, to_file
from dsec_cli.settings import SETTINGS, changed, setting, settings_path, stored, value_of
from dsec_cli.words import joined, said, say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell
    from dsec_cli.settings import Setting


def main(args: Args) -> int:
    """Print or change settings."""
    if args.action == "list":
        _refuse("list", args.key, args.value)
        emit(_listing(settings_path(), listener(args.lang)))
        return YES
    wanted = _wanted(args.action, args.key)
    if args.action == "set":
        _set(wanted, args.value)
        return YES
    _refuse(args.action, args.value)
    if args.action == "get":
        emit(value_of(wanted.key, path=settings_path()) + "\n")
    else:
        _store(wanted.key, None)
    return YES


def _refuse(action: str, *extra: str | None) -> None:
    given = [word for word in extra if word is not None]
    if given:
        raise UsageError(
            say("config {action} takes no {given!r}", action=action, given=given[0]),
            hint=say("dsec config {action} --help", action=action),
        )


def _wanted(action: str, key: str | None) -> Setting:
    if key is None:
        raise UsageError(
            say("config {action} needs the name of a setting", action=action),
            hint="dsec config list shows them",
        )
    found = setting(key)
    if found is None:
        raise UsageError(
            say("there is no setting {key!r}", key=key), hint=did_you_mean(key, [one.key for one in SETTINGS])
        )
    return found


def _set(wanted: Setting, value: str | None) -> None:
    choices = (
        say("such as {choice}", choice=wanted.choices[0])
        if wanted.free
        else joined(" or ", tuple(map(str, wanted.choices)))
    )
    if value is None:
        raise UsageError(say("config set {key} needs a value", key=wanted.key), hint=choices)
    refusal = dict(wanted.refusals).get(value)
    if refusal:
        raise UsageError(said(refusal), hint=say("the only value is {choices}", choices=choices))
    if value not in wanted.choices and not wanted.free:
        raise UsageError(say("{key} cannot be {value!r}", key=wanted.key, value=value), hint=choices)
    _store(wanted.key, value)


def _store(key: str, value: str | None) -> None:
    path = settings_path()
    text = changed(path, key, value)
    if value is None and not os.path.exists(path):
        return
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    except OSError as problem:
        raise FileProblem(
            say("{dirname} could not be made: {why}", dirname=os.path.dirname(path), why=system(problem)),
            hint="check HOME",
        ) from problem
    to_file(path, text.encode())


def _listing(path: str, tell: Tell) -> str:
    known = stored(path)
    rows = []
    for one in SETTINGS:
        origin = path if one.key in known else say("default")
        rows += [f"{one.key}: {value_of(one.key, path=path)}", f"    {tell(one.meaning)}"]
        rows.append(tell(say("    from {origin}", origin=origin)))
    rows += [
        tell(say("{key}: unknown setting in {path}", key=key, path=path))
        for key in sorted(known)
        if setting(key) is None
    ]
    return "\n".join(rows) + "\n"
