"""What a run came to: per Step and in all, planned against actual; as plain data and as Markdown."""

from __future__ import annotations

import json
from json.encoder import encode_basestring as quoted

from dsec.core import endings
from dsec.core.calendar import apart_us
from dsec.core.fold import Tally
from dsec.markup import markdown_line, markdown_text
from dsec.outcomes import state
from dsec.progress import instance, span
from dsec.record import Record
from dsec.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dsec.core.fold import RunState
    from dsec.inventory import Inventory
    from dsec.plan import Plan, PlannedStep

FORMAT = "dsec.report/1"
_ROWS = 200
"""Steps that the report for people lists."""
_NOTHING = Tally(0, 0, 0, 0, (), None, 0, 0)


class Row(Record):
    """One Step in the report; a reading that could not be had is None."""

    id: str
    name: str
    level: str
    instances: int
    done: int
    attempts: int
    failures: int
    retries: int
    dropped: int
    wall_p50_ms: float | None
    wall_max_ms: float | None
    estimate_ms: int
    cpu_ms: int | None
    rss_kb: int | None
    gpu_ms: int | None


def document(report: dict[str, Any]) -> dict[str, Any]:
    """The report as JSON-ready data."""
    return {**report, "steps": [row._asdict() for row in report["steps"]]}


def build(
    plan: Plan, state: RunState, *, job: str, inventory: Inventory, now_us: int | None = None
) -> dict[str, Any]:
    """The report: JSON-ready data but for `steps`, which are `Row`s.

    `now_us`: what the clock of the living executor shows; None: the run does not go on.
    """
    wall_us = _wall_us(state, now_us)
    failed = endings.failed(state, alive=now_us is not None)
    stopped = endings.stopped(state)
    running = endings.running(state, now_us)
    cut_off = endings.cut_off(state) if now_us is None else []
    rows = [_row(step, state.tallies.get(step.id), plan.iterations.count) for step in plan.steps]
    held_us = sum(gpu_us for _, _, gpu_us in state.worker_us.values())
    attempts_us = sum(tally.gpu_us for tally in state.tallies.values())
    uses_gpus = any(step.demand.gpu_count for step in plan.steps)
    gpu_us = held_us + attempts_us if uses_gpus else None
    path = actual_critical_path(plan, state)
    return {
        "format": FORMAT,
        "job": job,
        "plan": plan.hash,
        "outcome": state.end.outcome if state.end else "unfinished" if now_us is None else "running",
        "detail": state.end.detail if state.end else "",
        "sessions": len(state.sessions),
        "wall_ms": wall_us // 1000,
        "cpu_ms": _cpu_us(plan, state) // 1000,
        "gpu_ms": None if gpu_us is None else gpu_us // 1000,
        "instances": {
            "total": len(plan.steps) * plan.iterations.count,
            "done": len(state.finished),
            "failed": len(failed),
            "stopped": len(stopped),
            "dropped": len(state.dropped),
            "running": len(running),
            "cut_off": len(cut_off),
        },
        "idle_share": _idle(plan, state, inventory, wall_us=wall_us, gpu_us=gpu_us, running=running),
        "critical_path": {
            "planned": list(plan.analysis.critical_path),
            "planned_ms": plan.analysis.critical_path_ms,
            "actual": [f"{step}@{iteration}" for step, iteration in path],
            "actual_ms": sum(state.finished[at].wall_us for at in path) // 1000,
        },
        "steps": rows,
        "workers": [
            {"worker": name, "cpu_ms": cpu // 1000, "rss_kb": rss or None, "gpu_held_ms": gpu // 1000}
            for name, (cpu, rss, gpu) in sorted(state.worker_us.items())
        ],
        "failures": endings.told(plan, state, failed),
        "stopped": endings.told(plan, state, stopped),
        "dropped": endings.dropped(state),
        "running": running,
        "cut_off": cut_off,
        "results": _results(state),
    }


def _cpu_us(plan: Plan, state: RunState) -> int:
    """CPU of the whole run; a worker's own total covers its calls, so those are not added to it."""
    calls = {step.id for step in plan.steps if step.command.call}
    processes = sum([tally.cpu_us or 0 for step, tally in state.tallies.items() if step not in calls])
    return processes + sum(cpu for cpu, _, _ in state.worker_us.values()) + state.call_us


def median(values: Sequence[int]) -> int:
    """The middle value, the lower of two (`statistics` would cost a run 10 ms of imports)."""
    if len(values) == 1:
        return values[0]
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]


