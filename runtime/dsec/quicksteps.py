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
_NAMES = sorted(PlannedStep._fields)


def _marks(first: str, last: str) -> tuple[str, ...]:
    """What stands before each field from `first` to `last`, in the order of the text."""
    return tuple(f',"{name}":' for name in _NAMES[_NAMES.index(first) : _NAMES.index(last) + 1])


_HEAD = _marks("cwd", "grace_ms")
_OWN = tuple(
    mark for mark in _marks("id", "timeout_ms") if mark[2:-2] not in ("name", "placement", "retries")
)
"""Before what a Step seldom shares with others; between these stand pieces that most have alike."""


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
    heads, titles, places, tries = _Once(_Head()), _Once(_title), _Once(_place), _Once(_try)
    lists, origins, sources = _Once(_strings), _Once(_origin), _Once(_source)
    steps = []
    for one in text.split(_BETWEEN):
        head, name, inputs, key, title, needs, place, rank, retry, slack, src, timeout = _cut(one, _OWN)
        command, cwd, demand, env, estimate, by, grace = heads[head]
        level, called = titles[title]
        outputs, placement = places[place]
        reasons, retries = tries[retry]
        steps.append(
            PlannedStep._make(
                (
                    _string(name),
                    called,
                    command,
                    env,
                    cwd,
                    _edges(needs, origins) if needs != "[]" else (),
                    demand,
                    level,
                    int(timeout),
                    grace,
                    retries,
                    lists[inputs],
                    outputs,
                    placement,
                    estimate,
                    by,
                    int(rank),
                    int(slack),
                    reasons,
                    _string(key),
                    sources[src],
                )
            )
        )
    return tuple(steps)


def _cut(step: str, marks: tuple[str, ...]) -> list[str]:
    pieces = []
    for mark in marks:
        piece, found, step = step.partition(mark)
        if not found:
            raise KeyError(mark)
        pieces.append(piece)
    pieces.append(step)
    return pieces


class _Head:
    """Reads the pieces from `command` to `grace_ms`."""

    def __init__(self) -> None:
        self._commands, self._demands = _Once(_command), _Once(_demand)
        self._variables, self._strings = _Once(_pairs), _Once(_string)

    def __call__(self, piece: str) -> tuple[object, ...]:
        command, cwd, demand, env, estimate, by, grace = _cut(piece, _HEAD)
        return (
            self._commands[command],
            self._strings[cwd],
            self._demands[demand],
            self._variables[env],
            int(estimate),
            self._strings[by],
            int(grace),
        )


def _title(piece: str) -> tuple[str, str]:
    level, name = _cut(piece, _marks("name", "name"))
    return _string(level), _string(name)


def _place(piece: str) -> tuple[tuple[str, ...], Placement]:
    outputs, placement = _cut(piece, _marks("placement", "placement"))
    return _strings(outputs), _placement(placement)


def _try(piece: str) -> tuple[tuple[str, ...], Retries]:
    reasons, retries = _cut(piece, _marks("retries", "retries"))
    return _strings(reasons), _retries(retries)


def _edges(text: str, origins: _Once) -> tuple[Edge, ...]:
    if not (text.startswith('[{"kind":') and text.endswith('"}]')):
        raise ValueError(text)
    make, edges = Edge._make, []
    for one in text[9:-3].split('"},{"kind":'):
        origin, _, rest = one.partition(',"staleness":')
        staleness, _, step = rest.partition(',"step":"')
        if '"' in step or "\\" in step:
            step = _string(f'"{step}"')
        kind, src = origins[origin]
        edges.append(make((step, kind, int(staleness), src)))
    return tuple(edges)


def _origin(piece: str) -> tuple[str, Source]:
    kind, _, src = piece.partition(',"src":')
    return _string(kind), _source(src)


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
