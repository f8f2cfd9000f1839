"""Taking the Steps of a canonical plan apart as text: what repeats is read once.

Most of a plan is the same demand, retries and placement again and again, and the place of each need.
Reading all of it with `json` makes 14 dicts per Step, which cost a run more than starting the Steps
does to schedule them. Here a Step's text is cut at its keys, in their sorted order, and each distinct
piece is read once. A quote within a JSON string has a backslash before it, so `,"cwd":` cannot be part
of a string; whatever is not as the compiler writes it raises ValueError, KeyError or TypeError.
"""

from __future__ import annotations

import json
from json.decoder import scanstring  # type: ignore[attr-defined]  # there since Python 3.1, untyped

from dsec.plan import Command, Demand, Edge, Placement, PlannedStep, Retries, Source, Terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BETWEEN = '},{"command":'
_MARKS = tuple(f',"{name}":' for name in sorted(PlannedStep._fields)[1:])
"""What stands between a Step's pieces; the first, `command`, begins it."""


class _Once(dict[str, "Any"]):
    """From a piece of text to its value, read when it is met first."""

    def __init__(self, read: Callable[[str], object]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, piece: str) -> object:
        value = self[piece] = self._read(piece)
        return value


def read_steps(text: str) -> tuple[PlannedStep, ...]:
    """The Steps in `text`, which is a plan's list of them from the first `command` to the last value."""
    commands, demands, retries = _Once(_command), _Once(_demand), _Once(_retries)
    placements, variables, lists = _Once(_placement), _Once(_pairs), _Once(_strings)
    strings, sources = _Once(_string), _Once(_source)
    steps = []
    for one in text.split(_BETWEEN):
        command, cwd, demand, env, estimate, by, grace, name, *more = _cut(one)
        inputs, key, level, title, needs, outputs, placement, rank, reasons, *rest = more
        retry, slack, src, timeout = rest
        steps.append(
            PlannedStep._make(
                (
                    _string(name),
                    strings[title],
                    commands[command],
                    variables[env],
                    strings[cwd],
                    _edges(needs, strings, sources) if needs != "[]" else (),
                    demands[demand],
                    strings[level],
                    int(timeout),
                    int(grace),
                    retries[retry],
                    lists[inputs],
                    lists[outputs],
                    placements[placement],
                    int(estimate),
                    strings[by],
                    int(rank),
                    int(slack),
                    lists[reasons],
                    _string(key),
                    sources[src],
                )
            )
        )
    return tuple(steps)


def _cut(step: str) -> list[str]:
    pieces = []
    for mark in _MARKS:
        piece, found, step = step.partition(mark)
        if not found:
            raise KeyError(mark)
        pieces.append(piece)
    pieces.append(step)
    return pieces


def _edges(text: str, strings: _Once, sources: _Once) -> tuple[Edge, ...]:
    if not (text.startswith('[{"kind":') and text.endswith('"}]')):
        raise ValueError(text)
    make, edges = Edge._make, []
    for one in text[9:-3].split('"},{"kind":'):
        kind, _, rest = one.partition(',"src":')
        src, _, rest = rest.partition(',"staleness":')
        staleness, _, step = rest.partition(',"step":"')
        if '"' in step or "\\" in step:
            step = _string(f'"{step}"')
        edges.append(make((step, strings[kind], int(staleness), sources[src])))
    return tuple(edges)


def _string(piece: str) -> str:
    value: str
    value, end = scanstring(piece, 1)
    if end != len(piece) or piece[0] != '"':
        raise ValueError(piece)
    return value


def _source(piece: str) -> Source:
    column, _, rest = piece.partition(',"file":')
    file, _, line = rest.rpartition(',"line":')
    if not column.startswith('{"column":') or line[-1:] != "}":
        raise ValueError(piece)
    return Source._make((_string(file), int(line[:-1]), int(column[10:])))


def _strings(piece: str) -> tuple[str, ...]:
    return tuple(json.loads(piece))


def _pairs(piece: str) -> tuple[tuple[str, str], ...]:
    return tuple([(key, value) for key, value in json.loads(piece)])


def _command(piece: str) -> Command:
    data = json.loads(piece)
    return Command(**{**data, "argv": tuple(data["argv"])})


def _demand(piece: str) -> Demand:
    data = json.loads(piece)
    if "terms" in data:
        tokens = tuple([(name, amount) for name, amount in data["terms"]["tokens"]])
        data["terms"] = Terms(**{**data["terms"], "tokens": tokens})
    return Demand(**{**data, "gpu_types": tuple(data["gpu_types"])})


def _retries(piece: str) -> Retries:
    return Retries(**json.loads(piece))


def _placement(piece: str) -> Placement:
    data = json.loads(piece)
    return Placement(tuple(data["devices"]), data["reason"])
