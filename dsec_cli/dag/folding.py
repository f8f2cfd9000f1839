"""Steps that a drawing shows as one, where there are too many to show each: those of a kind, by level."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.dag.rows import MANY
from dsec_cli.dag.view import cycles_of, distinct, kind_of, time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.dag.graph import Edge
    from dsec_cli.dag.view import Picture

_KEPT = 24
"""Steps of the first cycles that are always shown each."""


class Bundle(Record):
    """All edges from the Steps of one class to those of another, which may be the same."""

    source: int
    target: int
    edges: list[Edge]
    carried: bool


class Folded(Record):
    """What is drawn: a class is the numbers of its Steps, most often of one."""

    classes: list[list[int]]
    bundles: list[Bundle]


def folded(picture: Picture) -> Folded:
    """Each Step by itself; above 200 those of a kind on a level in one class, or wherever they are."""
    classes = _classes(picture)
    home = {at: number for number, some in enumerate(classes) for at in some}
    bundles = _bundles(picture, picture.graph.edges, home, carried=False)
    bundles += _bundles(picture, picture.graph.carried, home, carried=True)
    single = [len(some) == 1 for some in classes]
    return Folded(classes, [one for one in bundles if one.source != one.target or single[one.source]])


def _classes(picture: Picture) -> list[list[int]]:
    count = len(picture.graph.steps)
    if count <= MANY:
        return [[at] for at in range(count)]
    columns = [0] * count
    for column, level in enumerate(picture.analysis.levels if picture.analysis is not None else ()):
        for at in level:
            columns[at] = column
    by_level = _grouped(picture, columns)
    return by_level if len(by_level) <= MANY else _grouped(picture, [0] * count)


def _grouped(picture: Picture, columns: list[int]) -> list[list[int]]:
    looped = [edge.source for cycle in cycles_of(picture) for edge in cycle.loop][:_KEPT]
    kept = {picture.graph.numbers[name] for name in looped}
    found: dict[object, list[int]] = {}
    for at, step in enumerate(picture.graph.steps):
        key = at if at in kept else (kind_of(step.id), picture.levels[at], columns[at])
        found.setdefault(key, []).append(at)
    return list(found.values())


def _bundles(
    picture: Picture, edges: tuple[Edge, ...], home: dict[int, int], *, carried: bool
) -> list[Bundle]:
    numbers = picture.graph.numbers
    found: dict[tuple[int, int], list[Edge]] = {}
    for group in distinct(edges):
        ends = home[numbers[group[0].source]], home[numbers[group[0].target]]
        found.setdefault(ends, []).extend(group)
    return [Bundle(source, target, some, carried) for (source, target), some in found.items()]


def pairs_in(bundle: Bundle) -> int:
    """How many pairs of Steps the edges join."""
    return len({(edge.source, edge.target) for edge in bundle.edges})


def class_name(picture: Picture, members: list[int]) -> str:
    """`S3`; of several Steps, `124 x rollout-#`."""
    name = picture.graph.steps[members[0]].id
    return name if len(members) == 1 else f"{len(members)} x {kind_of(name)}"


def times_text(lengths: Iterable[int]) -> str:
    """`2s`; where they differ, `2s-1m5s`."""
    times = list(lengths)
    least, most = min(times), max(times)
    return time_text(least) if least == most else f"{time_text(least)}-{time_text(most)}"


def states_text(picture: Picture, members: list[int]) -> str:
    """`120 done, 4 running`: what a run has done with Steps of a class."""
    if picture.run is None:
        return ""
    counts: dict[str, int] = {}
    for at in members:
        seen = picture.run.steps.get(picture.graph.steps[at].id)
        if seen is not None:
            counts[seen.state] = counts.get(seen.state, 0) + 1
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
