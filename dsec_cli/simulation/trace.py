"""A simulation as a Chrome trace: a process per server, a row per device, rows of what holds none."""

from __future__ import annotations

import json

from dsec_cli.dag.view import Bar
from dsec_cli.dag.views.trace import lanes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsec_cli.simulation.played import Played

    Event = dict[str, object]


def trace(played: Played) -> str:
    """The trace, one event per line; open it in ui.perfetto.dev or chrome://tracing."""
    steps = played.scene.work.steps
    labels = {step.id: step.name or step.id for step in steps}
    bars: list[list[Bar]] = [[] for _ in played.machines]
    for piece in played.history.pieces:
        if piece.at not in played.scene.work.arrivals:
            name = steps[piece.at].id
            bars[piece.machine].append(
                Bar(
                    name,
                    piece.iteration,
                    piece.attempt,
                    piece.from_ms,
                    piece.to_ms,
                    piece.devices,
                    piece.cause,
                )
            )
    events = [
        event for at, of_machine in enumerate(bars) for event in _process(played, at, of_machine, labels)
    ]
    lines = ",\n".join(
        json.dumps(event, ensure_ascii=False, sort_keys=True) for event in (*events, *_faults(played))
    )
    return f'{{"displayTimeUnit":"ms","traceEvents":[\n{lines}\n]}}\n'


def _process(played: Played, at: int, bars: list[Bar], labels: Mapping[str, str]) -> Iterator[Event]:
    machine = played.machines[at]
    yield {"ph": "M", "pid": at + 1, "name": "process_name", "args": {"name": f"simulated {machine.name}"}}
    names = {device.uuid: f"GPU {device.index}" for device in machine.inventory.devices}
    for thread, lane in enumerate(lanes(bars, names), 1):
        yield {"ph": "M", "pid": at + 1, "tid": thread, "name": "thread_name", "args": {"name": lane.name}}
        for bar in lane.bars:
            end = bar.from_ms if bar.to_ms is None else bar.to_ms
            yield {
                "ph": "X",
                "pid": at + 1,
                "tid": thread,
                "name": labels[bar.step],
                "cat": bar.cause,
                "ts": bar.from_ms * 1000,
                "dur": (end - bar.from_ms) * 1000,
                "args": {
                    "step": bar.step,
                    "iteration": bar.iteration,
                    "attempt": bar.attempt,
                    "outcome": bar.cause,
                },
            }


def _faults(played: Played) -> Iterator[Event]:
    for one in played.history.recoveries:
        yield {"ph": "i", "s": "g", "pid": 1, "name": one.fault.text, "ts": one.fault.at_ms * 1000}
