"""Rebuilds a snapshot's code in a work area, runs its plan there, and compares what it made."""

from __future__ import annotations

import os

from dsec.contenthash import content_hash
from dsec.errors import DSecError, FileProblem
from dsec.record import Record
from dsec.rundir import RunDir, find
from dsec_cli.commands import run as running
from dsec_cli.commands.carrying import write_whole
from dsec_cli.commands.opened import contract_here
from dsec_cli.commands.snapshotting import redactor
from dsec_cli.options_args import Args, defaults
from dsec_cli.options_run import RUN
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.restoring import Restored, restore
from dsec_cli.snapshot.shelf import SnapshotProblem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.commands.snapshotting import Project
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.replay import Replayed
    from dsec_cli.snapshot.shelf import View


class Rerun(Record):
    """A snapshot that is ready to be run."""

    folder: str
    """The work area: the code as it was."""
    file: str
    """What is run: the recorded plan, or the contract."""
    job: str
    state: str
    restored: Restored
    results: tuple[Plain, ...]
    """What the recorded run made."""


def prepare(view: View, place: Project, job: str) -> Rerun:
    """Write code and plan into the work area of this job."""
    folder = os.path.join(place.state, "reruns", job)
    if os.path.lexists(folder):
        raise SnapshotProblem(say("{folder} is there already", folder=folder), hint="take another --job-id")
    restored = restore(view, folder, live=place.folder, redactor=redactor())
    side = view.side("run")
    data = side.data if side.status != ABSENT else None
    return Rerun(
        folder,
        _file(view, folder, data),
        job,
        place.state,
        restored,
        tuple(one for one in (data or {}).get("results", ()) if one["in_run"]),
    )


def _file(view: View, folder: str, data: Plain) -> str:
    """The recorded plan in the work area where the snapshot has it whole; else the contract."""
    plan = view.side("run").contents.get("plan")
    if data is None or plan is None or not os.path.isfile(os.path.join(folder, data["contract"]["file"])):
        return contract_here(folder)
    path = os.path.join(folder, ".dsec-plan.json")
    write_whole(path, view.store.get_bytes(plan))
    return path


def carry_out(
    args: Args, prepared: Rerun, replayed: Replayed | None, variables: tuple[tuple[str, str], ...]
) -> tuple[int, RunDir | None]:
    """Run it in this process; the run's folder is where all runs of the project are."""
    for name in replayed.taken if replayed is not None else ():
        os.environ.pop(name, None)
    os.environ.update(dict(replayed.put) if replayed is not None else {})
    os.environ.update(dict(variables))
    os.environ["DSEC_HOME"] = prepared.state
    os.chdir(prepared.folder)
    wanted = {
        **defaults(RUN),
        "file": prepared.file,
        "job_id": prepared.job,
        "inventory": args.inventory,
        "lang": args.lang,
        "quiet": args.quiet,
        "fetch": args.fetch,
    }
    code = running.main(Args(wanted))
    try:
        return code, find(prepared.folder, os.environ, prepared.job)
    except DSecError:
        return code, None


def compare_results(prepared: Rerun, run: RunDir) -> tuple[int, list[str], list[str]]:
    """How many results are equal to the recorded ones, which differ, and which are not there."""
    equal, differing, missing = 0, list[str](), list[str]()
    for one in prepared.results:
        path = os.path.join(run.work, one["path"])
        if not os.path.lexists(path):
            missing.append(one["path"])
            continue
        try:
            same = content_hash(path, "blake3") == one["hash"]
        except FileProblem:
            same = False
        if same:
            equal += 1
        else:
            differing.append(one["path"])
    return equal, differing, missing
