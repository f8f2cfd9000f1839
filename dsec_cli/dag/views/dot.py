"""The graph for Graphviz: `ds-dag-analyze FILE --output dot | dot -Tpng -o dag.png`.

Levels differ in lightness and in their borders, so a print in black and white still tells them
apart; colour is only ever a second sign.
"""

from __future__ import annotations

from dsec_cli.cells import plain
from dsec_cli.dag.findings import edge_text
from dsec_cli.dag.folding import Bundle, Folded, class_name, folded, states_text, times_text
from dsec_cli.dag.view import (
    Picture,
    View,
    critical_pairs,
    cycles_of,
    demand_text,
    elided,
    kind_of,
    loop_pairs,
    pace_text,
    prefix_of,
    reaches_of,
    share_text,
    state_text,
    time_text,
    ways_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsec_cli.dag.graph import Edge

_FONT = "Helvetica,Arial,sans-serif"
_INK = "#14213d"
_SOFT = "#5c6470"
_RED = "#c1121f"
_CARRIED = "#6a4c93"

_GRAPH = {
    "bgcolor": "white",
    "pad": "0.35",
    "nodesep": "0.35",
    "ranksep": "0.45",
    "fontname": _FONT,
    "fontsize": "12",
    "fontcolor": _INK,
    "labelloc": "t",
    "labeljust": "l",
}
_HURRIED = {"splines": "line", "mclimit": "0.1", "nslimit": "0.1", "nslimit1": "1"}
"""Where Graphviz would look for the best layout for minutes: straight lines, and the best of some seconds."""
_LONG = 2_000
"""Levels that all edges cross together, from which that is so: each crossing costs a node in the layout."""
_NODE = {
    "shape": "box",
    "style": "rounded,filled",
    "fontname": _FONT,
    "fontsize": "12",
    "fontcolor": _INK,
    "margin": "0.18,0.09",
    "penwidth": "1.3",
}
_EDGE = {
    "fontname": _FONT,
    "fontsize": "9",
    "color": _SOFT,
    "fontcolor": _SOFT,
    "arrowsize": "0.75",
    "penwidth": "1.2",
}
_LOOKS: dict[str, dict[str, str]] = {
    "critical": {"fillcolor": "#274c77", "fontcolor": "#ffffff", "color": _INK, "peripheries": "2"},
    "pauseable": {"fillcolor": "#cfe1f2", "color": "#274c77"},
    "elastic": {"fillcolor": "#e6f2df", "color": "#3d7a33", "style": "rounded,filled,dashed"},
    "discardable": {"fillcolor": "#ffffff", "color": "#8a8f98", "style": "rounded,filled,dotted"},
}
_MOST_TOLD = 12
"""Edges between two classes that are named."""
_STATES = {"done": "#2a7f3f", "running": "#b36b00", "failed": _RED, "dropped": _SOFT, "waiting": _SOFT}


def render(picture: Picture) -> str:
    """A `digraph`; also drawn, with its loops in red, when the graph is cyclic."""
    return "\n".join(["digraph dag {", *(f"  {line}" for line in _body(picture)), "}"]) + "\n"


def _body(picture: Picture) -> Iterator[str]:
    drawn, reaches = folded(picture), reaches_of(picture)
    first = [members[0] for members in drawn.classes]
    yield f"graph [{_graph_attributes(picture, first, hurried=_crossed(picture, drawn) > _LONG)}];"
    yield f"node [{_attributes(_NODE)}];"
    yield f"edge [{_attributes(_EDGE)}];"
    prefix = prefix_of([step.id for step in picture.graph.steps])
    on_path = set(picture.analysis.critical_path) if picture.analysis is not None else set()
    for members in drawn.classes:
        yield _node(picture, members, reaches, prefix, bold=not on_path.isdisjoint(members))
    loops, critical = loop_pairs(picture), critical_pairs(picture)
    cuts = {(cycle.proposals[0].source, cycle.proposals[0].target) for cycle in cycles_of(picture)}
    ways = ways_of(picture)
    made = set(picture.graph.cuts)
    for bundle in drawn.bundles:
        pairs = dict.fromkeys(edge[:2] for edge in bundle.edges)
        looped = next((edge for edge in bundle.edges if edge[:2] in loops), None)
        if bundle.carried:
            look = _carried_look(not made.isdisjoint(bundle.edges))
        elif looped is not None:
            look = _loop_look(picture, looped, not cuts.isdisjoint(pairs))
        else:
            way = next((ways[pair] for pair in pairs if pair in ways), "")
            look = _look(bundle.edges, not critical.isdisjoint(pairs), way)
        yield _edge(first, bundle, look, len(pairs))


def _crossed(picture: Picture, drawn: Folded) -> int:
    """How many levels all edges cross together; 0 for a graph without levels."""
    level: dict[int, int] = {}
    for number, members in enumerate(picture.analysis.levels if picture.analysis is not None else ()):
        level.update(dict.fromkeys(members, number))
    heads = [level.get(members[0], 0) for members in drawn.classes]
    return sum(abs(heads[bundle.target] - heads[bundle.source]) for bundle in drawn.bundles)


def _graph_attributes(picture: Picture, first: list[int], *, hurried: bool) -> str:
    look = {**_GRAPH, "rankdir": _direction(picture, first), **(_HURRIED if hurried else {})}
    return f"{_attributes(look)}, label={_title(picture)}"


def _direction(picture: Picture, first: list[int]) -> str:
    """Down for deep graphs, across for wide ones: whichever fills a page better."""
    levels, drawn = picture.analysis.levels if picture.analysis is not None else (), set(first)
    depth, width = len(levels), max((len(drawn.intersection(level)) for level in levels), default=1)
    return "LR" if width > 4 and width > 2 * depth else "TB"


def _title(picture: Picture) -> str:
    found = picture.analysis
    facts = []
    if found is not None:
        facts.append(f"critical path {time_text(found.critical_path_ms)} (bold)")
        if found.overlap is not None:
            facts.append(f"iterations: {pace_text(found.overlap, found.makespan_ms)}")
        if found.gpu_idle_permille is not None:
            facts.append(f"GPUs idle {share_text(found.gpu_idle_permille)}")
    elif cycles_of(picture):
        facts.append("this graph cannot run: it has cycles (red)")
    if picture.graph.carried:
        facts.append("dashed edges read the iteration before")
    if picture.run is not None:
        facts.append(f"run {picture.run.job}: {picture.run.outcome}")
    prefix = prefix_of([step.id for step in picture.graph.steps])
    if prefix:
        facts.append(f"ids without {prefix}")
    small = f'<FONT POINT-SIZE="10" COLOR="{_SOFT}">{escaped("  |  ".join(facts))}</FONT>'
    return f'<<B>{escaped(picture.title)}</B><BR ALIGN="LEFT"/>{small}<BR ALIGN="LEFT"/> <BR ALIGN="LEFT"/>>'


def _node(
    picture: Picture, members: list[int], reaches: Mapping[str, str], prefix: str, *, bold: bool
) -> str:
    at = members[0]
    look = dict(_LOOKS.get(picture.levels[at], _LOOKS["pauseable"]))
    if bold:
        look["penwidth"] = "2" if "style" in look else "2.6"
    label = (
        _class_label(picture, members, reaches, prefix)
        if len(members) > 1
        else _label(picture, at, reaches, prefix)
    )
    return f"n{at} [label={label}, {_attributes(look)}, tooltip={quoted(class_name(picture, members))}];"


def _class_label(picture: Picture, members: list[int], reaches: Mapping[str, str], prefix: str) -> str:
    """How many of which kind; level and times; what they take; what a run did with them."""
    level, step = picture.levels[members[0]], picture.graph.steps[members[0]]
    soft, facts = "#d5e3f0" if level == "critical" else _SOFT, [level]
    if picture.analysis is not None:
        facts.append(times_text(picture.analysis.estimates[at].ms for at in members))
    texts = dict.fromkeys(
        demand_text(picture.demands[at], types=picture.demands[at].gpu_types) for at in members
    )
    demand = next(iter(texts)) + (" and others" if len(texts) > 1 else "")
    called = elided(class_name(picture, members).replace(kind_of(prefix), "", 1), _LONGEST_LABEL)
    lines = [f"<B>{escaped(called)}</B>", _small("  ·  ".join(facts), soft)]
    lines += [_small(text, soft) for text in (demand, reaches.get(step.id, "")) if text]
    states = states_text(picture, members)
    if states:
        lines.append(f"<B>{_small(states, '#ffffff' if level == 'critical' else _INK)}</B>")
    return f"<{'<BR/>'.join(lines)}>"


_LONGEST_LABEL = 40
"""Columns of an id in a picture."""


def _label(picture: Picture, at: int, reaches: Mapping[str, str], prefix: str) -> str:
    """Id and name; level and time; what it takes; what a run did with it."""
    step = picture.graph.steps[at]
    level = picture.levels[at]
    soft = "#d5e3f0" if level == "critical" else _SOFT
    name = f" {escaped(step.name)}" if step.name else ""
    seen = picture.run.steps.get(step.id) if picture.run is not None else None
    facts = [level]
    if picture.analysis is not None and (seen is None or seen.median_ms is None):
        facts.append(time_text(picture.analysis.estimates[at].ms))
    short = elided(step.id.removeprefix(prefix), _LONGEST_LABEL)
    lines = [f"<B>{escaped(short)}</B>{name}", _small("  ·  ".join(facts), soft)]
    lines.append(_small(demand_text(picture.demands[at], types=picture.demands[at].gpu_types), soft))
    if step.id in reaches:
        lines.append(_small(reaches[step.id], soft))
    if seen is not None:
        color = "#ffffff" if level == "critical" else _STATES[seen.state]
        lines.append(f"<B>{_small(state_text(seen, picture.iterations), color)}</B>")
    return f"<{'<BR/>'.join(lines)}>"


def _small(text: str, color: str) -> str:
    return f'<FONT POINT-SIZE="9" COLOR="{color}">{escaped(text)}</FONT>'


def _look(group: list[Edge], critical: bool, way: str) -> dict[str, str]:
    """Bold on the critical path; an open arrow where no file is handed over, only an order kept."""
    look: dict[str, str] = {}
    if critical:
        look = {"penwidth": "2.8", "color": _INK}
    if all(edge.kind != "data" for edge in group):
        look["arrowhead"] = "vee"
    stated = next((edge.via for edge in group if edge.kind == "communication" and edge.via), "")
    protocol = way or stated
    if protocol:
        look["label"] = f" {protocol} "
    return look


def _loop_look(picture: Picture, edge: Edge, cut: bool) -> dict[str, str]:
    place = picture.locate(edge.path)
    text = f" line {place.line} "
    if cut:
        text += "\nbreak here "
    return {"color": _RED, "fontcolor": _RED, "penwidth": "2.4", "label": text} | (
        {"style": "bold"} if cut else {}
    )


def _carried_look(cut: bool) -> dict[str, str]:
    return {
        "style": "dashed",
        "color": _CARRIED,
        "fontcolor": _CARRIED,
        "constraint": "false",
        "label": " break_cycle " if cut else " carried ",
    }


def _edge(first: list[int], bundle: Bundle, look: dict[str, str], pairs: int) -> str:
    ends = f"n{first[bundle.source]} -> n{first[bundle.target]}"
    if pairs > 1:
        look["label"] = f"{look.get('label', ' ')}x {pairs} "
    tip = "; ".join(edge_text(edge) for edge in bundle.edges[:_MOST_TOLD])
    if len(bundle.edges) > _MOST_TOLD:
        tip += f"; and {len(bundle.edges) - _MOST_TOLD} more"
    return f"{ends} [{_attributes({**look, 'tooltip': tip})}];"


def _attributes(look: dict[str, str]) -> str:
    return ", ".join(f"{key}={quoted(value)}" for key, value in look.items())


def quoted(text: str) -> str:
    """A DOT string: backslashes mean something to Graphviz in labels, so they are doubled."""
    safe = "".join(ch if ch.isprintable() else "\n" if ch == "\n" else " " for ch in text)
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def escaped(text: str) -> str:
    """Text inside an HTML-like label; what XML does not allow becomes a blank."""
    return plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


VIEW = View("dot", render)
