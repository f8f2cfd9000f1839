"""After a run: its report, what it teaches about durations, and the closing lines."""

from __future__ import annotations

import os

from dsec.containment import Escape, open_beneath
from dsec.core.endings import may_lie_in_plan
from dsec.core.report import build, encode, instance_in, markdown, median
from dsec.durations import Learned, contract_key, work_of, write_durations
from dsec.errors import DSecError
from dsec.inventory import is_simulated
from dsec.outcomes import recorded, state
from dsec.progress import span
from dsec.words import say, system
from dsec_cli.commands.depending import kept, kept_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from dsec.core.fold import RunState
    from dsec.engines.local import Outcome, Session
    from dsec.plan import Plan
    from dsec.rundir import RunDir

LAST_LINES = 20
_TAIL_BYTES = 16 * 1024
_SHOWN_FAILURES = 5


def conclude(
    session: Session,
    outcome: Outcome,
    *,
    called: str,
    own_cpu_s: float,
    said: frozenset[str] = frozenset(),
) -> list[str]:
    """Write `report.json`, `report.md` and the durations; give the closing lines.

    `called` is what names the run in the folder that the command was given in. `said`: lines just above.
    """
    folded = session.fold.state()
    report = build(session.plan, folded, job=session.run.job, inventory=session.inventory)
    report["dependencies"] = kept(session.run)
    if python := kept_python(session.run):
        report["python"] = python
    if folded.remarks or report["gpu_ms"] is not None:
        _settle(session, report)
    report["contention"] = contended(session.run)
    troubles = _keep(session, folded, report)
    lines = failure_lines(session.run, report, called=called, said=said)
    for (step, iteration), reason in sorted(folded.dropped.items())[:_SHOWN_FAILURES]:
        one = instance_in(report, step, iteration)
        lines.append(say("warning: {step} was dropped: {reason}", step=one, reason=recorded(reason)))
    lines.append(
        say(
            "{job}: {outcome} in {time} (CPU {cpu}, executor {own})",
            job=session.run.job,
            outcome=told(outcome),
            time=span(outcome.wall_s),
            cpu=span(report["cpu_ms"] / 1000),
            own=span(own_cpu_s),
        )
    )
    lines += troubles or [say("report: {path}", path=f"{session.run.path}/report.md")]
    return lines + _advice(session, outcome, report, called)


def _advice(session: Session, outcome: Outcome, report: dict[str, Any], called: str) -> list[str]:
    """How to go on with a run that is not done; what the contract says wrongly no resume can mend."""
    if outcome.word == "succeeded":
        return []
    if not os.path.isdir(session.run.path):
        return [say("it cannot be resumed: its folder was removed")]
    if outcome.word != "failed":
        return [say("go on with: dsec resume {job}", job=called)]
    lines: list[str] = [
        say("without a change it fails again; fix the cause and go on with: dsec resume {job}", job=called)
    ]
    if any(may_lie_in_plan(one["cause"], one["code"]) for one in report["failures"]):
        lines.append(
            say("a run keeps its own plan: after a change of the contract start a new one: dsec run")
        )
    return lines


def contended(run: RunDir) -> list[dict[str, Any]] | None:
    """Who held up whom, as the run's probes saw it; None: it had none."""
    if not (os.path.isdir(f"{run.path}/probe") or os.path.exists(f"{run.path}/contention.json")):
        return None
    from dsec.probes import keep

    return keep(run.path)


def _settle(session: Session, report: dict[str, Any]) -> None:
    """Add what happened, use of the devices and the settlement; what cannot be read is left out."""
    from dsec_cli.commands.accounting import Evidence, account  # few runs have GPUs
    from dsec_cli.commands.pricing import prices_of

    try:
        account(report, session.plan, Evidence(session.run), prices_of(None))
    except (OSError, DSecError) as problem:
        why = system(problem) if isinstance(problem, OSError) else problem.what
        report["remarks"] = [{"at_ms": 0, "kind": "settlement", "text": say("not settled: {why}", why=why)}]


def told(outcome: Outcome) -> str:
    """The outcome in words."""
    more = outcome.word in ("interrupted", "stopped") and outcome.detail not in ("", outcome.word)
    word = state(outcome.word)
    return say("{outcome} ({detail})", outcome=word, detail=recorded(outcome.detail)) if more else word


