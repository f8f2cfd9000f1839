"""`dsec report`: what a run came to."""

from __future__ import annotations

import json
import os

from dsec.core.report import build, document, markdown
from dsec.errors import DSecError
from dsec.quickplan import read_plan
from dsec.resume import is_alive, read_run, running_us
from dsec.words import say
from dsec_cli.commands.accounting import Evidence, account
from dsec_cli.commands.concluding import contended, last_lines, write_report
from dsec_cli.commands.depending import kept, kept_python
from dsec_cli.commands.pricing import prices_of
from dsec_cli.commands.speaking import listener
from dsec_cli.commands.statefolder import find
from dsec_cli.exit import YES
from dsec_cli.report.output import emit, to_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.core.fold import RunState
    from dsec.plan import Plan
    from dsec.rundir import RunDir
    from dsec_cli.options import Args

_PAGE_PARTS = 300
"""Parts of time of the heat map on the page."""
_PAGE_BLOCKED = 60
"""Lines on the page of who held up whom."""
_PAGE_FAILURES = 60


def main(args: Args) -> int:
    """Build the report anew from plan, journal and samples, keep it if the run has ended, and print it."""
    run = find(os.getcwd(), os.environ, args.job)
    plan = read_plan(run.plan)
    told = read_run(run)
    form = "json" if args.json else args.output
    now_us = running_us(told.state.sessions[-1]) if is_alive(told) else None
    report = build(plan, told.state, job=run.job, inventory=plan.inventory, now_us=now_us)
    report["dependencies"] = kept(run)
    if python := kept_python(run):
        report["python"] = python
    report["contention"] = _contention(run, ended=told.state.end is not None)
    evidence = Evidence(run)
    account(report, plan, evidence, prices_of(args.prices))
    if told.state.end is not None:
        _keep(run, report, args.lang)
    if form == "json":
        emit(json.dumps(document(report), ensure_ascii=False, indent=2) + "\n", args.out)
    elif form == "html":
        emit(_page(run, plan, told.state, report, evidence), args.out)
    else:
        shown = {**report, "failures": _with_lines(run, report), "dropped": []}
        emit(markdown(shown, listener(args.lang)), args.out)
    return YES


def _contention(run: RunDir, *, ended: bool) -> list[dict[str, Any]] | None:
    """Who held up whom; a run that goes on still has its probes' files."""
    if ended:
        return contended(run)
    from dsec.probes import present

    return present(run.path)


def _keep(run: RunDir, report: dict[str, Any], lang: str | None) -> None:
    """Write the report's files; where that is not allowed it is printed all the same."""
    try:
        write_report(run, report)
    except DSecError as problem:
        line = say("warning: the report is not kept: {why}", why=problem.what)
        to_stderr(listener(lang)(line) + "\n")


def _told(found: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Each with its sentence; None: the run had no probe."""
    if found is None:
        return None
    from dsec.core.contention import sentence

    return [{**one, "text": sentence(one)} for one in found[:_PAGE_BLOCKED]]


def _with_lines(run: RunDir, report: dict[str, Any]) -> list[dict[str, Any]]:
    """The failures and what was dropped, the first of them with the last lines of their logs."""
    failures: list[dict[str, Any]] = report["failures"] + report["dropped"]
    shown = [
        {**one, "lines": last_lines(run.path, one["log"]) if one["log"] else []}
        for one in failures[:_PAGE_FAILURES]
    ]
    return shown + failures[_PAGE_FAILURES:]


def _page(run: RunDir, plan: Plan, state: RunState, report: dict[str, Any], evidence: Evidence) -> str:
    """One page that needs nothing else: the graph and the time line of the run, and its account."""
    from dsec_cli.commands.accounting import curves, heat_rows
    from dsec_cli.commands.overlay import run_of
    from dsec_cli.dag.picture import device_name
    from dsec_cli.dag.planpicture import picture_of_plan
    from dsec_cli.dag.views.html import render

    names = {device.uuid: device_name(device) for device in plan.inventory.devices}
    failures = _with_lines(run, report)
    told = {
        "wall_ms": report["wall_ms"],
        "cpu_ms": report["cpu_ms"],
        "settlement": report.get("settlement"),
        "heat": heat_rows(evidence, names, parts=_PAGE_PARTS) if report.get("heat") else [],
        "curves": curves(evidence),
        "failures": failures[:_PAGE_FAILURES],
        "more_failures": max(0, len(failures) - _PAGE_FAILURES),
        "remarks": report["remarks"],
        "contention": _told(report["contention"]),
    }
    seen = run_of(run.job, plan, state, evidence.events)
    return render(picture_of_plan(plan, seen._replace(account=told)))