def _wall_us(state: RunState, now_us: int | None) -> int:
    """From the first executor's start to the last thing that ended, or to now."""
    ends = [end for _, end in state.spans_us.values()]
    last_us = now_us if state.end is None else state.end.at_us
    if state.sessions and last_us is not None:
        ends.append(apart_us(state.sessions[0], state.sessions[-1]) + last_us)
    return max(ends, default=0)


def _row(step: PlannedStep, tally: Tally | None, count: int) -> Row:
    attempts, failures, retries, dropped, walls, cpu_us, rss_kb, gpu_us = tally or _NOTHING
    held = tally is not None and step.demand.gpu_count and not step.command.call
    return Row._make(
        (
            step.id,
            step.name,
            step.level,
            count,
            len(walls),
            attempts,
            failures,
            retries,
            dropped,
            median(walls) / 1000 if walls else None,
            max(walls) / 1000 if walls else None,
            step.estimate_ms,
            None if cpu_us is None else cpu_us // 1000,
            rss_kb or None,
            gpu_us // 1000 if held else None,
        )
    )


def encode(report: dict[str, Any]) -> str:
    """The report as one line of JSON; its rows are written out, which takes half the time of `json`."""
    rows = ",".join([_row_text(row) for row in report["steps"]])
    brief = json.dumps({**report, "steps": []}, ensure_ascii=False, separators=(",", ":"))
    before, _, after = brief.partition('"steps":[]')
    return f'{before}"steps":[{rows}]{after}'


def _row_text(row: Row) -> str:
    name, title, level, count, done, attempts, failures, retries, dropped, *measured = row
    p50, longest, estimate, cpu, rss, gpu = measured
    return (
        f'{{"id":{quoted(name)},"name":{quoted(title)},"level":{quoted(level)},"instances":{count},'
        f'"done":{done},"attempts":{attempts},"failures":{failures},"retries":{retries},'
        f'"dropped":{dropped},"wall_p50_ms":{"null" if p50 is None else p50},'
        f'"wall_max_ms":{"null" if longest is None else longest},"estimate_ms":{estimate},'
        f'"cpu_ms":{"null" if cpu is None else cpu},"rss_kb":{"null" if rss is None else rss},'
        f'"gpu_ms":{"null" if gpu is None else gpu}}}'
    )


def _idle(
    plan: Plan,
    state: RunState,
    inventory: Inventory,
    *,
    wall_us: int,
    gpu_us: int | None,
    running: list[dict[str, Any]],
) -> dict[str, float | None]:
    """Share of the leasable processor and GPU time that no attempt, finished or running, held."""
    if not wall_us:
        return {"cpu": None, "gpu": None}
    most = inventory.cpu_m
    demand = {step.id: held if (held := step.demand.cpu_m) < most else most for step in plan.steps}
    busy = sum([demand[step] * (end - begin) for (step, _), (begin, end) in state.spans_us.items()])
    busy += sum([demand[one["step"]] * one["for_ms"] * 1000 for one in running])
    gpus = len(inventory.devices)
    return {
        "cpu": _share(busy, wall_us * inventory.cpu_m),
        "gpu": None if gpu_us is None or not gpus else _share(gpu_us, wall_us * gpus),
    }


def _share(busy: int, all_of_it: int) -> float | None:
    return round(max(0.0, 1 - busy / all_of_it), 4) if all_of_it else None


