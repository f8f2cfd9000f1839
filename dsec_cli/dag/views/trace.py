"""Planned and actual times as one Chrome trace: open it in ui.perfetto.dev or chrome://tracing.

Times are microseconds from the start; process 1 is the plan (one iteration), process 2 the run.
Rows are devices, each as often as Steps share it at a time, then lanes of what holds none.
Format: the "Trace Event Format" (complete events,
`ph` X, and metadata events).
"""

from __future__ import annotations

import json as encoder
from heapq import heappop, heappush

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


class _Row:
    """Lanes of one device, or of what holds none: as few as keep bars apart."""

    def __init__(self) -> None:
        self.lanes: list[list[Bar]] = [[]]
        self._ends: list[tuple[int, int]] = []
        """When a lane that is in use is free again, and its number; a heap."""
        self._free = [0]

    def add(self, bar: Bar) -> None:
        """The bars come in order of their start."""
        while self._ends and self._ends[0][0] <= bar.from_ms:
            heappush(self._free, heappop(self._ends)[1])
        if not self._free:
            self._free.append(len(self.lanes))
            self.lanes.append([])
        at = heappop(self._free)
        self.lanes[at].append(bar)
        heappush(self._ends, (2**63 if bar.to_ms is None else bar.to_ms, at))


def lanes(bars: Sequence[Bar], names: Mapping[str, str]) -> list[_Lane]:
    """A lane per device, more for one that Steps share, then as few lanes as what holds no device needs.

    No two bars of a lane overlap: a viewer drops those that do, unless one lies within the other.
    """
    rows, hosted = {uuid: _Row() for uuid in names}, _Row()
    for bar in sorted(bars, key=lambda one: (one.from_ms, one.step, one.iteration)):
        for uuid in bar.devices:
            rows.setdefault(uuid, _Row()).add(bar)
        if not bar.devices:
            hosted.add(bar)
    found = []
    for uuid, row in rows.items():
        name = names.get(uuid, uuid)
        found += [_Lane(f"{name} ({at})" if at > 1 else name, lane) for at, lane in enumerate(row.lanes, 1)]
    free = [_Lane(f"no GPU {at}", lane) for at, lane in enumerate(hosted.lanes, 1) if lane]
    return [*found, *free]


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
