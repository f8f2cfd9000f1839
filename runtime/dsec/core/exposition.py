"""A run as Prometheus reads it: text of the exposition format 0.0.4.

What is not known has no line: a zero would be a statement. Labels are bounded: Steps beyond the
first 200 share one line, named "other"; names of a Step's own metrics and of tools stop at 100 each.
"""

from __future__ import annotations

from dsec.core.families import MOST_STEPS, OTHER, Family, by, one, text
from dsec.core.sampled import of_sample
from dsec.core.totals import STATES, StepTotals
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from dsec.core.totals import Totals
    from dsec.plan import Plan

MOST_NAMES = 100
_RUN_STATES = ("running", "succeeded", "failed", "interrupted", "cancelled", "stopped", "dead")


class Said(Record):
    """What Steps said of themselves through the SDK."""

    latest: dict[tuple[str, str], float]
    """By Step and name."""
    calls: dict[str, tuple[int, float]]
    """Of each tool: how many calls, and their seconds."""


class Moment(Record):
    """What is to be shown besides the totals."""

    job: str
    sample: Mapping[str, Any] | None
    """Latest audit sample, None where there is none that still holds."""
    said: Said
    dead: bool
    """The executor is gone and said nothing of an end."""


def render(plan: Plan, totals: Totals, moment: Moment, *, compat: bool = False) -> str:
    """Everything, as one text; `compat` adds the metrics under the names of the design document."""
    families = [
        *_of_run(plan, totals, moment),
        *_of_steps(plan, totals),
        *of_sample(moment.sample or {}, totals),
        *_of_said(moment.said),
    ]
    if compat:
        families += _compat(plan, totals, moment.said)
    return "".join(map(text, families))


def _of_run(plan: Plan, totals: Totals, moment: Moment) -> Iterator[Family]:
    session = totals.session
    state = totals.end.outcome if totals.end else "dead" if moment.dead else "running"
    yield Family(
        "dsec_run_info",
        "gauge",
        "The run that these metrics are of.",
        (("", (("run", moment.job), ("name", plan.name), ("plan", plan.hash[:16])), 1),),
    )
    yield one(
        "dsec_run_start_time_seconds",
        "gauge",
        "When the present executor took the run over, in seconds since 1970.",
        session.wall_ms / 1000 if session else None,
    )
    yield one(
        "dsec_run_session",
        "gauge",
        "Executors of this run so far, the present one included.",
        session.session if session else None,
    )
    yield by(
        "dsec_run_state",
        "gauge",
        "1 for the state that the run is in, 0 for the others.",
        "state",
        ((word, int(word == state)) for word in _RUN_STATES),
    )
    yield by(
        "dsec_pauses_total", "counter", "Attempts made to give way, by how.", "how", totals.pauses.items()
    )
    yield by(
        "dsec_notices_total",
        "counter",
        "Things seen that people should know of, by kind.",
        "kind",
        totals.notices.items(),
    )
    yield one(
        "dsec_sandbox_utilization_ratio",
        "gauge",
        "Share of its cores, or of its GPUs where that is larger, that running Steps hold.",
        utilization(plan, totals),
    )
    yield one(
        "dsec_gradient_sync_success_ratio",
        "gauge",
        "Share of the attempts of AllReduce Steps that succeeded.",
        _sync_ratio(totals),
    )
    yield one(
        "dsec_snapshot_recovery_seconds",
        "gauge",
        "From the start of the latest executor that resumed the run to its first attempt.",
        None if totals.recovery_us is None else totals.recovery_us / 1e6,
    )
    yield one("dsec_meltdown_total", "counter", "Times that a breaker opened.", totals.meltdowns)


def utilization(plan: Plan, totals: Totals) -> float | None:
    """The larger of two shares, of cores and of GPUs, that running attempts hold."""
    demands = {step.id: step.demand.cpu_m for step in plan.steps}
    cores = plan.inventory.cpu_m
    held = sum(demands.get(step, 0) for step, _ in totals.running)
    devices = {uuid for spawn in totals.running.values() for uuid in spawn.devices}
    shares = [held / cores] if cores else []
    if plan.inventory.devices:
        shares.append(len(devices) / len(plan.inventory.devices))
    return min(1.0, max(shares)) if shares else None


def _sync_ratio(totals: Totals) -> float | None:
    return totals.good_syncs / totals.syncs if totals.syncs else None


