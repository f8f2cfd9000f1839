"""One self-contained page: the graph to move about in, and the time line below it.

`ds-dag-analyze FILE --output html -o dag.html`; it loads nothing, so it works from a file and
offline. What comes from the contract is data, never markup.
"""

from __future__ import annotations

import json as encoder
from importlib.resources import files

from dsec.markup import html_text, json_lines
from dsec_cli.dag.findings import MOST_EDGES, cut_text, edge_text, loop_text
from dsec_cli.dag.rows import MANY
from dsec_cli.dag.view import (
    Picture,
    View,
    critical_pairs,
    cycles_of,
    demand_text,
    held_permille,
    idle_texts,
    kind_of,
    loop_pairs,
    prefix_of,
    reaches_of,
    share_text,
    time_text,
    uses_rows,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.cycles import Cycle
    from dsec_cli.dag.view import Observed, Run

SCRIPTS = ("basics", "layout", "graph", "about", "timeline", "report", "start")
"""In the order in which they need each other."""
_BAD = ("failed", "stopped", "not all done")
"""Outcomes that are bad news."""
_STRETCHES = 12
"""Classes that Steps of one kind are divided into, where there is but one kind of many."""
CARRIED, LOOP, LONG = 1, 2, 4
"""Flags of an edge."""


def render(picture: Picture) -> str:
    """The page."""
    assets = files("dsec_cli.dag.views") / "page"
    page = (assets / "page.html").read_text("utf-8")
    parts = {
        "@CSS@": (assets / "page.css").read_text("utf-8"),
        "@JS@": "".join((assets / f"{name}.js").read_text("utf-8") for name in SCRIPTS),
        "@TITLE@": html_text(picture.title),
        "@DATA@": _script(encoder.dumps(data(picture), ensure_ascii=False, separators=(",", ":"))),
    }
    before, *rest = page.split("@")
    out = [before]
    # Cut at the marks once, so that nothing inside a part is taken for one.
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        out += [parts[f"@{name}@"], text]
    return "".join(out)


def _script(text: str) -> str:
    """JSON that ends no script element, whatever its texts hold; lone surrogates become escapes."""
    text = json_lines(text)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)


def data(picture: Picture) -> dict[str, object]:
    """What the page's script is given."""
    found = picture.analysis
    return {
        "title": picture.title,
        "basis": picture.basis,
        "iterations": picture.iterations,
        "steps": _steps(picture),
        "edges": _edges(picture),
        "bounds": [] if found is None else list(found.bounds_ms),
        "critical": [] if found is None else list(found.critical_path),
        "length": None if found is None else found.critical_path_ms,
        "idle": [] if found is None else _idle(picture, found),
        "uses": uses_rows(picture),
        "cores": _cores(picture),
        "cycles": [_cycle(picture, cycle) for cycle in cycles_of(picture)],
        "figures": _figures(picture),
        "devices": dict((*picture.devices, *(picture.run.devices if picture.run is not None else ()))),
        "prefix": prefix_of([step.id for step in picture.graph.steps]),
        "planned": [uuid for uuid, _ in picture.devices],
        "makespan": None if found is None else found.makespan_ms,
        "run": None if picture.run is None else _run(picture, picture.run),
    }


def _steps(picture: Picture) -> list[dict[str, object]]:
    critical = set(picture.analysis.critical_path) if picture.analysis is not None else set()
    looped = {name for cycle in cycles_of(picture) for name in cycle.members}
    columns = _columns(picture)
    groups = _groups(picture, columns)
    spans = {step: f", {text}" for step, text in reaches_of(picture).items()}
    return [
        {
            "id": step.id,
            "name": step.name,
            "level": picture.levels[at],
            "group": groups[at],
            "column": columns[at],
            "demand": demand_text(picture.demands[at], types=picture.demands[at].gpu_types)
            + spans.get(step.id, ""),
            "brief": demand_text(picture.demands[at]),
            "cores": picture.demands[at].cpu_m / 1000,
            "critical": at in critical,
            "loop": step.id in looped,
            "place": "{}:{}".format(*picture.locate(step.path)[:2]),
            "run": None if picture.run is None else _seen(picture.run.steps.get(step.id)),
            **_times(picture.analysis, at),
        }
        for at, step in enumerate(picture.graph.steps)
    ]


