"""The Steps of a graph as lines of 80 columns; of many Steps, those of a kind in one line per level."""

from __future__ import annotations

from dsec_cli.cells import cells, padded
from dsec_cli.dag.view import (
    demand_text,
    elided,
    failure_text,
    kind_of,
    prefix_of,
    reaches_of,
    sources_by_target,
    state_text,
    time_text,
)
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.view import Picture

WIDTH = 80
MANY = 200
"""Steps beyond which those of a kind share a line."""
MOST_LEVELS = 60
"""Levels of so many Steps that are all shown; of more, the first and the last ones."""
MOST_KINDS = 40
"""Kinds of Steps of a level that are shown; Steps of the others are counted."""
LONGEST_NAME = 60
"""Columns of an id in a list."""
_FIRST, _LAST = 40, 10
_NAME, _LEVEL, _DEMAND, _TIMES = 28, 11, 22, 14


def rows_of(picture: Picture) -> Iterator[str]:
    """A head, then every Step or kind: what it is, what it waits for, what a run did with it."""
    rows = _Rows(picture)
    if rows.prefix:
        told = say("all ids begin with {prefix}, which is left out here", prefix=rows.prefix)
        yield from wrap_words(picture.tell(told), indent=0)
    heads = (say("   Step"), say("tolerance"), say("takes"), say("time") if picture.analysis else "")
    yield rows.columns(*map(picture.tell, heads))
    if picture.analysis is None:
        yield from rows.of(range(len(picture.graph.steps)))
        return
    levels = picture.analysis.levels
    left_out = len(levels) - _FIRST - _LAST if rows.folds and len(levels) > MOST_LEVELS else 0
    for number, members in enumerate(levels):
        if left_out and number == _FIRST:
            yield picture.tell(say("{count} more levels: --output json shows them all", count=left_out))
        if left_out and _FIRST <= number < _FIRST + left_out:
            continue
        beside = say(", {count} side by side", count=len(members)) if len(members) > 1 else ""
        yield picture.tell(say("level {number}{beside}", number=number, beside=beside))
        yield from rows.of(members)


