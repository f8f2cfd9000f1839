"""The graph as a Mermaid flowchart, for READMEs and pull requests."""

from __future__ import annotations

from dsec_cli.dag.view import (
    Picture,
    View,
    critical_pairs,
    demand_text,
    distinct,
    loop_pairs,
    state_text,
    time_text,
    ways_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CLASSES = (
    "classDef critical fill:#274c77,stroke:#14213d,stroke-width:3px,color:#ffffff",
    "classDef pauseable fill:#cfe1f2,stroke:#274c77,color:#14213d",
    "classDef elastic fill:#e3f1dc,stroke:#3d7a33,stroke-dasharray:6 3,color:#14213d",
    "classDef discardable fill:#ffffff,stroke:#8a8f98,stroke-dasharray:2 3,color:#14213d",
)
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:/_+-")


def render(picture: Picture) -> str:
    """A `flowchart TD`; nodes are numbered, so no Step's name can break the syntax."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    numbers = picture.graph.numbers
    yield "flowchart TD"
    for at in range(len(picture.graph.steps)):
        yield f'    n{at}["{_label(picture, at)}"]:::{picture.levels[at]}'
    styles: list[str] = []
    loops, critical, ways = loop_pairs(picture), critical_pairs(picture), ways_of(picture)
    for count, group in enumerate(distinct(picture.graph.edges)):
        edge = group[0]
        pair = (edge.source, edge.target)
        way = f"|{escaped(ways[pair])}|" if pair in ways else ""
        yield f"    n{numbers[edge.source]} -->{way} n{numbers[edge.target]}"
        if pair in loops:
            styles.append(f"    linkStyle {count} stroke:#c1121f,stroke-width:3px")
        elif pair in critical:
            styles.append(f"    linkStyle {count} stroke:#14213d,stroke-width:3px")
    cuts = set(picture.graph.cuts)
    for group in distinct(picture.graph.carried):
        edge = group[0]
        label = "break_cycle" if edge in cuts else "carried"
        yield f"    n{numbers[edge.source]} -. {label} .-> n{numbers[edge.target]}"
    yield from (f"    {line}" for line in _CLASSES)
    yield from styles


def _label(picture: Picture, at: int) -> str:
    step = picture.graph.steps[at]
    head = f"<b>{escaped(step.id)}</b>" + (f" {escaped(step.name)}" if step.name else "")
    tail = escaped(demand_text(picture.demands[at], types=picture.demands[at].gpu_types))
    if picture.run is not None and step.id in picture.run.steps:
        tail += "<br/>" + escaped(state_text(picture.run.steps[step.id], picture.iterations))
    elif picture.analysis is not None:
        tail += f"<br/>{time_text(picture.analysis.estimates[at].ms)}"
    return f"{head}<br/>{tail}"


def escaped(text: str) -> str:
    """Text as Mermaid entity codes wherever a character could mean something to it."""
    return "".join(ch if ch in _SAFE else f"#{ord(ch)};" if ch.isprintable() else " " for ch in text)


VIEW = View("mermaid", render)
