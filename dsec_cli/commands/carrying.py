"""Carrying a plan out from the command line: what `run` and `resume` share."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time

from dsec import wholefile
from dsec.engines.local import execute
from dsec.errors import DSecError, FileProblem, PlanProblem
from dsec.inventory import within
from dsec.markup import terminal_lines
from dsec.ports import Nobody
from dsec.progress import Progress
from dsec.rundir import find
from dsec_cli.commands.watching import JsonLines, PlainLines, Sink
from dsec_cli.exit import INTERRUPTED, NO, TERMINATED, UNKNOWN, YES
from dsec_cli.report.output import to_stderr
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from dsec.core.placement import Slot
    from dsec.engines.local import Outcome, Session
    from dsec.inventory import Inventory
    from dsec.journal import Journal
    from dsec.plan import Plan
    from dsec.ports import Observer
    from dsec.rundir import RunDir
    from dsec_cli.commands.exporting import Exporting
    from dsec_cli.commands.marking import Marking
    from dsec_cli.options import Args

    Variables: TypeAlias = tuple[tuple[str, str], ...]

HUNG_UP = 129


def machine_for(plan: Plan, described: Inventory, path: str | None, *, lang: str | None = None) -> Inventory:
    """The machine that a run takes: this one, as far as the description at `path` goes.

    Nothing runs on GPUs, processors or memory that are described and not here: a contract that is planned for
    another machine runs where its stored plan would, on what is here, or not at all.
    """
    if path is None:
        return described
    here = inventory_for(plan, None)
    if any(step.demand.gpu_count for step in plan.steps):
        _tell_of_absent(described, here, path, lang)
    return within(here, described)


def _tell_of_absent(described: Inventory, here: Inventory, path: str, lang: str | None) -> None:
    """Say which of the described GPUs are not on this machine."""
    from dsec_cli.commands.speaking import listener

    absent = {device.uuid for device in described.devices} - {device.uuid for device in here.devices}
    if not absent:
        return
    line = say(
        "note: {absent} of the {count} GPUs of {path} are not on this machine; the run takes only GPUs that"
        " are here (dsec sim-gpu simulates others)",
        absent=len(absent),
        count=len(described.devices),
        path=path,
    )
    sys.stderr.write(f"dsec: {listener(lang)(line)}\n")


def inventory_for(plan: Plan, path: str | None, *, lang: str | None = None) -> Inventory:
    """What the plan may use: this machine, as far as the description at `path` goes.

    GPUs are read only for a plan that wants some: opening the driver costs more than a small run.
    """
    if path is not None:
        from dsec_cli.commands.inventory import read_inventory

        return machine_for(plan, read_inventory(path), path, lang=lang)
    if any(step.demand.gpu_count for step in plan.steps):
        from dsec.broker.asked import without_others
        from dsec.devices.nvml import read
        from dsec.devices.visible import restrict

        return without_others(restrict(read(), os.environ))
    from dsec.devices.host import read as read_host

    return read_host()


def check_feasible(plan: Plan, inventory: Inventory) -> None:
    """Refuse, before anything starts, a plan that this machine cannot carry out."""
    from dsec.core.placement import feasible
    from dsec.devices.visible import MASK

    inventory = inventory._replace(tokens=plan.inventory.tokens)
    judged = {}
    for step in plan.steps:
        if step.demand not in judged:
            judged[step.demand] = feasible(step.demand, inventory)
        refusal = judged[step.demand]
        if refusal is not None and refusal.cause:
            text = refusal.text.removesuffix(f": {refusal.cause}")
            raise PlanProblem(
                say("{cause}; Step {id} cannot run here: {text}", cause=refusal.cause, id=step.id, text=text),
                hint=say("change or unset CUDA_VISIBLE_DEVICES; dsec inventory lists the GPUs that it shows")
                if refusal.cause.startswith(f"{MASK}=")
                else say("dsec doctor says more; dsec inventory lists the GPUs that can be used"),
            )
        if refusal is not None:
            raise PlanProblem(
                say("Step {id} cannot run here: {text}", id=step.id, text=refusal.text),
                hint="run it where the devices are, or plan for this machine: dsec plan",
            )


def warn_of_others(plan: Plan, inventory: Inventory, lang: str | None) -> None:
    """Say which Steps will get GPUs that processes outside DSec use, because no others are there."""
    from dsec.core.placement import choose, shared, slots

    table, told = slots(inventory), set()
    if not any(slot.crowded for slot in table):
        return
    for step in plan.steps:
        chosen = choose(step.demand, table) if step.demand.gpu_count else None
        if chosen is None or not shared(chosen) or step.demand in told:
            continue
        told.add(step.demand)
        held = ", ".join(
            say("GPU {index}: {held} of {most} GiB", index=one.device.index, held=one.foreign, most=_gib(one))
            for one in chosen
            if one.crowded
        )
        line = say(
            "warning: other processes use the GPUs that are there for {step} ({held})",
            step=step.id,
            held=held,
        )
        from dsec_cli.commands.speaking import listener

        sys.stderr.write(f"dsec: {listener(lang)(line)}\n")


def _gib(slot: Slot) -> int:
    return (slot.device.memory_bytes or 0) >> 30


_FROM = " comes from "


def referred(
    plan: Plan, environ: Mapping[str, str]
) -> tuple[tuple[tuple[str, str], ...], list[tuple[str, str]]]:
    """Variables whose value stands in another one (`env://NAME`), and those whose value nobody gives.

    A plan holds no secrets: it says in a note where each one is.
    """
    given: list[tuple[str, str]] = []
    missing: list[tuple[str, str]] = []
    for note in plan.notes:
        name, mark, rest = note.partition(_FROM)
        source = rest.partition(": a plan holds no secrets")[0]
        if not mark or source == rest:
            continue
        other = source.removeprefix("env://") if source.startswith("env://") else name
        # A secret that a CI service does not have comes as an empty variable.
        if environ.get(other):
            given += [(name, environ[other])] * (other != name)
        elif not environ.get(name):
            missing.append((name, source))
    return tuple(given), missing


def tell_of_baseline(plan: Plan, lang: str | None) -> None:
    """What the baseline states and the machine lacks: Steps are placed by their own demands all the same."""
    from dsec_cli.commands.speaking import listener

    for note in plan.notes:
        if note.startswith("baseline states "):
            line = say("warning: {note}; the Steps are run all the same", note=note)
            sys.stderr.write(f"dsec: {listener(lang)(line)}\n")


def variables_of(plan: Plan, lang: str | None) -> tuple[Variables, Variables]:
    """What `env://` sources give, and the sources of what nobody gives; Steps are said to lack that."""
    given, missing = referred(plan, os.environ)
    from dsec_cli.commands.speaking import listener

    for name, source in missing:
        if source.startswith("env://"):
            line = say(
                "warning: {name} will be missing: the variable {other} has no value here;"
                " set it and start again",
                name=name,
                other=source.removeprefix("env://"),
            )
        else:
            line = say(
                "warning: {name} will be missing: nothing is fetched from {source};"
                " set it where the run starts",
                name=name,
                source=source,
            )
        sys.stderr.write(f"dsec: {listener(lang)(line)}\n")
    return given, tuple(missing)


def observer_for(args: Args, session: Session) -> Observer:
    """Who watches: JSON lines, a live table on a terminal, plain lines elsewhere, nobody when quiet."""
    if args.json:
        return JsonLines(Sink(1))
    if args.quiet:
        return Nobody()
    from dsec_cli.commands.speaking import listener

    tell = listener(args.lang)
    progress = Progress(session.plan)
    for steps in session.past.finished.values():
        for at in steps:
            progress.skip(session.plan.steps[at].id, 1)
    for steps in session.past.dropped.values():
        for at in steps:
            progress.leave_out(session.plan.steps[at].id, 1)
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from dsec_cli.report.live import LiveTable

        return LiveTable(Sink(1), session.plan, progress, tell)
    return PlainLines(Sink(1), progress, tell)


def carry_out(session: Session, *, journal: Journal, args: Args, metrics: Exporting | None) -> int:
    """Run the session to its end, tell how it ended, and give the exit code."""
    if not args.json:
        warn_of_others(session.plan, session.inventory, args.lang)
    if metrics is not None:
        if not (args.quiet or args.json) and metrics.address:
            to_stderr(f"metrics: {metrics.address}\n")
        metrics.begin(session.run, session.plan)
    marking = marking_of(args, session)
    called = called_here(session.run)
    os.chdir(session.folder)
    observer = observer_for(args, session)
    before = time.process_time()
    try:
        outcome = execute(
            session,
            journal=journal,
            observer=observer,
            environ=os.environb,
            beside=tuple(one for one in (metrics, marking) if one is not None),
        )
    finally:
        observer.close()
        if metrics is not None:
            metrics.end()
    said = frozenset(observer.last) if isinstance(observer, PlainLines) else frozenset()
    _conclude(session, outcome, args, called=called, said=said, own_cpu_s=time.process_time() - before)
    if marking is not None:
        _marked(marking, outcome, args)
    return exit_code(outcome)


def metrics_of(args: Args) -> Exporting | None:
    """What shows the run to Prometheus; None: nobody asked for it."""
    if args.metrics_port is None and args.metrics_file is None and not args.metric_compat:
        return None
    from dsec_cli.commands.exporting import exporting

    return exporting(args)


def marking_of(args: Args, session: Session) -> Marking | None:
    """What takes the run's snapshots; None: nobody wants them."""
    if args.snapshots == "never":
        return None
    from dsec_cli.commands.marking import Marking

    interval_ns = session.plan.snapshot_interval_ns
    # An interval below a second would take snapshots only; lint says so.
    every_s = max(1.0, interval_ns / 1e9) if interval_ns is not None else None
    after_s = 0.1 if args.snapshots == "always" else min(Marking.AFTER_S, every_s or Marking.AFTER_S)
    plan = session.plan
    marking = Marking(session.folder, plan.contract_file, sys.argv, after_s=after_s, every_s=every_s)
    marking.begin(session.run)
    return marking


