"""What a graph view is, and the picture that it is given."""

from __future__ import annotations

from itertools import pairwise

from dsec.core.overlap import thousandths
from dsec.record import Record
from dsec_cli.cells import cells
from dsec_cli.dag.cycles import Cycle, Cycles
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dsec.core.overlap import Overlap
    from dsec.plan import Demand, Elastic, Link, Source
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.cycles import Order
    from dsec_cli.dag.graph import Edge, StepGraph
    from dsec_cli.dag.idle import Idle
    from dsec_cli.dag.use import Use
    from dsec_cli.source.tree import Path


class Observed(Record):
    """What a run has done with one Step so far, all its iterations together."""

    state: str
    """`done`, `running`, `failed`, `dropped` or `waiting`."""
    done: int
    """Iterations finished."""
    attempts: int
    median_ms: int | None
    """Of the successful attempts."""
    retries: int = 0
    failures: int = 0
    cause: str = ""
    """Of the last failed attempt: `exited with code 1`, `timed out`; "": none failed."""
    waited_ms: int | None = None
    """From when nothing that an instance needs was missing to its first attempt, the median; None: none."""
    gpu_ms: int | None = None
    """Time that attempts held GPUs, times how many; None: it asks for none."""
    gpu_permille: int | None = None
    """The same, of what all GPUs of the run had until now."""


class Bar(Record):
    """One attempt in time, or one Step of a schedule; milliseconds from the start."""

    step: str
    iteration: int
    attempt: int
    from_ms: int
    to_ms: int | None
    """None while it runs."""
    devices: tuple[str, ...]
    cause: str
    """`ok`, `running`, `planned`, or why it failed."""


class Run(Record):
    """A run that is laid over the graph."""

    job: str
    outcome: str
    """As the journal's end has it, or `running`."""
    steps: Mapping[str, Observed]
    bars: tuple[Bar, ...] = ()
    """Every attempt, in order of start."""
    span_ms: int = 0
    """From the first executor's start to the last event."""
    devices: tuple[tuple[str, str], ...] = ()
    """UUID and name of the devices that the run's plan knows."""
    simulated: bool = False
    """It was played on a simulated clock; the job is then the plan's name."""
    account: Mapping[str, object] | None = None
    """JSON-ready: what a report adds (`settlement`, `heat`, `curves`, `failures`, `remarks`); None: none."""


def held_permille(run: Run) -> int | None:
    """Of the time of a run's devices, what some attempt held them for; None without devices or time.

    A device that several share is held once.
    """
    until: dict[str, int] = {}
    held = 0
    for bar in sorted(run.bars, key=lambda one: one.from_ms):
        end = run.span_ms if bar.to_ms is None else bar.to_ms
        for device in bar.devices:
            held += max(0, end - max(bar.from_ms, until.get(device, 0)))
            until[device] = max(end, until.get(device, 0))
    whole = run.span_ms * len(run.devices)
    return held * 1000 // whole if whole else None


class Picture(Record):
    """All that a view may show; views decide nothing, they only draw."""

    title: str
    graph: StepGraph
    result: Order | Cycles
    levels: tuple[str, ...]
    """Tolerance level of each Step, defaults filled in."""
    demands: tuple[Demand, ...]
    analysis: Analysis | None
    """None while there are cycles."""
    basis: str
    """What machine the analysis assumes."""
    iterations: int
    locate: Callable[[Path], Source]
    run: Run | None = None
    devices: tuple[tuple[str, str], ...] = ()
    """UUID and name of the devices of the assumed machine."""
    uses: tuple[Use, ...] = ()
    """Of the Steps side by side, and of each resource; none while there are cycles."""
    idle: tuple[Idle, ...] = ()
    """Why GPUs stand idle, the most first."""
    links: tuple[Link, ...] = ()
    """How data gets from Step to Step on the assumed machine, one for each communication."""
    tell: Callable[[str], str] = str
    """How a text is said to whoever looks at the picture."""
    width: int = 80
    """Columns of a text."""
    elastic: tuple[Elastic, ...] = ()
    """Steps that may be started on fewer or more GPUs than they ask for."""


class View(Record):
    """One way to draw a graph; its module is named like it."""

    name: str
    render: Callable[[Picture], str]


def cycles_of(picture: Picture) -> tuple[Cycle, ...]:
    """The cycles in the picture, if any."""
    return picture.result.found if isinstance(picture.result, Cycles) else ()


def ways_of(picture: Picture) -> dict[tuple[str, str], str]:
    """By the two ends of a communication, its protocol; one that is only assumed has a question mark."""
    return {
        (link.source, link.target): link.protocol + ("?" if "unknown" in link.bandwidth else "")
        for link in picture.links
    }


