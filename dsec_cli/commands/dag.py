"""`dsec dag` and `ds-dag-analyze`: a contract in, its Step graph out, with what the graph means in time."""

from __future__ import annotations

import os
import sys

from dsec.durations import NAME as DURATIONS
from dsec_cli import exit as codes
from dsec_cli.commands.drawing import PICTURES, draw
from dsec_cli.commands.nearest import contract_here
from dsec_cli.commands.opened import diagnose, locator
from dsec_cli.commands.pipeline import (
    Refused,
    contract_at,
    errors_of,
    inventory_at,
    learned,
    lessons_of,
    show,
)
from dsec_cli.commands.speaking import listener
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.picture import on_devices_of, picture_of
from dsec_cli.dag.view import View
from dsec_cli.report.output import emit, emit_bytes, to_stderr
from dsec_cli.report.terminal import columns
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec.inventory import Inventory
    from dsec_cli.commands.parting import Parted
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.dag.view import Picture, Run
    from dsec_cli.diagnostics import Finding
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Draw the graph; a cyclic one is drawn too, and its cycles are told on standard error."""
    path, run = _run_of(args) if args.job_id is not None else (args.file or contract_here(), None)
    opened = contract_at(path, lang=args.lang)
    inventory = inventory_at(args.inventory) if args.inventory is not None else None
    graph = whole = step_graph(opened.contract)
    taught = learned(opened, lessons_of(opened, DURATIONS, lang=args.lang), inventory)
    known: Mapping[str, int] = {**taught, **(_measured(run) if run is not None else {})}
    contract = opened.contract
    beside: tuple[Finding, ...] = ()
    if args.split or any(step.layers for step in whole.steps):
        graph, contract, known, beside = _in_parts(contract, whole, known, args, inventory)
    drawn = picture_of(
        contract,
        graph,
        title=opened.contract.name or os.path.basename(opened.path),
        learned=known,
        locate=locator(opened, lambda name: name),
        inventory=inventory,
    )
    picture = drawn.picture._replace(run=run)
    _write(picture if run is None or inventory is not None else on_devices_of(run, picture), args)
    wrong = errors_of(opened, whole, drawn.picture.result, select=_HIDING)
    errors = (*wrong, *diagnose(opened, (*beside, *drawn.faults)))
    if not errors:
        return codes.YES
    show(Refused(errors, {part.text.name: part.text for part in opened.parts}), args.lang)
    return codes.NO


def _in_parts(
    contract: Contract,
    graph: StepGraph,
    known: Mapping[str, int],
    args: Args,
    inventory: Inventory | None,
) -> Parted:
    """The graph as it is split: as a run's plan had it, else as is asked for or needed."""
    from dsec_cli.commands.parting import as_planned, asked_parts, in_parts  # few contracts state layers

    asked = asked_parts(args.split, graph.numbers)
    if args.job_id is None or asked:
        return in_parts(graph, contract, learned=known, asked=asked, inventory=inventory)
    from dsec_cli.commands.overlay import plan_of

    folder = os.path.dirname(args.file or "") or "."
    plan = plan_of(args.job_id, folder=folder, environ=os.environ)
    return as_planned(graph, contract, learned=known, plan=plan)


def _write(picture: Picture, args: Args) -> None:
    if args.output not in PICTURES:
        width = columns(sys.stdout) if args.out is None and sys.stdout.isatty() else picture.width
        told = picture._replace(tell=listener(args.lang, args.output), width=width)
        emit(_view(args.output).render(told), args.out)
        return
    if args.out is None and sys.stdout.isatty():
        raise codes.UsageError(
            say("{output} is no text for a terminal", output=args.output), hint="write it to a file: -o FILE"
        )
    emit_bytes(draw(_view("dot").render(picture), args.output), args.out)


_HIDING = ("DS0", "DS114", "DS502")
"""Faults by which a graph is not the one that was written: unreadable text, no contract, an id twice."""


def _measured(run: Run) -> dict[str, int]:
    """What the run itself took, Step by Step."""
    return {step: seen.median_ms for step, seen in run.steps.items() if seen.median_ms is not None}


def _view(name: str) -> View:
    """The view of that name; the others are not even imported."""
    module = f"dsec_cli.dag.views.{name}"
    __import__(module)
    found: View = sys.modules[module].VIEW
    return found


def _run_of(args: Args) -> tuple[str, Run]:
    """The contract that a run was started from (unless one is named), and what the run did."""
    from dsec_cli.commands.overlay import overlay

    folder = os.path.dirname(args.file or "") or "."
    found = overlay(args.job_id, folder=folder, environ=os.environ, named=args.file is not None)
    path = args.file or found.contract
    if os.path.realpath(path) != os.path.realpath(found.contract):
        note = say("note: run {job} was started from {contract}", job=found.run.job, contract=found.contract)
        to_stderr(listener(args.lang)(note) + "\n")
    return path, found.run