class _Rows:
    """Lines of Steps; holds what is looked up for every one of them."""

    def __init__(self, picture: Picture) -> None:
        self.folds = len(picture.graph.steps) > MANY
        self._picture = picture
        self._needs = sources_by_target(picture.graph.edges)
        self._carried = sources_by_target(picture.graph.carried)
        self._cuts = {(edge.source, edge.target) for edge in picture.graph.cuts}
        self._reaches = reaches_of(picture)
        self._critical = set(picture.analysis.critical_path) if picture.analysis is not None else set()
        ids = [step.id for step in picture.graph.steps]
        self.prefix = prefix_of(ids)
        self._width, self._name, self._demand = self._widths()

    def _widths(self) -> tuple[int, int, int]:
        """Of a line, of its first column, and of the demands: long ids have what the others leave."""
        picture = self._picture
        demands = {picture.tell(demand_text(one)) for one in set(picture.demands)}
        demand = min(_DEMAND, max(map(cells, demands), default=0))
        width = max(WIDTH, picture.width)
        rest = 1 + _LEVEL + 1 + demand + 1 + (_TIMES if picture.analysis is not None else 0)
        longest = max((cells(self._short(step.id)) for step in picture.graph.steps), default=0) + 3
        name = max(_NAME, min(longest, width - rest))
        return width, name, _DEMAND if name == _NAME else demand

    def _short(self, name: str) -> str:
        return name.removeprefix(self.prefix)

    def columns(self, name: str, level: str, demand: str, times: str) -> str:
        """One line."""
        # Times are never cut: where they are long, the column before them is narrower.
        room = min(self._demand, self._width - (self._name + 1 + _LEVEL + 1) - 1 - cells(times))
        row = ((name, self._name), (level, _LEVEL), (shorten(demand, room), room), (times, 0))
        return " ".join(padded(text, width) for text, width in row).rstrip()

    def of(self, members: Iterable[int]) -> Iterator[str]:
        """The lines of these Steps."""
        if not self.folds:
            for at in members:
                yield from self._row([at])
            return
        groups = list(self._groups(members))
        for group in groups[:MOST_KINDS]:
            yield from self._row(group)
        left_out = sum(map(len, groups[MOST_KINDS:]))
        if left_out:
            more = say("{count} more Steps: --output json shows them all", count=left_out)
            yield f"   {self._picture.tell(more)}"

    def _groups(self, members: Iterable[int]) -> Iterable[list[int]]:
        """Steps of a kind that ask for the same together, in the order of the first of each."""
        found: dict[object, list[int]] = {}
        for at in members:
            kind = kind_of(self._picture.graph.steps[at].id)
            reach = self._reaches.get(self._picture.graph.steps[at].id, "")
            case = kind, self._picture.levels[at], self._picture.demands[at], reach
            found.setdefault(case, []).append(at)
        return found.values()

    def _row(self, group: list[int]) -> Iterator[str]:
        picture, at = self._picture, group[0]
        step = picture.graph.steps[at]
        name = self._short(step.id)
        if len(group) > 1:
            name = f"{len(group)} x {kind_of(name)}"
        elif step.name and cells(name) + 4 < self._name:
            name = shorten(f"{name} {step.name}", self._name - 3)
        mark = "*" if not self._critical.isdisjoint(group) else " "
        times = _times(picture.analysis, group) if picture.analysis is not None else ""
        demand = picture.tell(demand_text(picture.demands[at]))
        yield self.columns(f" {mark} {elided(name, self._name - 3)}", picture.levels[at], demand, times)
        tell = picture.tell
        if step.id in self._reaches:
            yield f"     {tell(self._reaches[step.id])}"
        yield from wrapped(f"     {tell(say('needs'))} ", self._sources(group, self._needs))
        yield from wrapped(f"     {tell(say('reads an earlier iteration of'))} ", self._earlier(group))
        yield from self._run(group)

    def _sources(self, group: list[int], table: dict[str, list[str]]) -> list[str]:
        """What they wait for; of kinds of which there are several, the kind."""
        ids = [self._picture.graph.steps[at].id for at in group]
        if not self.folds:
            return [self._short(one) for one in table.get(ids[0], [])]
        kinds: dict[str, dict[str, None]] = {}
        for target in ids:
            for source in table.get(target, ()):
                short = self._short(source)
                kinds.setdefault(kind_of(short), {})[short] = None
        return [kind if len(some) > 1 else next(iter(some)) for kind, some in kinds.items()]

    def _earlier(self, group: list[int]) -> list[str]:
        target = self._picture.graph.steps[group[0]].id
        return [
            f"{source} (break_cycle)" if (source, target) in self._cuts else source
            for source in self._sources(group, self._carried)
        ]

    def _run(self, group: list[int]) -> Iterator[str]:
        if self._picture.run is None:
            return
        steps = self._picture.run.steps
        ids = [self._picture.graph.steps[at].id for at in group]
        seen = [steps[name] for name in ids if name in steps]
        if len(group) > 1:
            counts: dict[str, int] = {}
            for one in seen:
                counts[one.state] = counts.get(one.state, 0) + 1
            yield from hung("     ", ", ".join(f"{count} {state}" for state, count in sorted(counts.items())))
            return
        for one in seen:
            gpu = f", held GPUs for {time_text(one.gpu_ms)}" if one.gpu_ms else ""
            yield from hung("     ", f"{state_text(one, self._picture.iterations)}{gpu}")
            if one.failures:
                yield from hung("     ", failure_text(one))


def _times(analysis: Analysis, group: Sequence[int]) -> str:
    least, most = (pick(analysis.estimates[at].ms for at in group) for pick in (min, max))
    sources = {analysis.estimates[at].source for at in group}
    sign = "?" if "default" in sources else "~" if "history" in sources else ""
    slack = min(analysis.slacks_ms[at] for at in group)
    span = time_text(least) if least == most else f"{time_text(least)}-{time_text(most)}"
    return f"{span + sign:<7}" + (f" +{time_text(slack)}" if slack else "")


def wrapped(label: str, names: list[str]) -> Iterator[str]:
    """`label` and a list, broken at its commas and hanging below its first; nothing for an empty list."""
    if not names:
        return
    indent = min(cells(label), 11)
    line = label + elided(names[0], LONGEST_NAME)
    for name in names[1:]:
        line += ","
        short = elided(name, LONGEST_NAME)
        if cells(line) + cells(short) + 2 > WIDTH:
            yield line
            line = " " * (indent - 1)
        line += f" {short}"
    yield line


def wrap_words(text: str, *, indent: int, first: int = 0) -> Iterator[str]:
    """The words of `text` in lines: the first indented by `first`, the others by `indent`."""
    line = " " * first
    for word in text.split():
        if line.strip() and cells(line) + 1 + cells(word) > WIDTH:
            yield line
            line = " " * indent
        line += f" {word}" if line.strip() else word
    yield line


def hung(head: str, text: str) -> Iterator[str]:
    """`head` and a text whose further lines begin below its first."""
    indent = len(head)
    for number, line in enumerate(wrap_words(text, indent=indent, first=indent)):
        yield line if number else head + line[indent:]


def shorten(text: str, width: int) -> str:
    """The text, cut to so many cells where it takes more."""
    if cells(text) <= width:
        return text
    while cells(text) > width - 3:
        text = text[: width - 3] if len(text) > width else text[:-1]
    return f"{text}..."