def link_text(link: Link) -> str:
    """`embed -> infer: nvlink-p2p (GPU 0 to GPU 1: NV12)`."""
    why = link.reason.removeprefix("as declared; ")
    why = "" if why == "as declared" else f" ({why})"
    return f"{link.source} -> {link.target}: {link.protocol}{' as declared' if link.declared else ''}{why}"


def loop_pairs(picture: Picture) -> set[tuple[str, str]]:
    """Ends of every edge that lies on a shown loop."""
    return {(edge.source, edge.target) for cycle in cycles_of(picture) for edge in cycle.loop}


def critical_pairs(picture: Picture) -> set[tuple[str, str]]:
    """Ends of every edge of the critical path."""
    if picture.analysis is None:
        return set()
    path = [picture.graph.steps[at].id for at in picture.analysis.critical_path]
    return set(pairwise(path))


def distinct(edges: tuple[Edge, ...]) -> list[list[Edge]]:
    """Edges grouped by their two ends, in the order of first statement."""
    groups: dict[tuple[str, str], list[Edge]] = {}
    for edge in edges:
        groups.setdefault((edge.source, edge.target), []).append(edge)
    return list(groups.values())


def sources_by_target(edges: Iterable[Edge]) -> dict[str, list[str]]:
    """Per Step the Steps its edges come from, each once, in the order of statement."""
    found: dict[str, dict[str, None]] = {}
    for edge in edges:
        found.setdefault(edge.target, {})[edge.source] = None
    return {target: list(sources) for target, sources in found.items()}


_LONG, _FEW, _LEAST = 24, 3, 6
_SEPARATORS = (".:/", "_-")
"""Of levels of a hierarchy, then of words."""


def prefix_of(ids: Sequence[str]) -> str:
    """What all these ids begin with, up to a separator; empty where ids are few, or short enough."""
    if len(ids) < _FEW or max(map(len, ids)) <= _LONG:
        return ""
    first, last = min(ids), max(ids)  # what these two have in common all have
    pairs = enumerate(zip(first, last, strict=False))
    same = next((at for at, pair in pairs if len(set(pair)) > 1), len(first) - 1)
    for marks in _SEPARATORS:
        end = max(first.rfind(mark, 0, same) for mark in marks) + 1
        if end >= _LEAST:
            return first[:end]
    return ""


def elided(text: str, width: int) -> str:
    """The text in so many cells, without its middle where it takes more: ids differ at their ends."""
    if cells(text) <= width:
        return text
    head = max(1, (width - 3) // 3)
    tail = max(1, width - 3 - head)
    short = f"{text[:head]}...{text[-tail:]}"
    while cells(short) > width and tail > 1:
        head, tail = max(1, head - 1), tail - 1
        short = f"{text[:head]}...{text[-tail:]}"
    return short


_DIGITS = dict.fromkeys(b"0123456789", "#")


def kind_of(name: str) -> str:
    """The kind of a Step: its id with every number as `#`."""
    text = name.translate(_DIGITS)
    while (
        "##" in text
    ):  # large plans ask this of every edge: a loop over the characters takes five times as long
        text = text.replace("##", "#")
    return text


def time_text(ms: int) -> str:
    """`850ms`, `2.5s`, `12m30s`: short enough for a badge, exact to what matters."""
    if ms < 1000:
        return f"{ms}ms"
    if ms < 59_950:
        tenths = (ms + 50) // 100
        return f"{tenths // 10}.{tenths % 10}".removesuffix(".0") + "s"
    seconds = (ms + 500) // 1000
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    parts = [(hours, "h"), (minutes, "m"), (rest, "s")]
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount)


def pace_text(found: Overlap, makespan: int) -> str:
    """How often an iteration ends: `one every 4s once they overlap`."""
    if found.period >= makespan:
        if found.loop is not None and found.loop.period >= makespan:
            return say("one after the other, they cannot overlap")
        return say("one after the other, none overlaps")
    return say("one every {time} once they overlap", time=time_text(found.period))


def demand_text(demand: Demand, *, types: tuple[str, ...] = ()) -> str:
    """`2 GPU 24Gi, 4 cores, 16Gi`, with a word for `types` where they are to be shown."""
    parts = []
    if demand.gpu_count:
        kind = f" {types[0]}" if len(types) == 1 else f" {_common(types)}" if types else ""
        size = f" {_size(demand.gpu_memory_bytes)}" if demand.gpu_memory_bytes else ""
        parts.append(f"{demand.gpu_count} GPU{kind}{size}")
    if demand.cpu_m:
        parts.append(cores_text(demand.cpu_m))
    if demand.memory_bytes:
        parts.append(_size(demand.memory_bytes))
    return joined(", ", parts) or say("nothing")