def _marked(marking: Marking, outcome: Outcome, args: Args) -> None:
    """Wait for the snapshot of the finish, not long where somebody wants to leave, and name it."""
    name = marking.end(patience_s=3.0) if outcome.signal else marking.end()
    if name and not args.json:
        from dsec_cli.commands.speaking import listener

        line = say("snapshot: {name} (dsec snapshot run {name} runs it again)", name=name)
        Sink(1).write(terminal_lines(listener(args.lang)(line)) + "\n")


def probe_of(args: Args, run: RunDir) -> tuple[tuple[str, str], ...]:
    """What puts the probe into the run's Steps; nothing where none was asked for or can be had."""
    if not args.probe:
        return ()
    from dsec.probes import library, variables
    from dsec_cli.commands.speaking import listener

    built = library(os.environ)
    if built.path:
        return variables(built, run.path, os.environ)
    line = say("warning: the run goes on without a probe: {why}", why=built.why)
    to_stderr(listener(args.lang)(line) + "\n")
    return ()


def called_here(run: RunDir) -> str:
    """What the run is called in the present folder: its job id, or its path where the id is not found."""
    try:
        if find(os.getcwd(), os.environ, run.job).path == run.path:
            return run.job
    except (DSecError, OSError):
        pass
    return shlex.quote(run.path)


