"""Planned and actual times as one Chrome trace: open it in ui.perfetto.dev or chrome://tracing.

Times are microseconds from the start; process 1 is the plan (one iteration), process 2 the run.
Rows are devices, then lanes of what holds none. Format: the "Trace Event Format" (complete events,
`ph` X, and metadata events).
"""

from __future__ import annotations

import json as encoder

from dsec.record import Record
from dsec_cli.dag.view import Bar, Picture, View, demand_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Event = dict[str, object]

PLANNED, ACTUAL = 1, 2


class _Lane(Record):
    name: str
    bars: list[Bar]


def render(picture: Picture) -> str:
    """The trace, one event per line."""
    events = [*_process(picture, PLANNED, "planned, one iteration", planned(picture), dict(picture.devices))]
    if picture.run is not None:
        names = dict(picture.run.devices)
        name = f"run {picture.run.job} ({picture.run.outcome})"
        events += _process(picture, ACTUAL, name, picture.run.bars, names)
    lines = ",\n".join(encoder.dumps(event, ensure_ascii=False, sort_keys=True) for event in events)
    return f'{{"displayTimeUnit":"ms","traceEvents":[\n{lines}\n]}}\n'


def planned(picture: Picture) -> tuple[Bar, ...]:
    """The schedule as bars; none while there are cycles."""
    found = picture.analysis
    if found is None:
        return ()
    return tuple(
        Bar(step.id, 0, 1, found.slices[at].start, found.slices[at].end, found.slices[at].devices, "planned")
        for at, step in enumerate(picture.graph.steps)
    )


def lanes(bars: Sequence[Bar], names: Mapping[str, str]) -> list[_Lane]:
    """A lane per device, then as few lanes as what holds no device needs."""
    by_device = {uuid: _Lane(name, []) for uuid, name in names.items()}
    free: list[_Lane] = []
    until: list[int] = []
    for bar in sorted(bars, key=lambda one: (one.from_ms, one.step)):
        for uuid in bar.devices:
            by_device.setdefault(uuid, _Lane(uuid, [])).bars.append(bar)
        if bar.devices:
            continue
        at = next((at for at, end in enumerate(until) if end <= bar.from_ms), len(free))
        if at == len(free):
            free.append(_Lane(f"no GPU {at + 1}", []))
            until.append(0)
        free[at].bars.append(bar)
        until[at] = bar.to_ms if bar.to_ms is not None else 2**63
    return [*by_device.values(), *free]


def _process(
    picture: Picture, number: int, name: str, bars: Sequence[Bar], devices: Mapping[str, str]
) -> Iterator[Event]:
    yield {"ph": "M", "pid": number, "name": "process_name", "args": {"name": name}}
    last = max((end for bar in bars for end in (bar.from_ms, bar.to_ms) if end is not None), default=0)
    for thread, lane in enumerate(lanes(bars, devices), 1):
        yield {"ph": "M", "pid": number, "tid": thread, "name": "thread_name", "args": {"name": lane.name}}
        for bar in lane.bars:
            yield _event(picture, number, thread, bar, last)


def _event(picture: Picture, number: int, thread: int, bar: Bar, last: int) -> Event:
    at = picture.graph.numbers.get(bar.step)
    end = last if bar.to_ms is None else bar.to_ms
    args: Event = {"iteration": bar.iteration, "attempt": bar.attempt, "outcome": bar.cause}
    if at is not None:
        args |= {"asks for": demand_text(picture.demands[at]), "tolerance": picture.levels[at]}
    return {
        "ph": "X",
        "pid": number,
        "tid": thread,
        "name": bar.step,
        "cat": bar.cause,
        "ts": bar.from_ms * 1000,
        "dur": max(end - bar.from_ms, 0) * 1000,
        "args": args,
    }


VIEW = View("trace", render)
