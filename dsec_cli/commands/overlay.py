"""What a run did, read from its journal, to be laid over the graph."""

from __future__ import annotations

import os
from statistics import median_low
from typing import TYPE_CHECKING, NamedTuple

from dsec import events, journal
from dsec.core.fold import RunState, fold
from dsec.errors import FileProblem
from dsec.planfile import load_plan
from dsec.rundir import RunDir, find
from dsec_cli.dag.picture import device_name
from dsec_cli.dag.view import Bar, Observed, Run
from dsec_cli.words import say, system

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec.plan import Plan


class Overlay(NamedTuple):
    """A run and the contract that it was started from."""

    contract: str
    run: Run


def overlay(job: str, *, folder: str, environ: Mapping[str, str]) -> Overlay:
    """The run `job` (an id, or a run's folder), finished or not; raises DSecError when there is none."""
    place = find(folder, environ, job)
    payloads = journal.read(_journal(place), name=place.journal).payloads
    header = journal.read_header(payloads, name=place.journal)
    plan = load_plan(place.plan)
    told = [events.decode(payload) for payload in payloads[1:]]
    state = fold(iter(told))
    outcome = state.end.outcome if state.end is not None else "running or killed (no end in its journal)"
    contract = os.path.relpath(os.path.join(header.folder, plan.contract_file))
    bars, span = bars_of(told)
    devices = tuple((device.uuid, device_name(device)) for device in plan.inventory.devices)
    return Overlay(contract, Run(place.job, outcome, _observed(plan, state), bars, span, devices))


def plan_of(job: str, *, folder: str, environ: Mapping[str, str]) -> Plan:
    """The plan that a run follows."""
    return load_plan(find(folder, environ, job).plan)


def bars_of(told: Iterable[events.Event]) -> tuple[tuple[Bar, ...], int]:
    """Every attempt with its times, and when the last event was, in milliseconds.

    Each executor of a run counts from its own start; the calendar ties them together.
    """
    first, shift, last = None, 0, 0
    open_: dict[tuple[str, int, int], Bar] = {}
    done: list[Bar] = []
    for event in told:
        if isinstance(event, events.RunStart):
            first = event.wall_ms if first is None else first
            shift = max(event.wall_ms - first, last)
            # What an earlier executor left open ended with it at the latest.
            done += [bar._replace(to_ms=last, cause="lost") for bar in open_.values()]
            open_.clear()
        now = shift + event.at_us // 1000
        last = max(last, now)
        if isinstance(event, events.Spawn):
            key = (event.step, event.iteration, event.attempt)
            open_[key] = Bar(*key, now, None, event.devices, "running")
        elif isinstance(event, events.Exit):
            begun = open_.pop((event.step, event.iteration, event.attempt), None)
            if begun is not None:
                done.append(begun._replace(to_ms=now, cause=event.cause))
    return tuple(
        sorted([*done, *open_.values()], key=lambda bar: (bar.from_ms, bar.step, bar.iteration))
    ), last


def _journal(place: RunDir) -> bytes:
    try:
        with open(place.journal, "rb") as file:
            return file.read()
    except OSError as problem:
        raise FileProblem(
            say("{journal}: {why}", journal=place.journal, why=system(problem)), hint="name another job"
        ) from None


def _observed(plan: Plan, state: RunState) -> dict[str, Observed]:
    count = plan.iterations.count
    done = _per_step(state.finished)
    attempts: dict[str, int] = {}
    for (step, _), number in state.attempts.items():
        attempts[step] = attempts.get(step, 0) + number
    failed, running, dropped = (_per_step(some) for some in (state.failed, state.running, state.dropped))
    seen: dict[str, Observed] = {}
    for name in [step.id for step in plan.steps]:
        walls = state.tallies[name].walls_us if name in state.tallies else ()
        ended = done.get(name, 0)
        word = "done" if ended >= count else "waiting"
        for other, table in (("dropped", dropped), ("running", running), ("failed", failed)):
            if name in table:
                word = other
        median = (median_low(walls) + 500) // 1000 if walls else None
        seen[name] = Observed(word, ended, attempts.get(name, 0), median)
    return seen


def _per_step(instances: Mapping[tuple[str, int], object]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for step, _ in instances:
        counts[step] = counts.get(step, 0) + 1
    return counts
