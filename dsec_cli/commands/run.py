"""`dsec run`: carry a contract or a plan out on this machine."""

from __future__ import annotations

import gc
import os
import sys
import time

from dsec.attempts import Past
from dsec.beginning import begin, give_up
from dsec.core.fold import Fold
from dsec.engines.local import Session
from dsec.errors import FileProblem
from dsec.journal import Header, header_payload
from dsec.quickplan import is_plan, parse_plan
from dsec.record import Record
from dsec.rundir import RunDir, began, is_job, new_job
from dsec.sweep import boot_id
from dsec.wholefile import remedy
from dsec_cli.commands.carrying import (
    carry_out,
    check_feasible,
    folder_of,
    inventory_for,
    machine_for,
    metrics_of,
    probe_of,
    tell_of_baseline,
    variables_of,
    write_whole,
)
from dsec_cli.commands.depending import keep, look
from dsec_cli.commands.hosting import check_host
from dsec_cli.commands.missing_files import tell_of_missing
from dsec_cli.commands.sources import contract_differs
from dsec_cli.commands.statefolder import home
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.report.output import to_stderr
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.inventory import Inventory
    from dsec.journal import Journal
    from dsec.plan import Plan
    from dsec_cli.commands.depending import Looked
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Plan where that is still to be done, make the run's folder, and carry the plan out."""
    gc.disable()  # what a run makes is freed by counting; collections would walk the plan again and again
    if args.job_id is not None and not is_job(args.job_id):
        raise UsageError(
            say("{job!r} cannot be a job id", job=args.job_id), hint="letters, digits, . _ and -, at most 128"
        )
    prepared = _stored(args.file, args.inventory, args.lang) or _compile(args.file, args.inventory, args.lang)
    if prepared is None:
        return NO
    plan, folder, inventory = prepared.plan, prepared.folder, prepared.inventory
    state = home(folder, os.environ)
    check_host(plan, inventory, state=state)
    check_feasible(plan, inventory)
    metrics = metrics_of(args)
    tell_of_baseline(plan, args.lang)
    tell_of_missing(plan, folder, args.lang)
    looked = look(plan, args, folder=folder, state=state)
    if looked.code != YES:
        return looked.code
    run, journal = _new_run(prepared, args.job_id)
    _write_down(run, journal, prepared, looked)
    given, absent = variables_of(plan, args.lang)
    session = Session(
        plan,
        run,
        folder,
        inventory,
        Past(),
        1,
        args.keep_going,
        Fold(),
        looked.variables + given + probe_of(args, run),
        absent,
    )
    return carry_out(session, journal=journal, args=args, metrics=metrics)


class Prepared(Record):
    """A plan that is ready to be carried out."""

    plan: Plan
    stored: bytes
    """The plan's file."""
    folder: str
    """The contract's folder."""
    inventory: Inventory


def _stored(path: str | None, inventory_path: str | None, lang: str | None) -> Prepared | None:
    """The plan in the file `path`; None where that is a contract."""
    if path is None or os.path.isdir(path):
        return None
    try:
        with open(path, "rb") as file:
            raw = file.read(1)
            raw += file.read() if raw == b"{" else b""  # a plan is JSON, and a device may have no end
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint="name a contract or a plan"
        ) from None
    if not is_plan(raw):
        return None
    plan = parse_plan(raw, name=path)
    folder = folder_of(path, plan)
    _tell_if_outdated(plan, path, folder, lang=lang)
    return Prepared(plan, raw, folder, inventory_for(plan, inventory_path, lang=lang))


def _tell_if_outdated(plan: Plan, path: str, folder: str, *, lang: str | None) -> None:
    """Warn where the contract says something else than when the plan was made: it is the plan that counts."""
    if not contract_differs(os.path.join(folder, plan.contract_file), plan.contract_hash):
        return
    from dsec_cli.commands.speaking import listener

    line = say(
        "warning: {contract} has changed since {plan} was made, and the plan is carried out as it is;"
        " for the change make it anew: dsec plan {contract} -o {plan}",
        contract=plan.contract_file,
        plan=path,
    )
    sys.stdout.flush()
    to_stderr(f"dsec: {listener(lang)(line)}\n")


def _compile(path: str | None, inventory_path: str | None, lang: str | None) -> Prepared | None:
    """The contract's plan; None: it was refused, and said why."""
    from dsec.planfile import plan_bytes
    from dsec_cli.commands.nearest import contract_here
    from dsec_cli.commands.pipeline import Refused, inventory_at, prepare, show

    if path is None or os.path.isdir(path):
        path = contract_here(path or ".")
    inventory = inventory_at(inventory_path)
    plan = prepare(path, inventory, lang=lang)
    if isinstance(plan, Refused):
        show(plan, lang)
        return None
    machine = machine_for(plan, inventory, inventory_path, lang=lang)
    return Prepared(plan, plan_bytes(plan), os.path.dirname(os.path.abspath(path)), machine)


def _new_run(prepared: Prepared, job: str | None) -> tuple[RunDir, Journal]:
    state = home(prepared.folder, os.environ)
    name = job or new_job(prepared.plan.name, now_s=time.time(), chance=os.urandom(2))
    try:
        return begin(state, name, clock=time.monotonic)
    except (FileExistsError, BlockingIOError):  # of two who begin it at once, the second
        raise UsageError(
            say("there is a run {name!r} already in {state}", name=name, state=state),
            hint=_way_on(RunDir(name, f"{state}/runs/{name}")),
        ) from None
    except OSError as problem:
        raise FileProblem(
            say("{filename}: {why}", filename=problem.filename or state, why=system(problem)),
            hint=say("{remedy}; DSEC_HOME names another folder for the state", remedy=remedy(problem)),
        ) from None


def _way_on(run: RunDir) -> str:
    """What can be done about a run that is there already; one that goes on cannot be resumed."""
    from dsec.errors import DSecError
    from dsec.resume import is_alive, locked_by, read_run

    try:
        alive = locked_by(run.journal) != 0 or is_alive(read_run(run))
    except DSecError:
        alive = False
    if alive:
        return say(
            "it is running: dsec status {name} shows how far it is; or take another --job-id", name=run.job
        )
    return say("dsec resume {name} continues it; or take another --job-id", name=run.job)


def _write_down(run: RunDir, journal: Journal, prepared: Prepared, looked: Looked) -> None:
    """Store the plan and write the journal's first record; without that record nothing is left."""
    try:
        keep(run, looked)
        write_whole(run.plan, prepared.stored, mode=0o600)
        journal.settle_names()
        now_ms = time.time_ns() // 1_000_000
        header = Header(run.job, prepared.plan.hash, prepared.folder, now_ms, boot_id())
        journal.append(header_payload(header))
    except BaseException:  # a full disk, or Ctrl-C
        if not began(run):
            give_up(run, journal)
        raise