def _groups(picture: Picture, columns: list[int]) -> list[str]:
    """The class of each Step: its kind; of many Steps that are all of one kind, a stretch of levels."""
    kinds = [kind_of(step.id) for step in picture.graph.steps]
    last = max(columns, default=0)
    if len(kinds) <= MANY or len(set(kinds)) > 1 or not last:
        return kinds
    wide = last // _STRETCHES + 1
    names = [
        f"levels {at}-{min(at + wide - 1, last)}" if wide > 1 else f"level {at}"
        for at in range(0, last + 1, wide)
    ]
    return [names[column // wide] for column in columns]


def _idle(picture: Picture, found: Analysis) -> list[list[object]]:
    return [[text, permille, share_text(permille)] for text, permille in idle_texts(picture, found)]


def _cores(picture: Picture) -> float | None:
    """What the assumed machine has; None: any number."""
    there = next((use.available for use in picture.uses if use.name == "cpu_m"), None)
    return None if there is None else there / 1000


def _times(found: Analysis | None, at: int) -> dict[str, object]:
    if found is None:
        return {"ms": None, "source": "", "slack": None, "start": None, "end": None, "devices": []}
    return {
        "ms": found.estimates[at].ms,
        "source": found.estimates[at].source,
        "slack": found.slacks_ms[at],
        "start": found.slices[at].start,
        "end": found.slices[at].end,
        "devices": list(found.slices[at].devices),
    }


def _columns(picture: Picture) -> list[int]:
    """How far right each Step stands; in a cyclic graph what leads back to an earlier Step is left out."""
    if picture.analysis is not None:
        columns = [0] * len(picture.graph.steps)
        for column, level in enumerate(picture.analysis.levels):
            for at in level:
                columns[at] = column
        return columns
    columns = [0] * len(picture.graph.steps)
    numbers = picture.graph.numbers
    for source, target in sorted((numbers[e.source], numbers[e.target]) for e in picture.graph.edges):
        if source < target:
            columns[target] = max(columns[target], columns[source] + 1)
    return columns


def _edges(picture: Picture) -> list[list[object]]:
    numbers = picture.graph.numbers
    long, loops = critical_pairs(picture), loop_pairs(picture)
    ways = {(link.source, link.target): f"{link.protocol} ({link.reason})" for link in picture.links}
    seen: dict[tuple[int, int, str, str, int], None] = {}
    for edges, carried in ((picture.graph.edges, 0), (picture.graph.carried, CARRIED)):
        for edge in edges:
            pair = (edge.source, edge.target)
            flags = carried | (LOOP if pair in loops else 0) | (LONG if pair in long and not carried else 0)
            via = ways.get(pair, edge.via) if edge.kind == "communication" else edge.via
            seen[numbers[edge.source], numbers[edge.target], edge.kind, via, flags] = None
    return [list(key) for key in seen]


def _cycle(picture: Picture, cycle: Cycle) -> dict[str, object]:
    edges = cycle.loop[:MOST_EDGES]
    return {
        "text": loop_text(cycle),
        "steps": [picture.graph.numbers[edge.source] for edge in edges],
        "more": max(0, len(cycle.loop) - MOST_EDGES),
        "edges": [
            ["{}:{}:{}".format(*picture.locate(edge.path)), edge_text(edge)]
            for edge in cycle.loop[:MOST_EDGES]
        ],
        "remedy": "; ".join(cut_text(cut) for cut in cycle.remedy),
    }


def _figures(picture: Picture) -> list[list[object]]:
    """Name, value, and whether it is bad news."""
    rows: list[list[object]] = [["Steps", str(len(picture.graph.steps)), False]]
    if cycles_of(picture):
        rows.append(["cycles", str(len(cycles_of(picture))), True])
    found = picture.analysis
    if found is not None:
        rows.append(["one iteration", time_text(found.makespan_ms), False])
        rows.append(["no schedule below", time_text(found.lower_bound_ms), False])
        if found.gpu_idle_permille is not None:
            rows.append(["GPUs idle", share_text(found.gpu_idle_permille), False])
        if found.overlap is not None:
            rows.append([f"{picture.iterations} iterations", time_text(found.overlap.total), False])
    if picture.run is not None:
        rows += _of_run(picture.run)
    return rows


def _of_run(run: Run) -> list[list[object]]:
    word = "simulation" if run.simulated else "run"
    rows: list[list[object]] = [[word, run.outcome.partition(" (")[0], run.outcome in _BAD]]
    rows.append(["it took", time_text(run.span_ms), False])
    held = held_permille(run)
    if held is not None:
        rows.append(["GPUs held", share_text(held), False])
    failures = sum(seen.failures for seen in run.steps.values())
    return [*rows, ["failures", str(failures), True]] if failures else rows


def _seen(seen: Observed | None) -> dict[str, object] | None:
    return None if seen is None else dict(seen._asdict())


def _run(picture: Picture, run: Run) -> dict[str, object]:
    numbers = picture.graph.numbers
    bars = [
        [numbers[bar.step], bar.from_ms, bar.to_ms, list(bar.devices), bar.iteration, bar.attempt, bar.cause]
        for bar in run.bars
        if bar.step in numbers
    ]
    return {
        "job": run.job,
        "outcome": run.outcome,
        "span": run.span_ms,
        "devices": [uuid for uuid, _ in run.devices],
        "bars": bars,
        "simulated": run.simulated,
        "account": run.account,
    }


VIEW = View("html", render)