def _conclude(
    session: Session, outcome: Outcome, args: Args, *, called: str, said: frozenset[str], own_cpu_s: float
) -> None:
    """Write the report, learn the durations, and tell both in a few lines."""
    from dsec_cli.commands.concluding import conclude
    from dsec_cli.commands.speaking import listener

    lines = conclude(session, outcome, called=called, said=said, own_cpu_s=own_cpu_s)
    if not args.json:
        sink = Sink(1)
        tell = listener(args.lang)
        sink.write("".join(f"{terminal_lines(tell(text))}\n" for text in lines))
        sink.finish()


def exit_code(outcome: Outcome) -> int:
    """The command's exit code."""
    if outcome.word == "stopped":
        return UNKNOWN
    if outcome.signal:
        return {signal.SIGINT: INTERRUPTED, signal.SIGHUP: HUNG_UP}.get(
            signal.Signals(outcome.signal), TERMINATED
        )
    return YES if outcome.word == "succeeded" else NO


def folder_of(plan_path: str, plan: Plan) -> str:
    """The contract's folder for a plan in a file: the file's, else this one if the contract is here."""
    folder = os.path.dirname(os.path.abspath(plan_path))
    if os.path.exists(os.path.join(folder, plan.contract_file)):
        return folder
    return os.getcwd() if os.path.exists(plan.contract_file) else folder


def write_whole(path: str, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file whole or not at all."""
    try:
        wholefile.write_whole(path, [data], mode=mode)
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint=wholefile.remedy(problem)
        ) from None