def reach_text(least: int, most: int) -> str:
    """How few and how many GPUs a Step may be started with."""
    return say("starts on {least} to {most} GPUs", least=least, most=most)


def reaches_of(picture: Picture) -> dict[str, str]:
    """The same by Step, of those whose number of GPUs is not fixed."""
    return {one.step: reach_text(one.least, one.most) for one in picture.elastic}


def cores_text(cpu_m: int) -> str:
    """`1 core`, `2.5 cores`."""
    return say("1 core") if cpu_m == 1000 else say("{count:g} cores", count=cpu_m / 1000)


USE_NAMES: dict[str, str] = {
    "steps": say("Steps"),
    "cpu_m": say("cores"),
    "memory_bytes": say("memory"),
    "gpus": say("GPUs"),
    "gpu_memory_bytes": say("GPU memory"),
}


def amount_text(name: str, amount: int) -> str:
    """An amount of the resource of that name: `16`, `2.5`, `24Gi`."""
    if name == "cpu_m":
        return f"{amount / 1000:g}"
    return _size(amount) if name.endswith("_bytes") else str(amount)


def share_text(permille: int) -> str:
    """`19 %`; what is little but not nothing is `under 1 %`."""
    return "under 1 %" if 0 < permille < 10 else f"{(permille + 5) // 10} %"


def uses_rows(picture: Picture) -> list[tuple[str, str, str, str]]:
    """Resource, widest level, peak, what is there; none where Steps only follow each other."""
    if not picture.uses or picture.uses[0].width < 2:
        return []  # each row would say what its Step says
    rows = []
    for use in picture.uses:
        there = "" if use.available is None else amount_text(use.name, use.available)
        width, peak = amount_text(use.name, use.width), amount_text(use.name, use.peak)
        rows.append((USE_NAMES[use.name], width, peak, there))
    return rows


def idle_texts(picture: Picture, found: Analysis) -> list[tuple[str, int]]:
    """Why GPUs stand idle, and for how many thousandths of their time: `all other GPU Steps wait for S1`."""
    whole = found.gpus * found.makespan_ms
    return [
        (
            _because(one.reason, [picture.graph.steps[at].id for at in one.steps]),
            thousandths(one.gpu_ms, whole),
        )
        for one in picture.idle
    ]


def _because(reason: str, names: list[str]) -> str:
    some: str = "".join(names) or say("nothing")
    many = len(names) > 1
    if many:
        some = say("{first} and {rest}", first=", ".join(names[:-1]), rest=names[-1])
    if reason == "ready":
        if many:
            return say("{steps} are ready, but what they take is not free", steps=some)
        return say("{steps} is ready, but what it takes is not free", steps=some)
    if reason == "needs":
        return say("all other GPU Steps wait for {steps}", steps=some)
    if many:
        return say("{steps} run, and no other GPU Step is left", steps=some)
    return say("{steps} runs, and no other GPU Step is left", steps=some)


def _common(types: tuple[str, ...]) -> str:
    """One word for several types: their family when they share one."""
    families = {type_.partition("-")[0] for type_ in types}
    return families.pop() if len(families) == 1 else f"{types[0]}|+{len(types) - 1}"


def _size(amount: int) -> str:
    return (
        f"{amount / 2**30:.1f}".removesuffix(".0") + "Gi" if amount >= 2**30 else f"{-(-amount // 2**20)}Mi"
    )


def state_text(seen: Observed, iterations: int) -> str:
    """`done 20/20, 412ms each, waited 3ms`."""
    count = f" {seen.done}/{iterations}" if iterations > 1 else ""
    each = " each" if iterations > 1 else ""
    parts = [f"{seen.state}{count}"]
    if seen.median_ms is not None:
        parts.append(f"{time_text(seen.median_ms)}{each}")
    if seen.waited_ms:
        parts.append(f"waited {time_text(seen.waited_ms)}")
    if seen.attempts > seen.done + 1:  # not just the first that is under way
        parts.append(f"{seen.attempts} attempts")
    return ", ".join(parts)


def failure_text(seen: Observed) -> str:
    """`2 failures, 1 retry, the last exited with code 3`; nothing where no attempt failed."""
    if not seen.failures:
        return ""
    parts = [f"{seen.failures} failure{'' if seen.failures == 1 else 's'}"]
    if seen.retries:
        parts.append(f"{seen.retries} retr{'y' if seen.retries == 1 else 'ies'}")
    return ", ".join([*parts, f"the last {seen.cause}"] if seen.cause else parts)
