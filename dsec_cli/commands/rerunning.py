"""Rebuilds a snapshot's code in a work area, runs its plan there, and compares what it made."""

from __future__ import annotations

import os
import shutil

from dsec.contenthash import content_hash
from dsec.errors import DSecError, FileProblem
from dsec.record import Record
from dsec.rundir import RunDir
from dsec_cli.commands import run as running
from dsec_cli.commands.carrying import write_whole
from dsec_cli.commands.nearest import contract_here
from dsec_cli.commands.snapshotting import redactor
from dsec_cli.commands.statefolder import find
from dsec_cli.exit import UsageError
from dsec_cli.options_args import Args, defaults
from dsec_cli.options_run import RUN
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.restoring import Restored, lies_in, restore
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
    linked: tuple[str, ...]
    """Paths that lead to this folder's."""
    results: tuple[Plain, ...]
    """What the recorded run made."""


def prepare(view: View, place: Project, job: str, *, link: tuple[str, ...] = ()) -> Rerun:
    """Write code and plan into the work area of this job, and link to it the data of this folder.

    Those are the data that the snapshot names, which were compared, and what `link` names.
    """
    folder = os.path.join(place.state, "reruns", job)
    if os.path.lexists(folder):
        raise SnapshotProblem(say("{folder} is there already", folder=folder), hint="take another --job-id")
    restored = restore(view, folder, live=place.folder, redactor=redactor(place))
    linked = _linked(view, folder, place.folder, link)
    side = view.side("run")
    data = side.data if side.status != ABSENT else None
    return Rerun(
        folder,
        _file(view, folder, data),
        job,
        place.state,
        restored,
        linked,
        tuple(one for one in (data or {}).get("results", ()) if one["in_run"]),
    )


def _linked(view: View, folder: str, live: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Links to what is not in the snapshot: a path that is there already is left as it is."""
    data = view.side("data").data
    named = [one["path"] for one in data["named"] if one["hash"]] if data is not None else []
    made: list[str] = []
    for path in dict.fromkeys([*named, *wanted]):
        inside = os.path.normpath(path)
        if os.path.isabs(inside) or inside.startswith("..") or inside == ".":
            if path in wanted:
                raise UsageError(
                    say("--link {path!r} is no path within this folder", path=path), hint="such as data"
                )
            continue
        source, target = os.path.join(live, inside), os.path.join(folder, inside)
        if not os.path.lexists(source):
            if path in wanted:
                raise FileProblem(say("{path} does not exist", path=source), hint="check --link")
            continue
        if not os.path.lexists(target):
            if not lies_in(folder, inside):
                raise SnapshotProblem(
                    say("{path} of the snapshot leads out of it through a link", path=inside),
                    hint=say("dsec snapshot restore writes it, to be looked at"),
                )
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(source, target)
            made.append(inside)
    return tuple(made)


def _file(view: View, folder: str, data: Plain) -> str:
    """The recorded plan in the work area where the snapshot has it whole; else the contract."""
    plan = view.side("run").contents.get("plan")
    if data is None or plan is None or not os.path.isfile(os.path.join(folder, data["contract"]["file"])):
        try:
            return contract_here(folder)
        except FileProblem:
            shutil.rmtree(folder, ignore_errors=True)
            raise SnapshotProblem(
                say("snapshot {name} has nothing to run: no contract, and no plan", name=view.manifest.name),
                hint=say("dsec snapshot restore brings its code back; dsec init writes a contract"),
            ) from None
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
    inventory = args.inventory
    if inventory is not None and os.path.exists(inventory):
        inventory = os.path.abspath(inventory)  # it was named from the folder that is left now
    os.environ["DSEC_HOME"] = prepared.state
    os.chdir(prepared.folder)
    wanted = {
        **defaults(RUN),
        "file": prepared.file,
        "job_id": prepared.job,
        "inventory": inventory,
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
