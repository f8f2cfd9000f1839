"""Slurm job scripts with their #SBATCH lines, and the shell script that submits them in order."""

from __future__ import annotations

from dsec_cli.importing.draft import Draft
from dsec_cli.importing.driver import Submission, submissions
from dsec_cli.importing.jobsteps import Job, steps_of
from dsec_cli.importing.kind import ImportProblem, Kind
from dsec_cli.importing.naming import Ids, legal
from dsec_cli.importing.sbatch import MARK, Option, Script, read_script
from dsec_cli.importing.tables import refuse_undecodable
from dsec_cli.importing.waiting import needs_of
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.importing.draft import Step
    from dsec_cli.importing.kind import Beside
    from dsec_cli.importing.notes import Notes
    from dsec_cli.source.text import SourceText


def read(sources: tuple[SourceText, ...], beside: Beside, notes: Notes) -> Draft:
    """One Step for each job, or for each index of an array; dependencies are needs."""
    for source in sources:
        refuse_undecodable(source)
    read_ = {source.name: read_script(source) for source in sources}
    calls = {source.name: _calls(source, read_[source.name], notes) for source in sources}
    scripts = {name: read_script(source) for name, source in beside.items() if source.undecodable is None}
    scripts |= {name: script for name, script in read_.items() if not calls[name][0]}
    jobs: list[Job] = []
    aliases: dict[str, str] = {}
    for source in sources:
        found, other = calls[source.name]
        aliases |= other
        jobs += [_submitted(call, scripts, notes) for call in found]
    used = {job.script.source.name for job in jobs if job.script is not None}
    jobs += [_alone(scripts[source.name], notes) for source in sources if _waits(source, scripts, used)]
    if not any(job.options or job.call or (job.script and job.script.garbled) for job in jobs):
        raise ImportProblem(
            say("{name} has neither {mark} lines nor calls of sbatch", name=sources[0].name, mark=MARK),
            hint="is it a Slurm script?",
        )
    steps = _steps(jobs, aliases, notes)
    secrets = tuple(dict.fromkeys(name for job in jobs for name in job.secrets))
    origin = " and ".join(source.name for source in sources)
    return Draft(_name(sources, jobs), origin, steps, secrets=secrets)


def _calls(source: SourceText, script: Script, notes: Notes) -> tuple[tuple[Submission, ...], dict[str, str]]:
    """The jobs that a script submits; a job that submits others is itself a job, and they are told."""
    found = submissions(source)
    if not script.options:
        return found
    for call in found[0]:
        notes.left(source, call.span, " ".join(("sbatch", *call.words)), "a job that is submitted by a job")
    return (), found[1]


def _waits(source: SourceText, scripts: dict[str, Script], used: set[str]) -> bool:
    return source.name in scripts and source.name not in used


def _steps(jobs: list[Job], aliases: dict[str, str], notes: Notes) -> tuple[Step, ...]:
    ids = Ids()
    of_job = [steps_of(job, ids, notes) for job in jobs]
    steps: list[Step] = []
    for at, job in enumerate(jobs):
        needs = needs_of(at, jobs, of_job, aliases=aliases, notes=notes)
        steps += [step._replace(needs=needs(place)) for place, step in enumerate(of_job[at])]
        job.wants.close()
    return tuple(steps)


def _submitted(call: Submission, scripts: dict[str, Script], notes: Notes) -> Job:
    if call.garbled:
        notes.open(call.source, call.span, "sbatch", "a command line that could not be split into words")
    if call.conditional:
        why = "it stands in a loop, a function or a condition: read once"
        notes.left(call.source, call.span, "sbatch", why)
    wrapped = any(option.name == "wrap" for option in call.options)
    script = _found(call.words[0], scripts) if call.words and not wrapped else None
    if script is None and not wrapped:
        name = call.words[0] if call.words else say("standard input")
        notes.open(call.source, call.span, name, "a job script that was not given: name it as well")
    return _job(script, call.options, call, notes)


def _found(name: str, scripts: dict[str, Script]) -> Script | None:
    if name in scripts:
        return scripts[name]
    last = name.rpartition("/")[2]
    like = [script for other, script in scripts.items() if other.rpartition("/")[2] == last]
    return like[0] if len(like) == 1 else None


def _alone(script: Script, notes: Notes) -> Job:
    return _job(script, (), None, notes)


def _job(script: Script | None, given: Iterable[Option], call: Submission | None, notes: Notes) -> Job:
    """What the command line gives stands over what the script says."""
    options: dict[str, Option] = {}
    if script is not None:
        options = {option.name: option for option in script.options}
        for span in script.garbled:
            notes.open(script.source, span, MARK, "a line that could not be split into words")
    options |= {option.name: option for option in given}
    return Job(options, script, call, notes)


def _name(sources: tuple[SourceText, ...], jobs: list[Job]) -> str:
    last = sources[0].name.replace("\\", "/").rpartition("/")[2]
    stem = last.rpartition(".")[0] or last
    return legal(jobs[0].name if len(jobs) == 1 else stem, "jobs")


def _beside(source: SourceText) -> tuple[str, ...]:
    if source.undecodable is not None:
        return ()
    found = [call.words[0] for call in submissions(source)[0] if call.words]
    return tuple(
        dict.fromkeys(name for name in found if not name.startswith("/") and ".." not in name.split("/"))
    )


KIND = Kind("slurm", "Slurm job scripts, and a script that submits them", read, many=True, beside=_beside)
