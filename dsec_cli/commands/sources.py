"""Finds and reads the files that a command line names."""

from __future__ import annotations

import os
import sys

from dsec.errors import FileProblem
from dsec_cli.exit import UsageError
from dsec_cli.source.text import BYTES, MAX_NODES, SourceText
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

STDIN = "-"
BESIDE = ("ds_config.yaml", "ds_config.yml")
"""What may hold the Steps of the contract in its folder."""
NAMES = ("agent-train-sandbox.yaml", "ds_config.yaml", "dsandbox.yaml", "plugin.yaml")
"""Files that are contracts by their name."""
_MOST_DIGITS = 9
_PATTERN = frozenset("*?[")
"""Characters that make a name, where there is no such file, a pattern: shells pass on what is quoted."""


def expand(paths: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[FileProblem, ...]]:
    """Names of the files to read, each once, sorted, and what names nothing to read."""
    found: set[str] = set()
    problems: list[FileProblem] = []
    for path in paths or (".",):
        if path == STDIN or not os.path.isdir(path):
            if not _PATTERN.isdisjoint(path) and not os.path.lexists(path):
                from dsec_cli.commands.globbing import files_like

                matching = files_like(path)
                found.update(matching)
                if matching:
                    continue
                problems.append(_nothing_like(path))
                continue
            found.add(path if path == STDIN else os.path.normpath(path) if path else path)
            continue
        inside = _contracts_in(path)
        found.update(inside)
        if not inside:
            problems.append(_nothing_in(path))
    return tuple(sorted(found)), tuple(problems)


def _nothing_like(pattern: str) -> FileProblem:
    from dsec_cli.commands.globbing import matches_folders

    hint = say("check the pattern and the folder")
    if matches_folders(pattern):
        hint = say("it matches folders only; name files: {pattern}/*.yaml", pattern=pattern.rstrip("/"))
    return FileProblem(say("no file matches {pattern}", pattern=pattern), hint=hint)


def _contracts_in(folder: str) -> tuple[str, ...]:
    paths = (os.path.normpath(os.path.join(folder, name)) for name in NAMES)
    return tuple(path for path in paths if os.path.isfile(path))


def _nothing_in(folder: str) -> FileProblem:
    try:
        os.stat(os.path.join(folder, NAMES[0]))
    except PermissionError as problem:
        return FileProblem(
            say("{path} could not be read: {why}", path=folder, why=system(problem)),
            hint=_hint(problem, folder),
        )
    except OSError:
        pass  # that it is not there is what is said below
    where = say("this folder") if folder == "." else folder
    return FileProblem(
        say("{where} holds no contract ({names})", where=where, names=", ".join(NAMES)),
        hint="name a file, or write one with: dsec init",
    )


def contract_differs(path: str, contract_hash: str) -> bool:
    """Whether a contract's files are others than those of a plan; False, too, where they cannot be read."""
    from dsec.hashing import digest

    try:
        parts = [_content(one) for one in (path, steps_beside(path)) if one is not None]
    except OSError:
        return False
    return digest("dsec.contract/1", *parts) != contract_hash


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def read_source(path: str, *, stdin_name: str = "<stdin>") -> SourceText:
    """Read one file, or standard input for `-`; raises FileProblem."""
    if path == STDIN:
        if sys.stdin is None:
            raise FileProblem("standard input is closed", hint="name a file instead of -")
        return _read(sys.stdin.buffer, stdin_name)
    try:
        with open(path, "rb") as file:
            return _read(file, path)
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be read: {why}", path=path, why=system(problem)), hint=_hint(problem, path)
        ) from problem
    except ValueError as problem:
        raise FileProblem(
            say("{path!r} is no file name: {problem}", path=path, problem=problem), hint="check the name"
        ) from problem


def _read(file: IO[bytes], name: str) -> SourceText:
    most_nodes = _most_nodes()
    most = BYTES * most_nodes
    data = file.read(most + 1)
    if len(data) > most:
        raise FileProblem(
            say("{name} has more than {most} bytes", name=name, most=most),
            hint="a contract is a few kilobytes; check the name, or allow more with DSEC_MAX_NODES",
        )
    return SourceText(name, data, most_nodes)


def _most_nodes() -> int:
    """How many values and comments a file may have: written contracts have hundreds, generated ones more."""
    asked = os.environ.get("DSEC_MAX_NODES", "")
    if not asked:
        return MAX_NODES
    if not (asked.isascii() and asked.isdigit()) or len(asked) > _MOST_DIGITS:
        raise UsageError(
            say("DSEC_MAX_NODES is {asked!r}, which is no number", asked=asked),
            hint=say(
                "give the most values and comments that a file may have, such as {most}", most=MAX_NODES
            ),
        )
    return int(asked)


def _hint(problem: OSError, path: str) -> str:
    if isinstance(problem, FileNotFoundError):
        from dsec_cli.options import PROGRAMS  # only who fails pays for the table

        if path in PROGRAMS["dsec"][1]:
            return say("to use the command, write: dsec {command}", command=path)
        return say("check the name; dsec init writes a starter contract")
    if isinstance(problem, PermissionError):
        return say("check the permissions of the file and its folders")
    return say("check the name")


def steps_beside(path: str) -> str | None:
    """The `ds_config.yaml` that belongs to the contract at `path`."""
    folder = os.path.dirname(path)
    if os.path.basename(path) in BESIDE:
        return None
    for name in BESIDE:
        beside = os.path.join(folder, name)
        if os.path.isfile(beside):
            return beside
    return None