def actual_critical_path(plan: Plan, state: RunState) -> list[tuple[str, int]]:
    """From the last end backwards: each time the need that ended last, so what the end waited for."""
    if not state.spans_us:
        return []
    needs = {step.id: step.needs for step in plan.steps}
    at = max([(end, instance) for instance, (_, end) in state.spans_us.items()])[1]
    path = [at]
    while True:
        step, iteration = at
        before = [
            (edge.step, iteration - 1 - edge.staleness if edge.kind == "carried" else iteration)
            for edge in needs[step]
        ]
        before.append((step, iteration - 1))
        known = [one for one in before if one in state.spans_us and one not in path[-1:]]
        if not known:
            return path[::-1]
        at = max(known, key=lambda instance: (state.spans_us[instance][1], instance))
        path.append(at)


def _results(state: RunState) -> dict[str, Any]:
    """What the last iteration of each call returned, where it returned something."""
    latest: dict[str, tuple[int, str]] = {}
    for (step, iteration), end in state.finished.items():
        if end.result not in (None, "null") and iteration >= latest.get(step, (-1, ""))[0]:
            latest[step] = (iteration, end.result or "")
    return {
        step: {"iteration": iteration, "value": json.loads(text)}
        for step, (iteration, text) in sorted(latest.items())
    }


