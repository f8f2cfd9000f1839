"""A plan's canonical JSON, written piece by piece: what repeats in its Steps is written once.

The bytes are those of `codec.canonical`, which walks every value and took 100 us a Step. Most of a
plan is the same demand, retries and placement again and again, so their texts are kept by value.
"""

from __future__ import annotations

from json.encoder import encode_basestring

from dsec.codec import canonical
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from dsec.plan import Command, Edge, Plan, PlannedStep

quoted: Callable[[str], str] = encode_basestring
"""Canonical JSON of a string."""
_PLACE = b',"steps":[],"tool":'
"""Where the Steps go; a quote within a string would have a backslash before it."""
_EMPTY = '""'
_AT_ONCE = 1000
"""Steps whose text is put together at once: a large plan is never held as one text besides its bytes."""


class Written(tuple["PlannedStep", ...]):
    """Steps that know their canonical text, so that a plan is sealed and saved without writing it twice."""

    pieces: tuple[bytes, ...]
    """The text, cut anywhere."""


def written_steps(steps: Sequence[PlannedStep]) -> Written:
    """The same Steps with their text."""
    if isinstance(steps, Written):
        return steps
    texts = Texts()
    return put_together((step, step_text(step, texts, parts_of(step, texts))) for step in steps)


def put_together(steps: Iterable[tuple[PlannedStep, str]]) -> Written:
    """Steps that come each with its text."""
    found: list[PlannedStep] = []
    some: list[str] = []
    pieces: list[bytes] = []
    for step, text in steps:
        found.append(step)
        some.append(text)
        if len(some) == _AT_ONCE:
            pieces.append(",".join(some).encode())
            some = [""]  # so that the next piece begins with a comma
    if len(some) > 1 or (some and not pieces):
        pieces.append(",".join(some).encode())
    whole = Written(found)
    whole.pieces = tuple(pieces)
    return whole


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


class _Same(dict[int, str]):
    """From a value that many Steps share, by its `id`, to its text: a table by value must read all of it."""

    def __init__(self) -> None:
        super().__init__()
        self._texts = _Kept(written)
        self._held: list[object] = []
        """So that no other value gets the `id` of one that is gone."""

    def of(self, value: object) -> str:
        """The text of a value whose `id` is not known yet."""
        self._held.append(value)
        text = self[id(value)] = self._texts[value]
        return text


class Texts:
    """The texts of values that many Steps have, by field: values of two fields may be equal and differ."""

    def __init__(self) -> None:
        self.demands, self.placements, self.retries = _Same(), _Same(), _Same()
        self.variables, self.reasons = _Same(), _Same()
        self.lists, self.words = _Kept(strings), _Kept(quoted)


def written(value: object) -> str:
    """Canonical JSON of any value."""
    return canonical(value).decode("utf-8")


class Parts(Record):
    """Texts of those fields of a Step that its key is made of, too."""

    command: str
    cwd: str
    env: str
    id: str
    inputs: str
    outputs: str
    needs: str


def parts_of(step: PlannedStep, texts: Texts) -> Parts:
    """Those of a Step that is there."""
    return Parts(
        command=command_text(step.command),
        cwd=texts.words[step.cwd],
        env=texts.variables.get(id(step.env)) or texts.variables.of(step.env),
        id=quoted(step.id),
        inputs=texts.lists[step.inputs],
        outputs=texts.lists[step.outputs],
        needs=f"[{','.join([edge_text(edge, texts.words) for edge in step.needs])}]",
    )


def step_text(step: PlannedStep, texts: Texts, parts: Parts) -> str:
    """One Step, keys sorted; the text of its parts is there already."""
    command, cwd, env, id_, inputs, outputs, needs = parts
    (_, name, _, _, _, _, demand, level, timeout, grace, retries, _, _, place) = step[:14]
    estimate, source, rank, slack, reasons, key, (file, line, column) = step[14:]
    words, demands = texts.words, texts.demands
    placements, said, again = texts.placements, texts.reasons, texts.retries
    return (
        f'{{"command":{command},"cwd":{cwd}'
        f',"demand":{demands.get(id(demand)) or demands.of(demand)}'
        f',"env":{env},"estimate_ms":{estimate},"estimate_source":{words[source]}'
        f',"grace_ms":{grace},"id":{id_},"inputs":{inputs}'
        f',"key":{quoted(key)},"level":{words[level]},"name":{quoted(name) if name else _EMPTY}'
        f',"needs":{needs},"outputs":{outputs}'
        f',"placement":{placements.get(id(place)) or placements.of(place)}'
        f',"rank_ms":{rank},"reasons":{said.get(id(reasons)) or said.of(reasons)}'
        f',"retries":{again.get(id(retries)) or again.of(retries)},"slack_ms":{slack}'
        f',"src":{{"column":{column},"file":{words[file]},"line":{line}}}'
        f',"timeout_ms":{timeout}}}'
    )


def strings(values: Sequence[str]) -> str:
    """A list of strings."""
    return f"[{','.join(map(quoted, values))}]"


def command_text(command: Command) -> str:
    """Most Steps have one of their own, so it is written without looking at what it is made of."""
    argv, shell, call, args, worker = command
    return (
        f'{{"args":{quoted(args)},"argv":{strings(argv)},"call":{quoted(call)}'
        f',"shell":{quoted(shell)},"worker":{quoted(worker)}}}'
    )


def edge_text(edge: Edge, words: Mapping[str, str]) -> str:
    """One of a Step's needs."""
    step, kind, staleness, (file, line, column) = edge
    return (
        f'{{"kind":{words[kind]},"src":{{"column":{column},"file":{words[file]},"line":{line}}}'
        f',"staleness":{staleness},"step":{quoted(step)}}}'
    )
