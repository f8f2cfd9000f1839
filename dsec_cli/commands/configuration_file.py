"""Reads one configuration file; whatever is wrong in it becomes one line with file and line number."""

from __future__ import annotations

import os
import tomllib

from dsec_cli.commands.configuration_keys import IGNORE_KEYS, KEYS, NEEDED, Ignored
from dsec_cli.commands.configuration_lines import Lines
from dsec_cli.commands.configuring import OWN, Configured
from dsec_cli.exit import UsageError
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.lint.suppress import is_day
from dsec_cli.report.fingerprint import seen_from
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.commands.configuration_keys import Key


def read(path: str, data: bytes) -> Configured | None:
    """What the file, with this content, says; None when it does not speak of the linter.

    Raises UsageError.
    """
    return _File(path, data, own=os.path.basename(path) == OWN).configured()


class _File:
    """One file while it is taken apart."""

    def __init__(self, path: str, data: bytes, *, own: bool) -> None:
        self.name = seen_from("", path)
        self.folder = os.path.dirname(path)
        self.top: tuple[str, ...] = () if own else ("tool", "dsec")
        self.whole = self._parsed(data)
        self.lines = Lines(data.decode("utf-8"))

    def _parsed(self, data: bytes) -> dict[str, object]:
        try:
            return tomllib.loads(data.decode("utf-8"))
        except UnicodeDecodeError as problem:
            line = data.count(b"\n", 0, problem.start) + 1
            raise UsageError(
                say("{name}:{line}: this is no UTF-8", name=self.name, line=line), hint="save it as UTF-8"
            ) from problem
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
            said, _, place = str(problem).partition(" (at line ")
            line = int(place.split(",")[0]) if place[:1].isdigit() else self._last_line(data)
            raise UsageError(
                say(
                    "{name}:{line}: this is no TOML: {said}{said_2}",
                    name=self.name,
                    line=line,
                    said=said[:1].lower(),
                    said_2=said[1:],
                ),
                hint="mend that line",
            ) from problem

    @staticmethod
    def _last_line(data: bytes) -> int:
        return data.rstrip().count(b"\n") + 1

    def configured(self) -> Configured | None:
        """The values of the lint table, checked; None when there is no such table."""
        table: object = self.whole
        for name in self.top:
            table = table.get(name) if isinstance(table, dict) else None
        if table is None:
            return None
        lint = self._members(table, self.top, ("lint",)).get("lint")
        if lint is None:
            return None
        path = (*self.top, "lint")
        members = self._members(lint, path, tuple(key.name for key in KEYS))
        known = {key.name: key for key in KEYS}
        values = {name: self._value(known[name], value, (*path, name)) for name, value in members.items()}
        lines = {name: self.lines.of((*path, name)) for name in members}
        return Configured(self.name, self.folder, values, lines)

    def _members(
        self, table: object, path: tuple[str | int, ...], known: tuple[str, ...]
    ) -> dict[str, object]:
        if not isinstance(table, dict):
            raise self._wrong(path, "is no table", hint=f"write [{_spelled(path)}] above its keys")
        for name in table:
            if name not in known:
                where = f"[{_spelled(path)}]" if path else "this file"
                raise self._error(
                    (*path, name),
                    f"unknown key {name!r} in {where}",
                    hint=did_you_mean(name, known) or f"it may have {', '.join(known)}",
                )
        return table

    def _value(self, key: Key, value: object, path: tuple[str | int, ...]) -> object:
        if key.kind == "ignores":
            if not isinstance(value, list):
                raise self._wrong(path, "is no list of tables", hint=f"write [[{_spelled(path)}]]")
            return tuple(self._ignored(one, (*path, at)) for at, one in enumerate(value))
        if key.kind == "texts":
            texts = [value] if isinstance(value, str) else value
            if not isinstance(texts, list) or not all(isinstance(one, str) and one.strip() for one in texts):
                raise self._wrong(path, "is no list of texts", hint=f'such as {key.name} = ["..."]')
            return tuple(texts)
        if key.kind == "day" and hasattr(value, "isoformat"):
            value = str(value.isoformat())  # a day without quotes is a date in TOML
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(
                path, "is no text", hint=f'such as {key.name} = "{(key.choices or ("...",))[0]}"'
            )
        if key.choices and value not in key.choices:
            hint = did_you_mean(value, key.choices) or f"one of {', '.join(key.choices)}"
            raise self._wrong(path, f"cannot be {value!r}", hint=hint)
        return value

    def _ignored(self, entry: object, path: tuple[str | int, ...]) -> Ignored:
        known = {key.name: key for key in IGNORE_KEYS}
        members = self._members(entry, path, tuple(known))
        values = {name: self._value(known[name], value, (*path, name)) for name, value in members.items()}
        for name in NEEDED:
            if not values.get(name):
                raise self._error(
                    path,
                    f"this entry of per-file-ignores has no {name}",
                    hint="it needs files, codes, reason",
                )
        until = str(values.get("until", ""))
        if until and not is_day(until):
            raise self._wrong((*path, "until"), f"is no day: {until!r}", hint="write it as 2027-01-31")
        files, codes = values["files"], values["codes"]
        assert isinstance(files, tuple), "texts are tuples"
        assert isinstance(codes, tuple), "texts are tuples"
        return Ignored(files, codes, str(values["reason"]), until, self.lines.of(path))

    def _wrong(self, path: tuple[str | int, ...], what: str, *, hint: str) -> UsageError:
        return self._error(path, f"{_spelled(path[-1:])} {what}", hint=hint)

    def _error(self, path: tuple[str | int, ...], what: str, *, hint: str) -> UsageError:
        return UsageError(
            say("{name}:{of}: {what}", name=self.name, of=self.lines.of(path), what=what), hint=hint
        )


def _spelled(path: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in path if isinstance(part, str))
