"""The graph for a terminal: Steps by level, what each waits for, and what the whole thing costs."""

from __future__ import annotations

import textwrap

from dsec_cli.dag.findings import cut_lines, edge_text, loop_text, remains_text
from dsec_cli.dag.linking import link_text
from dsec_cli.dag.rows import LONGEST_NAME, WIDTH, cells, hung, rows_of, shorten, wrap_words
from dsec_cli.dag.view import (
    Picture,
    View,
    cycles_of,
    distinct,
    idle_texts,
    pace_text,
    share_text,
    time_text,
    uses_rows,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.core.overlap import Overlap
    from dsec.plan import Source
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.cycles import Cycle

MOST_LINKS = 50
"""Links that are shown; the others are counted."""
MOST_CYCLES = 20
"""Cycles that are shown; the others are counted."""
_EDGES = 12
"""Edges of a loop that are shown."""


def render(picture: Picture) -> str:
    """Headline, Steps, then either the analysis or the cycles."""
    if not picture.graph.steps:
        return "\n".join(map(_plain, _headline(picture))) + "\n"
    lines = [*_headline(picture), "", *rows_of(picture)]
    if picture.analysis is not None:
        lines += ["", *_analysis(picture, picture.analysis), *_links(picture)]
    cycles = cycles_of(picture)
    for number, cycle in enumerate(cycles[:MOST_CYCLES], 1):
        lines += ["", *_cycle(picture, cycle, number)]
    if len(cycles) > MOST_CYCLES:
        lines += ["", f"{len(cycles) - MOST_CYCLES} more cycles: --output json shows them all"]
    return "\n".join(map(_plain, lines)) + "\n"


def _headline(picture: Picture) -> Iterator[str]:
    graph = picture.graph
    parts = [_count(len(graph.steps), "Step")]
    if picture.analysis is not None:
        parts.append(_count(len(picture.analysis.levels), "level"))
    parts.append(_count(len(distinct(graph.edges)), "edge"))
    if graph.carried:
        parts.append(f"{len(distinct(graph.carried))} carried")
    if picture.iterations > 1:
        parts.append(_count(picture.iterations, "iteration"))
    cycles = len(cycles_of(picture))
    if cycles:
        parts.append(_count(cycles, "cycle"))
    yield shorten(f"{picture.title}: {', '.join(parts)}", WIDTH)
    if picture.run is not None:
        yield shorten(f"run {picture.run.job}: {picture.run.outcome}", WIDTH)


def _count(amount: int, noun: str) -> str:
    return f"{amount} {noun}{'' if amount == 1 else 's'}"


def _analysis(picture: Picture, found: Analysis) -> Iterator[str]:
    ids = [picture.graph.steps[at].id for at in found.critical_path]
    yield f"critical path (*)  {time_text(found.critical_path_ms)} in {_count(len(ids), 'Step')}"
    yield from _path(ids)
    yield f"one iteration      {time_text(found.makespan_ms)} on {picture.basis}"
    limit, bound = max(found.bounds_ms, key=lambda pair: pair[1])
    if any(found.slacks_ms):
        yield "slack (+)          how much later a Step may start without delaying the end"
    yield f"lower bound        {time_text(bound)}, set by the {limit}"
    if found.gpu_idle_permille is not None:
        share = f"{share_text(found.gpu_idle_permille)} of {_count(found.gpus, 'GPU')}"
        yield f"idle GPU time      {share} in that iteration"
        for text, permille in idle_texts(picture, found):
            share = f"{share_text(permille):>4} "
            yield from hung(f"{'':<18} {share}", text)
    if found.overlap is not None:
        yield from _overlap(picture, found.overlap, found.makespan_ms)
    yield from _uses(picture)
    yield from _sources(found)


def _uses(picture: Picture) -> Iterator[str]:
    """Per resource what the widest level asks for, the peak, and what the assumed machine has."""
    rows = uses_rows(picture)
    if rows:
        yield f"{'side by side':<18} {'widest level':>14} {'peak':>12} {'there':>12}"
    for name, width, peak, there in rows:
        yield f"  {name:<16} {width:>14} {peak:>12} {there:>12}".rstrip()


def _links(picture: Picture) -> Iterator[str]:
    """How data gets from Step to Step, wrapped."""
    for link in picture.links[:MOST_LINKS]:
        text = f"{'link':<18} {link_text(link)}"
        yield from textwrap.wrap(text, WIDTH, subsequent_indent=" " * 21, break_on_hyphens=False)
    if len(picture.links) > MOST_LINKS:
        yield f"{'':<18} {len(picture.links) - MOST_LINKS} more links: --output json shows them all"


def _overlap(picture: Picture, found: Overlap, makespan: int) -> Iterator[str]:
    """What repeating costs, and which loop sets the pace."""
    many = _count(picture.iterations, "iteration")
    yield f"{many:<18} {time_text(found.total)} in all: {pace_text(found, makespan)}"
    if found.gpu_idle_permille is not None:
        yield f"{'':<18} idle GPU time then: {share_text(found.gpu_idle_permille)}"
    if found.loop is not None:
        ids = [picture.graph.steps[at].id for at in found.loop.path]
        back = "the next iteration" if found.loop.lag == 1 else f"the iteration {found.loop.lag} later"
        path = " > ".join(ids if len(ids) <= 8 else [*ids[:4], "...", *ids[-3:]])
        yield f"{'':<18} not below {time_text(found.loop.period)}: {back} waits for"
        yield f"{'':<18} {shorten(path, WIDTH - 19)}"


def _path(ids: list[str]) -> Iterator[str]:
    """`S1 > S2 > S3`, shortened in the middle when it is long, and wrapped."""
    shown = ids if len(ids) <= 24 else [*ids[:12], f"({len(ids) - 20} more)", *ids[-8:]]
    line = "   "
    for at, name in enumerate(shown):
        part = f" > {shorten(name, LONGEST_NAME)}" if at else f" {shorten(name, LONGEST_NAME)}"
        if cells(line) + cells(part) > WIDTH:
            yield line
            line = "    "
        line += part
    yield line


def _sources(found: Analysis) -> Iterator[str]:
    counts: dict[str, int] = {}
    for one in found.estimates:
        counts[one.source] = counts.get(one.source, 0) + 1
    meaning = {
        "history": "~ from earlier runs",
        "declared": "declared",
        "default": "? nobody knows, 1s assumed",
    }
    parts = [f"{counts[source]} {text}" for source, text in meaning.items() if source in counts]
    if parts:
        yield f"durations          {'; '.join(parts)}"


def _cycle(picture: Picture, cycle: Cycle, number: int) -> Iterator[str]:
    yield from wrap_words(f"cycle {number}: {loop_text(cycle)}", indent=4)
    for edge in cycle.loop[:_EDGES]:
        yield f"    {_at(picture.locate(edge.path))}  {edge_text(edge)}"
    if len(cycle.loop) > _EDGES:
        yield f"    {len(cycle.loop) - _EDGES} more edges: --output json shows them all"
    others = len(cycle.members) - len(cycle.loop)
    if others > 0:
        yield f"    {_count(others, 'more Step')} tied into it by other loops"
    yield "  break it, cheapest first:"
    for cut in cycle.proposals[:3]:
        whole = "" if cut.breaks_all else _REMAIN[cut.breaks_all is None]
        yield f"    Step {cut.target}:  {'  '.join(cut_lines(cut))}"
        yield from wrap_words(f"{cut.source} -> {cut.target} {cut.reason}{whole}", indent=8, first=8)
    points = ", ".join(f"{cut.source} -> {cut.target}" for cut in cycle.remedy)
    if not cycle.complete:
        yield from wrap_words(f"{remains_text(cycle)}: {points}", indent=4, first=2)
    elif len(cycle.remedy) > 1:
        yield from wrap_words(f"no loop is left with these cuts together: {points}", indent=4, first=2)


_REMAIN = ("; other loops remain", "; too large to find out whether other loops remain")


def _at(source: Source) -> str:
    return f"{source.file}:{source.line}:{source.column}"


def _plain(text: str) -> str:
    """The text without what a terminal would obey."""
    return "".join(ch if ch.isprintable() else " " for ch in text)


VIEW = View("text", render)
