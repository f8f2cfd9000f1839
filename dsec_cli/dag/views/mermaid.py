"""The graph as a Mermaid flowchart, for READMEs and pull requests."""

from __future__ import annotations

from dsec_cli.dag.folding import class_name, folded, pairs_in, states_text, times_text
from dsec_cli.dag.view import (
    Picture,
    View,
    critical_pairs,
    demand_text,
    loop_pairs,
    reaches_of,
    state_text,
    time_text,
    ways_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    yield "flowchart TD"
    drawn, reaches = folded(picture), reaches_of(picture)
    first = [members[0] for members in drawn.classes]
    for members in drawn.classes:
        yield f'    n{members[0]}["{_label(picture, members, reaches)}"]:::{picture.levels[members[0]]}'
    styles: list[str] = []
    loops, critical, ways = loop_pairs(picture), critical_pairs(picture), ways_of(picture)
    cuts = set(picture.graph.cuts)
    for count, bundle in enumerate(drawn.bundles):
        source, target, pairs = first[bundle.source], first[bundle.target], pairs_in(bundle)
        if bundle.carried:
            label = "break_cycle" if not cuts.isdisjoint(bundle.edges) else "carried"
            yield f"    n{source} -. {label} .-> n{target}"
            continue
        way = next((ways[edge[:2]] for edge in bundle.edges if edge[:2] in ways), "")
        text = escaped(f"{way} x {pairs}".strip() if pairs > 1 else way)
        yield f"    n{source} -->{f'|{text}|' if text else ''} n{target}"
        if any(edge[:2] in loops for edge in bundle.edges):
            styles.append(f"    linkStyle {count} stroke:#c1121f,stroke-width:3px")
        elif any(edge[:2] in critical for edge in bundle.edges):
            styles.append(f"    linkStyle {count} stroke:#14213d,stroke-width:3px")
    yield from (f"    {line}" for line in _CLASSES)
    yield from styles


def _label(picture: Picture, members: list[int], reaches: Mapping[str, str]) -> str:
    at = members[0]
    step = picture.graph.steps[at]
    name = f" {escaped(step.name)}" if step.name and len(members) == 1 else ""
    head = f"<b>{escaped(class_name(picture, members))}</b>{name}"
    texts = dict.fromkeys(
        demand_text(picture.demands[one], types=picture.demands[one].gpu_types) for one in members
    )
    tail = escaped(next(iter(texts)) if len(texts) == 1 else f"{next(iter(texts))} and others")
    if step.id in reaches:
        tail += f"<br/>{escaped(reaches[step.id])}"
    if len(members) > 1 and picture.run is not None:
        tail += f"<br/>{escaped(states_text(picture, members))}"
    elif len(members) > 1 and picture.analysis is not None:
        tail += f"<br/>{escaped(times_text(picture.analysis.estimates[one].ms for one in members))}"
    elif picture.run is not None and step.id in picture.run.steps:
        tail += "<br/>" + escaped(state_text(picture.run.steps[step.id], picture.iterations))
    elif picture.analysis is not None:
        tail += f"<br/>{time_text(picture.analysis.estimates[at].ms)}"
    return f"{head}<br/>{tail}"


def escaped(text: str) -> str:
    """Text as Mermaid entity codes wherever a character could mean something to it."""
    return "".join(ch if ch in _SAFE else f"#{ord(ch)};" if ch.isprintable() else " " for ch in text)


VIEW = View("mermaid", render)
