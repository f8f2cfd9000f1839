"""The graph for a terminal: Steps by level, what each waits for, and what the whole thing costs."""

from __future__ import annotations

from dsec_cli.cells import cells, plain
from dsec_cli.dag.findings import cut_lines, edge_text, loop_text, remains_text
from dsec_cli.dag.rows import LONGEST_NAME, WIDTH, hung, rows_of, shorten, wrap_words
from dsec_cli.dag.view import (
    Picture,
    View,
    cycles_of,
    distinct,
    idle_texts,
    link_text,
    pace_text,
    share_text,
    time_text,
    uses_rows,
)
from dsec_cli.words import joined, said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.core.overlap import Overlap
    from dsec.plan import Source
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.cycles import Cut, Cycle

MOST_LINKS = 50
"""Links that are shown; the others are counted."""
MOST_CYCLES = 20
"""Cycles that are shown; the others are counted."""
_EDGES = 12
"""Edges of a loop that are shown."""


def render(picture: Picture) -> str:
    """Headline, Steps, then either the analysis or the cycles."""
    if not picture.graph.steps:
        return "\n".join(map(plain, _headline(picture))) + "\n"
    lines = [*_headline(picture), "", *rows_of(picture)]
    if picture.analysis is not None:
        lines += ["", *_analysis(picture, picture.analysis), *_links(picture)]
    cycles = cycles_of(picture)
    for number, cycle in enumerate(cycles[:MOST_CYCLES], 1):
        lines += ["", *_cycle(picture, cycle, number)]
    if len(cycles) > MOST_CYCLES:
        more = say("{count} more cycles: --output json shows them all", count=len(cycles) - MOST_CYCLES)
        lines += ["", picture.tell(more)]
    return "\n".join(map(plain, lines)) + "\n"


def _headline(picture: Picture) -> Iterator[str]:
    graph = picture.graph
    parts = [_counted(len(graph.steps), "Step")]
    if picture.analysis is not None:
        parts.append(_counted(len(picture.analysis.levels), "level"))
    parts.append(_counted(len(distinct(graph.edges)), "edge"))
    if graph.carried:
        parts.append(say("{count} carried", count=len(distinct(graph.carried))))
    if picture.iterations > 1:
        parts.append(_counted(picture.iterations, "iteration"))
    cycles = len(cycles_of(picture))
    if cycles:
        parts.append(_counted(cycles, "cycle"))
    head = say("{title}: {counts}", title=picture.title, counts=joined(", ", parts))
    yield shorten(picture.tell(head), WIDTH)
    if picture.run is not None:
        from dsec.outcomes import state  # few pictures have a run

        run = say("run {job}: {outcome}", job=picture.run.job, outcome=state(picture.run.outcome))
        yield shorten(picture.tell(run), WIDTH)


_ONE = {
    "Step": say("1 Step"),
    "level": say("1 level"),
    "edge": say("1 edge"),
    "iteration": say("1 iteration"),
    "cycle": say("1 cycle"),
    "GPU": say("1 GPU"),
    "more": say("1 more Step"),
}
_MANY = {
    "Step": "{count} Steps",
    "level": "{count} levels",
    "edge": "{count} edges",
    "iteration": "{count} iterations",
    "cycle": "{count} cycles",
    "GPU": "{count} GPUs",
    "more": "{count} more Steps",
}


def _counted(amount: int, noun: str) -> str:
    return _ONE[noun] if amount == 1 else say(_MANY[noun], count=amount)


def _head(picture: Picture, label: str) -> str:
    told = picture.tell(label)
    return told + " " * (19 - cells(told))


def _labelled(picture: Picture, label: str, text: str) -> Iterator[str]:
    """A label in its column, and what is said of it; below each other where a line is too narrow."""
    head, told = _head(picture, label), picture.tell(text)
    if cells(head) + cells(told) <= WIDTH:
        yield head + told
    else:
        yield from hung(head, told)


def _analysis(picture: Picture, found: Analysis) -> Iterator[str]:
    ids = [picture.graph.steps[at].id for at in found.critical_path]
    time, steps = time_text(found.critical_path_ms), _counted(len(ids), "Step")
    yield from _labelled(picture, say("critical path (*)"), say("{time} in {steps}", time=time, steps=steps))
    yield from _path(ids)
    on = say("{time} on {machine}", time=time_text(found.makespan_ms), machine=said(picture.basis))
    yield from _labelled(picture, say("one iteration"), on)
    limit, bound = max(found.bounds_ms, key=lambda pair: pair[1])
    if any(found.slacks_ms):
        meaning = say("how much a Step may be late before the critical path grows")
        yield from _labelled(picture, say("slack (+)"), meaning)
    low = say(
        "{time}, set by the {limit}",
        time=time_text(bound),
        limit=_PATH if limit == "critical path" else limit,
    )
    yield from _labelled(picture, say("lower bound"), low)
    if found.gpu_idle_permille is not None:
        share, gpus = share_text(found.gpu_idle_permille), _counted(found.gpus, "GPU")
        idle = say("{share} of {gpus} in that iteration", share=share, gpus=gpus)
        yield from _labelled(picture, say("idle GPU time"), idle)
        for text, permille in idle_texts(picture, found):
            share = f"{share_text(permille):>4} "
            yield from hung(f"{'':<18} {share}", picture.tell(text))
    if found.overlap is not None:
        yield from _overlap(picture, found.overlap, found.makespan_ms)
    yield from _uses(picture)
    yield from _sources(picture, found)


