"""`dsec resume`: go on with a run whose executor ended, from its journal."""

from __future__ import annotations

import gc
import os
import time

from dsec.engines.local import Session
from dsec.errors import RunProblem
from dsec.journal import Journal
from dsec.quickplan import read_plan
from dsec.resume import holder, past_of, read_run
from dsec.rundir import missing_output
from dsec.sweep import ancestors
from dsec.warden import end_run
from dsec.wardship import await_last
from dsec_cli.commands.carrying import (
    carry_out,
    check_feasible,
    inventory_for,
    metrics_of,
    probe_of,
    variables_of,
)
from dsec_cli.commands.depending import keep, look
from dsec_cli.commands.hosting import check_host
from dsec_cli.commands.sources import contract_differs
from dsec_cli.commands.statefolder import find
from dsec_cli.exit import UNKNOWN, YES
from dsec_cli.report.output import emit, to_stderr
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.attempts import Past
    from dsec.plan import Plan, PlannedStep
    from dsec.resume import Told
    from dsec.rundir import RunDir
    from dsec_cli.options import Args

_GRACE_S = 2.0


def main(args: Args) -> int:
    """Take the run over: end what its last executor left behind, then do what is not done."""
    gc.disable()  # as in `run`
    run = find(os.getcwd(), os.environ, args.job, acts=True)
    plan = read_plan(run.plan)
    journal = _take(run)
    try:
        session = _session(run, plan, journal, args)
        metrics = metrics_of(args) if isinstance(session, Session) else None
    except BaseException:
        journal.let_go()
        raise
    if not isinstance(session, Session):
        journal.let_go()
        return session
    return carry_out(session, journal=journal, args=args, metrics=metrics)


def _session(run: RunDir, plan: Plan, journal: Journal, args: Args) -> Session | int:
    """What is to be done, once nothing of the last executor is left; else the exit code."""
    told = read_run(run)
    if told.torn_bytes and not args.json:
        _warn_of_loss(told)
    journal.cut(told.good_bytes)
    journal.pack()
    await_last(run, tell=lambda text: _warn(text, args))
    # Nor is ended whoever called us, though it may carry the run's marks.
    left = end_run(run.job, run.path, grace_s=_GRACE_S, spare=tuple(ancestors(os.getpid())))
    if left:
        pids = ", ".join(str(process.pid) for process in left)
        raise RunProblem(
            say("processes of the earlier executor cannot be ended: {pids}", pids=pids),
            hint="end them, then resume again",
        )
    if not args.json and _contract_changed(plan, told):
        _warn_of_change(plan.contract_file)
    past = past_of(
        plan,
        told,
        logs=run.logs,
        missing_output=lambda step, iteration: _missing(run, told, step, iteration),
    )
    if _behind(past) == len(plan.steps) * plan.iterations.count:
        return _nothing_left(run, told, args)
    inventory = inventory_for(plan, args.inventory, lang=args.lang)
    state = os.path.dirname(os.path.dirname(run.path))
    check_host(plan, inventory, state=state)
    check_feasible(plan, inventory)
    folder = told.header.folder
    looked = look(plan, args, folder=folder, state=state)
    if looked.code != YES:
        return looked.code
    keep(run, looked)
    _forget_cancel(run)
    number = len(told.state.sessions) + 1
    given, absent = variables_of(plan, args.lang)
    return Session(
        plan,
        run,
        folder,
        inventory,
        past,
        number,
        args.keep_going,
        told.fold,
        looked.variables + given + probe_of(args, run),
        absent,
    )


def _warn(text: str, args: Args) -> None:

    from dsec_cli.commands.speaking import listener

    to_stderr(f"{listener(args.lang)(text)}\n")


def _contract_changed(plan: Plan, told: Told) -> bool:
    """Whether the contract's files are no longer those that the run's plan was made from."""
    path = os.path.join(told.header.folder, plan.contract_file)
    try:
        if os.stat(path).st_mtime_ns // 1_000_000 < told.header.wall_ms:
            return False
    except OSError:
        return False
    return contract_differs(path, plan.contract_hash)


def _warn_of_loss(told: Told) -> None:
    """Say what a crash cost: records that had not reached the disk, or only in part."""
    import sys

    behind = f" ({told.lost} whole records among them)" if told.lost else ""
    sys.stdout.flush()
    to_stderr(
        f"warning: the last {told.torn_bytes} bytes of the journal did not reach the disk in order{behind};"
        " what they told of is done again\n"
    )


def _warn_of_change(contract: str) -> None:
    import sys

    sys.stdout.flush()
    to_stderr(
        f"warning: {contract} has changed since this run began; a run keeps its own plan"
        " (for the change start a new one: dsec run)\n"
    )


def _take(run: RunDir) -> Journal:
    """The run's journal, for us alone."""
    try:
        return Journal(run.journal, clock=time.monotonic)
    except BlockingIOError:
        raise RunProblem(
            say("run {job} is being carried out by {run}", job=run.job, run=holder(run)),
            hint=say("dsec status {job} shows how far it is", job=run.job),
        ) from None


def _missing(run: RunDir, told: Told, step: PlannedStep, iteration: int) -> str:
    return missing_output(step.outputs, told.header.folder, work=run.work, iteration=iteration)


def _behind(past: Past) -> int:
    return sum(map(len, past.finished.values())) + sum(map(len, past.dropped.values()))


def _nothing_left(run: RunDir, told: Told, args: Args) -> int:

    end = told.state.end
    if not args.json:
        emit(f"{run.job}: nothing is left to do\n")
    return YES if end is None or end.outcome == "succeeded" else UNKNOWN


def _forget_cancel(run: RunDir) -> None:
    try:
        os.unlink(f"{run.path}/cancel")
    except FileNotFoundError:
        return
