"""The dependencies of Slurm jobs as needs of Steps."""

from __future__ import annotations

from dsec_cli.importing.driver import variables
from dsec_cli.importing.notes import LONGEST
from dsec_cli.importing.slurmvalues import waits
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec_cli.importing.draft import Step
    from dsec_cli.importing.jobsteps import Job
    from dsec_cli.importing.notes import Notes
    from dsec_cli.importing.sbatch import Option

_OF_TYPE = {
    "afterany": "a Step starts when those it needs have succeeded, so this became afterok",
    "afternotok": "nothing starts because something else has failed",
    "after": "a Step starts when those it needs have ended, not when they have begun: left out",
    "afterburstbuffer": "there is no burst buffer",
}
_KEPT = ("afterok", "afterany", "aftercorr")


def needs_of(
    at: int,
    jobs: Sequence[Job],
    of_job: Sequence[Sequence[Step]],
    *,
    aliases: dict[str, str],
    notes: Notes,
) -> Callable[[int], tuple[str, ...]]:
    """For the n-th Step of the job `at`: ids of the Steps that it waits for."""
    option = jobs[at].dependency
    all_of: list[str] = []
    by_place: list[Sequence[Step]] = []
    if option is not None:
        items, any_of = waits(option.value)
        if any_of:
            _left(option, notes, "any one of the jobs was enough; a Step waits for all that it needs")
        for item in items:
            if item.type == "singleton":
                all_of += _same_name(at, jobs, of_job)
                continue
            if item.type in _OF_TYPE or item.type not in _KEPT:
                _left(option, notes, _OF_TYPE.get(item.type, f"{item.type} is no type of dependency"))
            for reference in item.jobs if item.type in _KEPT else ():
                found = _job(reference, at, jobs, aliases)
                if found is None:
                    _left(
                        option,
                        notes,
                        say(
                            "{reference} is the id of a job that is not among the files", reference=reference
                        ),
                    )
                elif item.type == "aftercorr":
                    by_place.append(of_job[found])
                else:
                    all_of += [step.id for step in of_job[found]]
    return lambda place: (*all_of, *(steps[place].id for steps in by_place if place < len(steps)))


def _left(option: Option, notes: Notes, why: str) -> None:
    shown = option.value[:LONGEST]  # the whole list may be long, and it is told once for each of its jobs
    notes.left(option.source, option.span, f"--dependency={shown}", why)


def _same_name(at: int, jobs: Sequence[Job], of_job: Sequence[Sequence[Step]]) -> list[str]:
    return [step.id for before in range(at) if jobs[before].name == jobs[at].name for step in of_job[before]]


def _job(reference: str, at: int, jobs: Sequence[Job], aliases: dict[str, str]) -> int | None:
    """The job that `$prep`, or its name, means: the last one of that name before this one, else any."""
    named = variables(reference)
    name = named[0] if named else reference
    for _ in range(len(aliases) + 1):
        found = [
            place
            for place, job in enumerate(jobs)
            if name and name in (job.holder if named else job.name, "")
        ]
        if found:
            before = [place for place in found if place < at]
            return before[-1] if before else next((place for place in found if place != at), None)
        if not named or name not in aliases:
            return None
        name = aliases[name]
    return None
