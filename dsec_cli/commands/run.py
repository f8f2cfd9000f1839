"""`dsec run`: carry a contract or a plan out on this machine."""

from __future__ import annotations

import os
import time

from dsec.engines.local import Session, boot_id
from dsec.errors import FileProblem, RunProblem
from dsec.journal import Header, Journal, header_payload
from dsec.quickplan import read_plan
from dsec.rundir import RunDir, create, home, is_job, new_job
from dsec.runner import Past
from dsec_cli.commands.carrying import carry_out, check_feasible, folder_of, inventory_for, write_whole
from dsec_cli.exit import NO, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.inventory import Inventory
    from dsec.plan import Plan
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Plan where that is still to be done, make the run's folder, and carry the plan out."""
    if args.job_id is not None and not is_job(args.job_id):
        raise UsageError(f"{args.job_id!r} cannot be a job id", hint="letters, digits, . _ and -, at most 128")
    if args.file is not None and is_plan(args.file):
        plan = read_plan(args.file)
        folder = folder_of(args.file, plan)
        inventory = inventory_for(plan, args.inventory)
    else:
        prepared = _compile(args.file, args.inventory)
        if prepared is None:
            return NO
        plan, folder, inventory = prepared
    check_feasible(plan, inventory)
    run = _new_run(plan, folder, args.job_id)
    journal = _begin(run, plan, folder)
    session = Session(plan, run, folder, inventory, Past(), 1, args.keep_going)
    return carry_out(session, journal=journal, args=args)


def is_plan(path: str) -> bool:
    """Whether the file is a stored plan and not a contract."""
    try:
        with open(path, "rb") as file:
            head = file.read(1)
            return head == b"{" and b'"dsec.plan/' in file.read()
    except IsADirectoryError:
        return False
    except OSError as problem:
        raise FileProblem(f"{path}: {problem.strerror}", hint="name a contract or a plan") from None


def _compile(path: str | None, inventory_path: str | None) -> tuple[Plan, str, Inventory] | None:
    """The contract's plan, folder and inventory; None: it was refused, and said why."""
    from dsec_cli.commands.opened import contract_here
    from dsec_cli.commands.pipeline import Refused, inventory_at, prepare, show

    if path is None or os.path.isdir(path):
        path = contract_here(path or ".")
    inventory = inventory_at(inventory_path)
    plan = prepare(path, inventory)
    if isinstance(plan, Refused):
        show(plan)
        return None
    return plan, os.path.dirname(os.path.abspath(path)), inventory


def _new_run(plan: Plan, folder: str, job: str | None) -> RunDir:
    state = home(folder, os.environ)
    name = job or new_job(plan.name, now_s=time.time(), chance=os.urandom(2))
    try:
        return create(state, name)
    except FileExistsError:
        raise UsageError(
            f"there is a run {name!r} already in {state}", hint=f"dsec resume {name} continues it; or take another --job-id"
        ) from None
    except OSError as problem:
        raise FileProblem(f"{problem.filename}: {problem.strerror}", hint="DSEC_HOME names another folder for the state") from None


def _begin(run: RunDir, plan: Plan, folder: str) -> Journal:
    """Store the plan, open the journal and write its first record."""
    from dsec.planfile import plan_bytes

    write_whole(run.plan, plan_bytes(plan))
    try:
        journal = Journal(run.journal, clock=time.monotonic)
    except BlockingIOError:
        raise RunProblem(f"run {run.job} is being carried out already") from None
    journal.append(header_payload(Header(run.job, plan.hash, folder, time.time_ns() // 1_000_000, boot_id())))
    return journal