def markdown(report: dict[str, Any], tell: Callable[[str], str] = str) -> str:
    """The report for people, its lines said by `tell`."""
    head = say("# Run {job}: {outcome}", job=report["job"], outcome=state(report["outcome"]))
    lines: list[str] = [head, "", *(f"{tell(text)}  " for text in summary(report))]
    lines += [
        "",
        say("| Step | done | p50 | max | CPU | RSS | failures | retries | dropped |"),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    rows = report["steps"]
    lines += [_markdown_row(row) for row in rows[:_ROWS]]
    if len(rows) > _ROWS:
        lines += ["", say("{count} more Steps are in report.json.", count=len(rows) - _ROWS)]
    if report["workers"]:
        lines += ["", say("## Workers"), ""]
        if report.get("python"):
            lines += [say("Python: {python}", python=report["python"]), ""]
        lines += [_OF_WORKERS, ""]
        lines += [_worker_line(one) for one in report["workers"]]
    lines += _markdown_running(report)
    lines += _markdown_paths(report)
    if report.get("settlement"):
        from dsec.core.reckoning import heat_lines  # few runs have GPUs
        from dsec.core.reckoning import lines as settled

        lines += ["", *settled(report["settlement"])]
        if report.get("heat"):
            lines += ["", *heat_lines(report["heat"])]
    if report.get("remarks"):
        lines += ["", say("## What happened"), ""]
        lines += [_remark_line(one) for one in report["remarks"][:_ROWS]]
    if report.get("contention") is not None:
        from dsec.core.contention import lines as blocked  # few runs have a probe

        lines += ["", say("## Waits for what was not in use"), "", *blocked(report["contention"])]
    if report.get("dependencies"):
        lines += ["", say("## Dependencies"), ""]
        lines += [
            f"- {one['dependency']['name']} {one['dependency']['version']}: {one['text']}"
            for one in report["dependencies"]
        ]
    lines += _markdown_ends(report, say("## Failures"), [*report["failures"], *report["dropped"]])
    lines += _markdown_ends(report, say("## Stopped"), report["stopped"])
    if report["results"]:
        lines += ["", say("## Results"), ""]
        lines += [_result_line(report, step, one) for step, one in report["results"].items()]
    # Names, results and the last lines of logs are anybody's: none of them makes a line, a tag or a picture.
    return "\n".join(markdown_line(tell(line)) for line in lines) + "\n"


_OF_WORKERS = say("RSS is known per worker, not per call; CPU is that of its whole life, calls included.")


def _markdown_paths(report: dict[str, Any]) -> list[str]:
    path = report["critical_path"]
    lines: list[str] = []
    if path["actual"]:
        parts = (name.rpartition("@") for name in path["actual"])
        shown = [instance_in(report, step, int(iteration)) for step, _, iteration in parts]
        if len(shown) > 24:
            shown = [*shown[:12], "...", *shown[-11:]]
        time, steps = span(path["actual_ms"] / 1000), " > ".join(shown)
        lines += ["", say("Actual critical path ({time}): {steps}", time=time, steps=steps)]
    if path["planned"]:
        time, steps = span(path["planned_ms"] / 1000), " > ".join(path["planned"][:24])
        lines += ["", say("Planned, one iteration ({time}): {steps}", time=time, steps=steps)]
    return lines


def _remark_line(one: dict[str, Any]) -> str:
    return say("- at {time}: {text}", time=span(one["at_ms"] / 1000), text=one["text"])


def _markdown_running(report: dict[str, Any]) -> list[str]:
    lines: list[str] = ["", say("## Running"), ""] if report["running"] else []
    for one in report["running"][:_ROWS]:
        called = instance_in(report, one["step"], one["iteration"])
        lines.append(say("- {step} for {time}", step=called, time=span(one["for_ms"] / 1000)))
    return lines


def _markdown_ends(report: dict[str, Any], heading: str, ends: list[dict[str, Any]]) -> list[str]:
    lines = [text for one in ends for text in _failure_lines(report, one)]
    return ["", heading, "", *lines] if lines else []


def _failure_lines(report: dict[str, Any], one: dict[str, Any]) -> list[str]:
    called = instance_in(report, one["step"], one["iteration"])
    log = one["log"] or say("none")
    line = say("- {step} {why} (log: {log})", step=called, why=one["text"], log=log)
    return [line, *(f"      | {text}" for text in one.get("lines", ()))]


def _result_line(report: dict[str, Any], step: str, one: dict[str, Any]) -> str:
    value = json.dumps(one["value"], ensure_ascii=False)[:500]
    return f"- {instance_in(report, step, one['iteration'])}: `{value}`"


def summary(report: dict[str, Any]) -> list[str]:
    """The run in a few lines."""
    count = report["instances"]
    counts: list[str] = [say("{done} of {total} done", done=count["done"], total=count["total"])]
    counts += endings.counted(count)
    times: list[str] = [
        say("wall {time}", time=span(report["wall_ms"] / 1000)),
        say("CPU {time}", time=span(report["cpu_ms"] / 1000)),
    ]
    if report["gpu_ms"] is not None:
        times.append(say("GPU {time}", time=span(report["gpu_ms"] / 1000)))
    lines = [joined(", ", counts), joined(", ", times)]
    idle = report["idle_share"]
    lines += [
        say("{what} idle (not asked for by any running Step): {share:.0%}", what=what, share=share)
        for what, share in ((say("processors"), idle["cpu"]), (say("GPUs"), idle["gpu"]))
        if share is not None
    ]
    if report["sessions"] > 1:
        lines.append(say("carried out in {count} sessions", count=report["sessions"]))
    return lines


def instance_in(report: dict[str, Any], step: str, iteration: int) -> str:
    """What the report calls an instance: by its Step alone where there is but one iteration."""
    steps = report["steps"]
    return instance(step, iteration, of=steps[0].instances if steps else 1)


def _worker_line(one: dict[str, Any]) -> str:
    parts: list[str] = [say("CPU {time}", time=span(one["cpu_ms"] / 1000))]
    if one["rss_kb"]:
        parts.append(say("peak RSS {size:.0f} MiB", size=one["rss_kb"] / 1024))
    if one["gpu_held_ms"]:
        parts.append(say("GPUs held for {time}", time=span(one["gpu_held_ms"] / 1000)))
    return say("- {worker}: {facts}", worker=one["worker"], facts=joined(", ", parts))


def _markdown_row(row: Row) -> str:
    def told(value: float | None, text: str) -> str:
        return "-" if value is None else text

    name = markdown_text(f"{row.id} {row.name}")
    cells = (
        name,
        f"{row.done}/{row.instances}",
        told(row.wall_p50_ms, span((row.wall_p50_ms or 0) / 1000)),
        told(row.wall_max_ms, span((row.wall_max_ms or 0) / 1000)),
        told(row.cpu_ms, span((row.cpu_ms or 0) / 1000)),
        told(row.rss_kb, f"{(row.rss_kb or 0) / 1024:.0f} MiB"),
        str(row.failures),
        str(row.retries),
        str(row.dropped),
    )
    return f"| {' | '.join(cells)} |"