def _of_steps(plan: Plan, totals: Totals) -> Iterator[Family]:
    names = [step.id for step in plan.steps]
    own = names[:MOST_STEPS]
    table = [(name, totals.of(name)) for name in own if name in totals.steps]
    states = [(name, totals.states(name)) for name in own]
    if len(names) > MOST_STEPS:
        rest = names[MOST_STEPS:]
        table.append((OTHER, _together([totals.of(name) for name in rest if name in totals.steps])))
        states.append((OTHER, tuple(map(sum, zip(*map(totals.states, rest), strict=True)))))
    yield Family(
        "dsec_step_instances",
        "gauge",
        "Instances of the Step (one per iteration), by what they are.",
        tuple(
            ("", (("step", name), ("state", state)), count)
            for name, counts in states
            for state, count in zip(STATES, counts, strict=True)
        ),
    )
    yield Family(
        "dsec_step_duration_seconds",
        "summary",
        "Time that successful attempts took.",
        tuple(
            (suffix, (("step", name),), value)
            for name, total in table
            if total.done
            for suffix, value in (("_sum", total.wall_us / 1e6), ("_count", total.done))
        ),
    )
    yield Family(
        "dsec_step_failures_total",
        "counter",
        "Attempts that failed, by cause.",
        tuple(
            ("", (("step", name), ("cause", cause)), count)
            for name, total in table
            for cause, count in sorted(total.failures.items())
        ),
    )
    yield from _of_each(table)


def _of_each(table: list[tuple[str, StepTotals]]) -> Iterator[Family]:
    yield by(
        "dsec_step_retries_total",
        "counter",
        "Failed attempts that were followed by another.",
        "step",
        ((name, total.retries) for name, total in table),
    )
    yield by(
        "dsec_step_cpu_seconds_total",
        "counter",
        "Processor time of the attempts that ended.",
        "step",
        ((name, None if total.cpu_us is None else total.cpu_us / 1e6) for name, total in table),
    )
    yield by(
        "dsec_step_gpu_seconds_total",
        "counter",
        "Time that attempts that ended held GPUs, times how many.",
        "step",
        ((name, total.gpu_us / 1e6 if total.gpu_us else None) for name, total in table),
    )
    yield by(
        "dsec_step_memory_peak_bytes",
        "gauge",
        "Largest resident memory of an attempt that ended.",
        "step",
        ((name, None if total.rss_kb is None else total.rss_kb * 1024) for name, total in table),
    )


def _together(many: list[StepTotals]) -> StepTotals:
    total = StepTotals()
    for each in many:
        total.done += each.done
        total.retries += each.retries
        total.wall_us += each.wall_us
        total.gpu_us += each.gpu_us
        if each.cpu_us is not None:
            total.cpu_us = (total.cpu_us or 0) + each.cpu_us
        if each.rss_kb is not None:
            total.rss_kb = max(each.rss_kb, total.rss_kb or 0)
        for cause, count in each.failures.items():
            total.failures[cause] = total.failures.get(cause, 0) + count
    return total


def _of_said(said: Said) -> Iterator[Family]:
    yield Family(
        "dsec_step_metric",
        "gauge",
        "Latest value of a metric that a Step reported of itself.",
        tuple(
            ("", (("step", step), ("name", name)), value)
            for (step, name), value in list(said.latest.items())[:MOST_NAMES]
        ),
    )
    yield Family(
        "dsec_tool_call_seconds",
        "summary",
        "Calls of a tool that Steps reported, and what they took.",
        tuple(
            (suffix, (("tool", tool),), value)
            for tool, (count, seconds) in list(said.calls.items())[:MOST_NAMES]
            for suffix, value in (("_sum", seconds), ("_count", count))
        ),
    )


def _compat(plan: Plan, totals: Totals, said: Said) -> Iterator[Family]:
    told = "The same under the name of the design document: {}."
    recovery = totals.recovery_us
    for name, other, value in (
        ("dsec_sandbox_utilization_rate", "dsec_sandbox_utilization_ratio", utilization(plan, totals)),
        ("dsec_gradient_sync_success_rate", "dsec_gradient_sync_success_ratio", _sync_ratio(totals)),
        (
            "dsec_snapshot_recovery_time",
            "dsec_snapshot_recovery_seconds",
            None if recovery is None else recovery / 1e6,
        ),
        ("dsec_melt_down_count", "dsec_meltdown_total", totals.meltdowns),
    ):
        yield one(name, "untyped", told.format(other), value)
    named = {f"dsec_tool_{metric_part(tool)}_latency_ms": calls for tool, calls in said.calls.items()}
    for name, (count, seconds) in list(named.items())[:MOST_NAMES]:
        yield one(name, "untyped", "Mean time of a call of the tool.", seconds * 1000 / count)


def metric_part(text: str) -> str:
    """A text as a part of a metric's name."""
    return "".join(ch if ch.isascii() and (ch.isalnum() or ch == "_") else "_" for ch in text)