def _uses(picture: Picture) -> Iterator[str]:
    """Per resource what the widest level asks for, the peak, and what the assumed machine has."""
    rows = uses_rows(picture)
    if rows:
        heads = (say("side by side"), say("widest level"), say("peak"), say("there"))
        yield _row(*map(picture.tell, heads))
    for name, width, peak, there in rows:
        yield _row(f"  {picture.tell(name)}", width, peak, there)


def _row(name: str, *amounts: str) -> str:
    """A name, and amounts that end in their columns."""
    row = name + " " * (18 - cells(name))
    for amount, width in zip(amounts, (14, 12, 12), strict=True):
        row += " " * (width + 1 - cells(amount)) + amount
    return row.rstrip()


def _links(picture: Picture) -> Iterator[str]:
    """How data gets from Step to Step, wrapped."""
    if not picture.links:
        return
    import textwrap  # costs start-up, and few graphs have links

    for link in picture.links[:MOST_LINKS]:
        text = _head(picture, say("link")) + picture.tell(link_text(link))
        yield from textwrap.wrap(text, WIDTH, subsequent_indent=" " * 21, break_on_hyphens=False)
    if len(picture.links) > MOST_LINKS:
        count = len(picture.links) - MOST_LINKS
        yield from _labelled(
            picture, "", say("{count} more links: --output json shows them all", count=count)
        )


def _overlap(picture: Picture, found: Overlap, makespan: int) -> Iterator[str]:
    """What repeating costs, and which loop sets the pace."""
    whole = say("{time} in all: {pace}", time=time_text(found.total), pace=pace_text(found, makespan))
    yield from _labelled(picture, _counted(picture.iterations, "iteration"), whole)
    if found.gpu_idle_permille is not None:
        share = share_text(found.gpu_idle_permille)
        yield from _labelled(picture, "", say("idle GPU time then: {share}", share=share))
    if found.loop is not None:
        ids = [picture.graph.steps[at].id for at in found.loop.path]
        lag, period = found.loop.lag, time_text(found.loop.period)
        later = say("the iteration {count} later", count=lag)
        back = say("the next iteration") if lag == 1 else later
        path = " > ".join(ids if len(ids) <= 8 else [*ids[:4], "...", *ids[-3:]])
        yield from _labelled(picture, "", say("not below {time}: {which} waits for", time=period, which=back))
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


def _sources(picture: Picture, found: Analysis) -> Iterator[str]:
    counts: dict[str, int] = {}
    for one in found.estimates:
        counts[one.source] = counts.get(one.source, 0) + 1
    parts = [say(_MEANING[source], count=counts[source]) for source in _MEANING if source in counts]
    if parts:
        yield from _labelled(picture, say("durations"), joined("; ", parts))


_PATH = say("critical path")
_MEANING = {
    "history": "{count} ~ from earlier runs",
    "declared": "{count} declared",
    "default": "{count} ? unknown, 1s assumed",
}


def _cycle(picture: Picture, cycle: Cycle, number: int) -> Iterator[str]:
    tell = picture.tell
    head = say("cycle {number}: {loop}", number=number, loop=loop_text(cycle))
    yield from wrap_words(tell(head), indent=4)
    for edge in cycle.loop[:_EDGES]:
        yield f"    {_at(picture.locate(edge.path))}  {tell(edge_text(edge))}"
    if len(cycle.loop) > _EDGES:
        count = len(cycle.loop) - _EDGES
        yield tell(say("    {count} more edges: --output json shows them all", count=count))
    others = len(cycle.members) - len(cycle.loop)
    if others > 0:
        yield tell(say("    {steps} tied into it by other loops", steps=_counted(others, "more")))
    yield from _cuts(picture, cycle)


def _cuts(picture: Picture, cycle: Cycle) -> Iterator[str]:
    """Where to break it: in one of several places, or in several places together."""
    tell = picture.tell
    if not cycle.complete:
        points = ", ".join(f"{cut.source} -> {cut.target}" for cut in cycle.remedy)
        left = say("{what}: {cuts}", what=remains_text(cycle), cuts=points)
        yield tell(say("  break it, cheapest first:"))
        for cut in cycle.proposals[:_ALTERNATIVES]:
            yield from _place(picture, cut, rest=_REMAIN[cut.breaks_all is None])
        yield from wrap_words(tell(left), indent=4, first=2)
    elif len(cycle.remedy) > 1:
        yield tell(say("  break it in these {count} places, all of them:", count=len(cycle.remedy)))
        for cut in cycle.remedy[:_TOGETHER]:
            yield from _place(picture, cut)
        if len(cycle.remedy) > _TOGETHER:
            count = len(cycle.remedy) - _TOGETHER
            yield tell(say("    {count} more places: --output json shows them all", count=count))
    else:
        alone = [cut for cut in cycle.proposals if cut.breaks_all][:_ALTERNATIVES]
        yield tell(say("  break it in one place, here:"))
        for number, cut in enumerate(alone):
            if number:
                yield tell(say("  or instead here:"))
            yield from _place(picture, cut)


def _place(picture: Picture, cut: Cut, *, rest: str = "") -> Iterator[str]:
    tell = picture.tell
    yield f"    Step {cut.target}:  {'  '.join(cut_lines(cut))}"
    why = f"{cut.source} -> {cut.target} {tell(said(cut.reason))}{tell(rest)}"
    yield from wrap_words(why, indent=8, first=8)


_REMAIN = (say("; other loops remain"), say("; too large to find out whether other loops remain"))
_ALTERNATIVES, _TOGETHER = 3, 8
"""Places that are shown: of which one is enough, and of which all are needed."""


def _at(source: Source) -> str:
    return f"{source.file}:{source.line}:{source.column}"


VIEW = View("text", render)
