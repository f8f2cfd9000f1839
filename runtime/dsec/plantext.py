"""A plan's canonical JSON, written piece by piece: what repeats in its Steps is written once.

The bytes are those of `codec.canonical`, which walks every value and took 100 us a Step. Most of a
plan is the same demand, retries and placement again and again, so their texts are kept by value.
"""

from __future__ import annotations

from json.encoder import encode_basestring

from dsec.codec import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from dsec.plan import Command, Edge, Plan, PlannedStep

quoted: Callable[[str], str] = encode_basestring
"""Canonical JSON of a string."""
_PLACE = b',"steps":[],"tool":'
"""Where the Steps go; a quote within a string would have a backslash before it."""
_AT_ONCE = 1000
"""Steps whose text is put together at once: a large plan is never held as one text besides its bytes."""


class Written(tuple["PlannedStep", ...]):
    """Steps that know their canonical text, so that a plan is sealed and saved without writing it twice."""

    pieces: tuple[bytes, ...]
    """The text, cut anywhere."""


def written_steps(steps: Sequence[PlannedStep], texts: Texts | None = None) -> Written:
    """The same Steps with their text; `texts` are what is written of their values already."""
    if isinstance(steps, Written):
        return steps
    texts, comma, pieces = texts or Texts(), "", []
    for at in range(0, len(steps), _AT_ONCE):
        text = ",".join([step_text(step, texts) for step in steps[at : at + _AT_ONCE]])
        pieces.append(f"{comma}{text}".encode())
        comma = ","
    found = Written(steps)
    found.pieces = tuple(pieces)
    return found


def plan_pieces(plan: Plan) -> list[bytes]:
    """`canonical(plan)`, in pieces."""
    before, place, after = canonical(plan._replace(steps=())).partition(_PLACE)
    if not place:
        raise AssertionError("the keys of a plan are sorted, so steps stand before tool")
    return [before, b',"steps":[', *written_steps(plan.steps).pieces, b'],"tool":', after]


class _Kept(dict["Any", str]):
    """From a value to its text, written when it is met first."""

    def __init__(self, write: Callable[[Any], str]) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, value: Any) -> str:
        text = self[value] = self._write(value)
        return text


class _Words(dict[str, str]):
    """From a string that many Steps have to its text."""

    def __missing__(self, value: str) -> str:
        text = self[value] = quoted(value)
        return text


class Texts:
    """The texts of values that many Steps have, by field: values of two fields may be equal and differ."""

    def __init__(self) -> None:
        self.commands = _Kept(_command)
        self.demands = _Kept(written)
        self.placements = _Kept(written)
        self.retries = _Kept(written)
        self.variables = _Kept(written)
        self.lists = _Kept(strings)
        self.words: Mapping[str, str] = _Words()


def written(value: object) -> str:
    """Canonical JSON of any value."""
    return canonical(value).decode("utf-8")


def step_text(step: PlannedStep, texts: Texts) -> str:
    """One Step, keys sorted."""
    src, lists, words = step.src, texts.lists, texts.words
    return (
        f'{{"command":{texts.commands[step.command]},"cwd":{words[step.cwd]}'
        f',"demand":{texts.demands[step.demand]},"env":{texts.variables[step.env]}'
        f',"estimate_ms":{step.estimate_ms:d},"estimate_source":{words[step.estimate_source]}'
        f',"grace_ms":{step.grace_ms:d},"id":{quoted(step.id)},"inputs":{lists[step.inputs]}'
        f',"key":{quoted(step.key)},"level":{words[step.level]},"name":{quoted(step.name)}'
        f',"needs":{_edges(step.needs, words) if step.needs else "[]"}'
        f',"outputs":{lists[step.outputs]},"placement":{texts.placements[step.placement]}'
        f',"rank_ms":{step.rank_ms:d},"reasons":{lists[step.reasons]}'
        f',"retries":{texts.retries[step.retries]},"slack_ms":{step.slack_ms:d}'
        f',"src":{{"column":{src.column:d},"file":{words[src.file]},"line":{src.line:d}}}'
        f',"timeout_ms":{step.timeout_ms:d}}}'
    )


def strings(values: Sequence[str]) -> str:
    """A list of strings."""
    return f"[{','.join(map(quoted, values))}]"


def _command(command: Command) -> str:
    """Most Steps have one of their own, so it is written without looking at what it is made of."""
    argv, shell, call, args, worker = command
    return (
        f'{{"args":{quoted(args)},"argv":{strings(argv)},"call":{quoted(call)}'
        f',"shell":{quoted(shell)},"worker":{quoted(worker)}}}'
    )


def _edges(edges: Sequence[Edge], words: Mapping[str, str]) -> str:
    texts = [
        f'{{"kind":{words[kind]},"src":{{"column":{column:d},"file":{words[file]},"line":{line:d}}}'
        f',"staleness":{staleness:d},"step":{quoted(step)}}}'
        for step, kind, staleness, (file, line, column) in edges
    ]
    return f"[{','.join(texts)}]"
