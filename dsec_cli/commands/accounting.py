"""What a run held, used and cost, from its journal and its audit file, for reports."""

from __future__ import annotations

from dsec.auditfile import samples
from dsec.core.heat import heat
from dsec.core.holdings import Holdings
from dsec.core.reckoning import as_data
from dsec.core.settlement import Own, Reading, settle
from dsec.events import Continue, DeviceState, Notice, Pause, decode
from dsec.journal import read
from dsec.outcomes import recorded
from dsec.progress import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from dsec.core.settlement import Prices
    from dsec.events import Event
    from dsec.plan import Plan
    from dsec.rundir import RunDir

_PARTS = 60
"""Parts of time of the heat map in a text."""
_POINTS = 400
"""Points of one memory curve."""
_CURVES = 60
_REMARKS = 500


class Evidence:
    """The journal and the samples of a run, each read once and set on one clock."""

    def __init__(self, run: RunDir) -> None:
        with open(run.journal, "rb") as file:
            payloads = read(file.read(), name=run.journal).payloads
        self.events: list[Event] = [decode(payload) for payload in payloads[1:]]
        self.holdings = Holdings()
        self.remarks: list[tuple[int, Event]] = []
        for event in self.events:
            self.holdings.take(event)
            if isinstance(event, (Pause, Continue, DeviceState, Notice)):
                self.remarks.append((self.holdings.last_us, event))
        self.samples: list[tuple[int, dict[str, Any]]] = []
        """Each with its time from the start of the first executor."""
        shifts = self.holdings.shifts_us
        for sample in samples(f"{run.path}/audit"):
            shift = shifts.get(sample.get("session", -1))
            if shift is not None:
                self.samples.append((shift + int(sample["at_us"]), sample))
        self.end_us = max([self.holdings.last_us, *(at for at, _ in self.samples[-1:])])


def account(
    report: dict[str, Any], plan: Plan, evidence: Evidence, prices: Prices | None, *, parts: int = _PARTS
) -> None:
    """Add to the report what needs more than the state of the run: `settlement`, `heat`, `remarks`."""
    from dsec_cli.dag.picture import device_name

    report["remarks"] = remarks(plan, evidence)
    if not any(step.demand.gpu_count for step in plan.steps):
        return
    names = {device.uuid: device_name(device) for device in plan.inventory.devices}
    report["settlement"] = as_data(
        settle(
            evidence.holdings.all(),
            kinds={device.uuid: device.type for device in plan.inventory.devices},
            budget=plan.budget,
            prices=prices,
            readings=_readings(evidence),
            own=_own(evidence),
        ),
        names,
    )
    report["heat"] = heat_rows(evidence, names, parts=parts)


def remarks(plan: Plan, evidence: Evidence) -> list[dict[str, Any]]:
    """Pauses, moves, devices and notices, in order."""
    said = Progress(plan)
    found = []
    for at_us, event in evidence.remarks[:_REMARKS]:
        text = said.line(event)
        if text is None and isinstance(event, Notice):
            text = recorded(event.detail)
        if text is not None:
            kind = event.kind if isinstance(event, Notice) else type(event).__name__.lower()
            found.append({"at_ms": at_us // 1000, "kind": kind, "text": text})
    return found


def _devices(evidence: Evidence) -> Iterable[tuple[int, Mapping[str, Any]]]:
    for at_us, sample in evidence.samples:
        for device in sample.get("devices", ()):
            yield at_us, device


def _readings(evidence: Evidence) -> list[Reading]:
    return [
        Reading(at_us, device["uuid"], device.get("busy_permille")) for at_us, device in _devices(evidence)
    ]


def _own(evidence: Evidence) -> Own:
    """The last that each session's samples say of the runtime itself, summed over the sessions."""
    last: dict[int, Mapping[str, Any]] = {}
    for _, sample in evidence.samples:
        if isinstance(sample.get("own"), dict):
            last[sample["session"]] = sample["own"]
    if set(last) != set(evidence.holdings.shifts_us):
        return Own(None, None)
    executor, monitor = (
        [one.get(name) for one in last.values()] for name in ("executor_cpu_us", "monitor_cpu_us")
    )
    return Own(
        None if None in executor else sum(executor),  # type: ignore[arg-type]  # none of them is None
        None if None in monitor else sum(monitor),  # type: ignore[arg-type]  # the same
    )


def heat_rows(evidence: Evidence, names: Mapping[str, str], *, parts: int) -> list[dict[str, Any]]:
    """Per device that was read: how busy and how full it was, part by part of the run."""
    busy: dict[str, list[tuple[int, int | None]]] = {}
    memory: dict[str, list[tuple[int, int | None]]] = {}
    for at_us, device in _devices(evidence):
        used, total = device.get("memory_used_bytes"), device.get("memory_total_bytes")
        full = None if used is None or not total else min(1000, used * 1000 // total)
        busy.setdefault(device["uuid"], []).append((at_us, device.get("busy_permille")))
        memory.setdefault(device["uuid"], []).append((at_us, full))
    return [
        {
            "device": uuid,
            "name": names.get(uuid, uuid),
            "busy_permille": heat(some, begin_us=0, end_us=evidence.end_us, parts=parts),
            "memory_permille": heat(memory[uuid], begin_us=0, end_us=evidence.end_us, parts=parts),
        }
        for uuid, some in busy.items()
    ]


def curves(evidence: Evidence) -> list[dict[str, Any]]:
    """Memory of each Step over time, those that took most first: (ms, host bytes, device bytes)."""
    found: dict[str, list[tuple[int, int, int | None, int | None]]] = {}
    for at_us, sample in evidence.samples:
        for one in sample.get("steps", ()):
            held = one.get("devices") or {}
            amounts = list(held.values())
            on_device = None if None in amounts else sum(amounts)
            name = one.get("step") or f"({one.get('worker', '')})"
            # A process that is being set up or taken down has no memory of its own for a moment.
            row = (at_us // 1000, one.get("iteration", -1), one.get("rss_bytes") or None, on_device)
            found.setdefault(name, []).append(row)
    ranked = sorted(found.items(), key=lambda one: (-max(row[2] or 0 for row in one[1]), one[0]))
    return [
        {"step": name, "points": [list(row) for row in _thinned(rows)]} for name, rows in ranked[:_CURVES]
    ]


def _thinned(
    rows: list[tuple[int, int, int | None, int | None]],
) -> list[tuple[int, int, int | None, int | None]]:
    """At most so many points: of those that fall together the one with most memory."""
    if len(rows) <= _POINTS:
        return rows
    each = -(-len(rows) // _POINTS)
    return [max(rows[at : at + each], key=lambda row: row[2] or 0) for at in range(0, len(rows), each)]
