"""What a run did, read from its journal, to be laid over the graph."""

from __future__ import annotations

import os
from statistics import median_low
from typing import TYPE_CHECKING, NamedTuple

from dsec import events, journal, outcomes
from dsec.containment import Escape, parts_beneath
from dsec.core.fold import RunState, fold
from dsec.core.overlap import thousandths
from dsec.core.readiness import Readiness
from dsec.errors import FileProblem, RunProblem
from dsec.planfile import load_plan
from dsec.rundir import RunDir, home
from dsec_cli.commands.statefolder import find
from dsec_cli.dag.picture import device_name
from dsec_cli.dag.view import Bar, Observed, Run
from dsec_cli.words import say, system

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsec.plan import Plan


class Overlay(NamedTuple):
    """A run and the contract that it was started from."""

    contract: str
    run: Run


def overlay(job: str, *, folder: str, environ: Mapping[str, str], named: bool = False) -> Overlay:
    """The run `job` (an id, or a run's folder), finished or not; raises DSecError when there is none.

    `named`: the contract to read was named, so that of the run is only told.
    """
    place = find(folder, environ, job)
    payloads = journal.read(_journal(place), name=place.journal).payloads
    header = journal.read_header(payloads, name=place.journal)
    plan = load_plan(place.plan)
    told = [events.decode(payload) for payload in payloads[1:]]
    state = fold(iter(told))
    contract = os.path.join(header.folder, plan.contract_file)
    if not named:
        contract = _contract(place, header.folder, plan.contract_file, environ)
    return Overlay(os.path.relpath(contract), run_of(place.job, plan, state, told))


def _contract(run: RunDir, folder: str, name: str, environ: Mapping[str, str]) -> str:
    """The contract that a run says it was started from; raises RunProblem for one that it cannot be.

    The journal of a run that somebody sent may name any file of ours, which would be read and shown.
    """
    state = home(folder, environ)
    if os.path.realpath(run.path).startswith(f"{os.path.realpath(state)}/"):
        try:
            parts_beneath(folder, name)
        except Escape:
            pass
        else:
            return os.path.join(folder, name)
    raise RunProblem(
        say("run {job} was started elsewhere, from {path}", job=run.job, path=os.path.join(folder, name)),
        hint=say("name the contract, too: dsec dag FILE --job-id {path}", path=run.path),
    )


def run_of(job: str, plan: Plan, state: RunState, told: Sequence[events.Event]) -> Run:
    """What a run did so far, by its events."""
    outcome = state.end.outcome if state.end is not None else "running or killed (no end in its journal)"
    bars, span = bars_of(told)
    seen = observed(plan, state, told, bars, span)
    devices = tuple((device.uuid, device_name(device)) for device in plan.inventory.devices)
    return Run(job, outcome, seen, bars, span, devices)


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


def waits_of(plan: Plan, told: Iterable[events.Event]) -> dict[str, list[int]]:
    """Per Step how long its instances waited for their first attempt when nothing they need was missing."""
    number = {step.id: at for at, step in enumerate(plan.steps)}
    ready = Readiness(plan)
    waits: dict[str, list[int]] = {}
    seen: set[tuple[str, int]] = set()
    first, shift, last = None, 0, 0
    for event in told:
        if isinstance(event, events.RunStart):
            first = event.wall_ms if first is None else first
            shift = max(event.wall_ms - first, last)
        last = max(last, now := shift + event.at_us // 1000)
        if isinstance(event, events.Spawn) and (event.step, event.iteration) not in seen:
            seen.add((event.step, event.iteration))
            waits.setdefault(event.step, []).append(now - ready.since(number[event.step], event.iteration))
        elif isinstance(event, events.Drop) or (isinstance(event, events.Exit) and event.cause == "ok"):
            ready.done(number[event.step], event.iteration, now)
    return waits


def _journal(place: RunDir) -> bytes:
    try:
        with open(place.journal, "rb") as file:
            return file.read()
    except OSError as problem:
        raise FileProblem(
            say("{journal}: {why}", journal=place.journal, why=system(problem)), hint="name another job"
        ) from None


def observed(
    plan: Plan, state: RunState, told: Sequence[events.Event], bars: Sequence[Bar], span: int
) -> dict[str, Observed]:
    """What has become of each Step of the plan."""
    count = plan.iterations.count
    done = _per_step(state.finished)
    attempts: dict[str, int] = {}
    for (one, _), number in state.attempts.items():
        attempts[one] = attempts.get(one, 0) + number
    # What is tried again has not failed yet, nor has what the end of the run cut off.
    lost = [
        one
        for one, last in state.failed.items()
        if last.cause != "interrupted" and one not in state.running and one not in state.retrying
    ]
    failed, running, dropped = (_per_step(some) for some in (lost, state.running, state.dropped))
    held, causes = _held(bars, span), _causes(told)
    whole, waits = span * len(plan.inventory.devices), waits_of(plan, told)
    seen: dict[str, Observed] = {}
    for step in plan.steps:
        name, tally = step.id, state.tallies.get(step.id)
        ended = done.get(name, 0)
        word = "done" if ended >= count else "waiting"
        for other, table in (("dropped", dropped), ("running", running), ("failed", failed)):
            if name in table:
                word = other
        gpu = held.get(name, 0) if step.demand.gpu_count else None
        seen[name] = Observed(
            state=word,
            done=ended,
            attempts=attempts.get(name, 0),
            median_ms=(median_low(tally.walls_us) + 500) // 1000 if tally and tally.walls_us else None,
            retries=tally.retries if tally else 0,
            failures=tally.failures if tally else 0,
            cause=causes.get(name, ""),
            waited_ms=median_low(waits[name]) if name in waits else None,
            gpu_ms=gpu,
            gpu_permille=thousandths(gpu, whole) if gpu is not None and whole else None,
        )
    return seen


def _causes(told: Iterable[events.Event]) -> dict[str, str]:
    """Why the last failed attempt of each Step failed."""
    return {
        event.step: outcomes.words(event.cause, code=event.code, signal=event.signal, detail=event.detail)
        for event in told
        if isinstance(event, events.Exit) and event.cause not in ("ok", "interrupted")
    }


def _held(bars: Iterable[Bar], span: int) -> dict[str, int]:
    """Time on GPUs of each Step's attempts, times how many; one that runs holds them until now."""
    held: dict[str, int] = {}
    for bar in bars:
        time = (span if bar.to_ms is None else bar.to_ms) - bar.from_ms
        held[bar.step] = held.get(bar.step, 0) + time * len(bar.devices)
    return held


def _per_step(instances: Iterable[tuple[str, int]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for step, _ in instances:
        counts[step] = counts.get(step, 0) + 1
    return counts