def _keep(session: Session, state: RunState, report: dict[str, Any]) -> list[str]:
    """Write what is kept of the run; a full disk costs the report, not the run."""
    try:
        write_report(session.run, report)
    except (OSError, DSecError) as problem:
        return [say("warning: the report could not be written: {why}", why=_why(problem))]
    try:
        folder = os.path.dirname(os.path.dirname(session.run.path))
        plan = session.plan
        simulated = is_simulated(session.inventory.devices)
        contract = contract_key(plan.contract_file, plan.name, simulated=simulated)
        on_devices: Mapping[str, Mapping[str, Sequence[int]]] = {}
        if any(step.demand.gpu_count for step in plan.steps):
            on_devices = _learn_devices(folder, contract, session)
        learn(folder, contract, plan, state, on_devices)
    except (OSError, DSecError) as problem:
        return [say("warning: what the run taught could not be kept: {why}", why=_why(problem))]
    return []


def _why(problem: OSError | DSecError) -> str:
    return system(problem) if isinstance(problem, OSError) else problem.what


def write_report(run: RunDir, report: dict[str, Any]) -> None:
    """Both files, each whole or not at all."""
    from dsec_cli.commands.carrying import write_whole

    write_whole(f"{run.path}/report.json", encode(report).encode() + b"\n")
    write_whole(f"{run.path}/report.md", markdown(report).encode())


def learn(
    state_folder: str,
    contract: str,
    plan: Plan,
    state: RunState,
    on_devices: Mapping[str, Mapping[str, Sequence[int]]],
) -> None:
    """Keep the median duration of each Step that succeeded, `on_devices` by what its attempts had."""
    works = {}
    for step in plan.steps:
        command = step.command
        works[step.id] = work_of(command.argv, command.shell, command.call, command.args)
    fresh = {
        step: [
            Learned(median(walls) // 1000, len(walls), works.get(step, ""), devices)
            for devices, walls in on_devices.get(step, {"": tally.walls_us}).items()
        ]
        for step, tally in state.tallies.items()
        if tally.walls_us
    }
    if fresh:
        write_durations(state_folder, contract, fresh)


def _learn_devices(
    state_folder: str, contract: str, session: Session
) -> Mapping[str, Mapping[str, Sequence[int]]]:
    """Keep where Steps ran out of memory, and what they took on which device; their times by devices."""
    from dsec import events, journal
    from dsec.core.lessons import experienced, walls_by_devices
    from dsec.devicebook import learn_devices, says_out_of_memory

    run = session.run
    with open(run.journal, "rb") as file:
        payloads = journal.read(file.read(), name=run.journal).payloads
    told = [events.decode(payload) for payload in payloads[1:]]
    types = {device.uuid: device.type for device in session.inventory.devices}
    fresh = experienced(
        told,
        types,
        lambda begun, end: says_out_of_memory(f"{run.path}/{begun.log}", end.detail),
    )
    learn_devices(state_folder, contract, fresh)
    return walls_by_devices(told, types)


def failure_lines(
    run: RunDir, report: dict[str, Any], *, called: str, said: frozenset[str] = frozenset()
) -> list[str]:
    """Each failure: cause, log and its last lines; a cause that was just `said` is not said again."""
    lines: list[str] = []
    failures = report["failures"]
    for one in failures[:_SHOWN_FAILURES]:
        step = instance_in(report, one["step"], one["iteration"])
        cause = say("{step} {why}", step=step, why=one["text"])
        known = cause in said
        lines += [] if known else [cause]
        if one["log"]:
            tail = last_lines(run.path, one["log"])
            path = f"{run.path}/{one['log']}"
            path = say("log of {step}: {path}", step=step, path=path) if known else f"  {path}"
            lines.append(path if tail else say("{path} (empty)", path=path))
            lines += [f"  | {text}" for text in tail]
    if len(failures) > _SHOWN_FAILURES:
        count = len(failures) - _SHOWN_FAILURES
        lines.append(say("... and {count} more: dsec report {job}", count=count, job=called))
    return lines


def last_lines(folder: str, name: str) -> list[str]:
    """The end of a log in a run's folder, without what a terminal would obey.

    The journal names the log, and may be anybody's: what is not within the folder is not shown.
    """
    try:
        with open(open_beneath(folder, name), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except Escape as problem:
        return [say("not shown: {why}", why=system(problem))]
    except OSError:
        return []
    shown = text.splitlines()[-LAST_LINES:]
    return ["".join(ch if ch.isprintable() or ch == "\t" else "\ufffd" for ch in line) for line in shown]
