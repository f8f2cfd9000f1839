"""One Slurm job as Steps: one, or one for each index of its array."""

from __future__ import annotations

from dsec_cli.importing import slurmvalues
from dsec_cli.importing.commands import Environment, shell_command, words_command
from dsec_cli.importing.draft import Command, Step
from dsec_cli.importing.driver import variables
from dsec_cli.importing.jobs import Wants
from dsec_cli.importing.shellwords import arguments, command_words
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.importing.driver import Submission
    from dsec_cli.importing.naming import Ids
    from dsec_cli.importing.notes import Notes
    from dsec_cli.importing.sbatch import Option, Script
    from dsec_cli.source.text import SourceText, Span

PREFIX = "SLURM_"
_ASKS = "asks Slurm, which is not there"
_PROGRAMS = {
    "srun": "starts tasks on the nodes of Slurm: call the program itself, or torchrun",
    "salloc": "asks Slurm for nodes: the Step has its resources already",
    **dict.fromkeys(("scontrol", "sbcast", "squeue", "sacct", "scancel", "sinfo", "sstat", "sattach"), _ASKS),
    "module": "environment modules must be found by the shell that the Step starts",
    "ml": "environment modules must be found by the shell that the Step starts",
}
_THERE = ("module", "ml")
"""Programs that a machine without Slurm may have."""
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")


class Job:
    """One job: its options, its script or command, and the call that submitted it."""

    def __init__(
        self, options: dict[str, Option], script: Script | None, call: Submission | None, notes: Notes
    ) -> None:
        self.options = options
        self.script = script
        self.call = call
        self.wants = Wants(options, notes)
        self.name = self._name()
        self.holder = "" if call is None else call.holder
        self.dependency = options.get("dependency")
        self.wants.text("dependency")
        self.secrets: tuple[str, ...] = ()

    def _name(self) -> str:
        given = self.wants.text("job-name")
        if given:
            return given
        path = self.script.source.name if self.script is not None else ""
        path = path or (self.call.words[0] if self.call is not None and self.call.words else "job")
        last = path.replace("\\", "/").rpartition("/")[2]
        return last.rpartition(".")[0] or last


def steps_of(job: Job, ids: Ids, notes: Notes) -> list[Step]:
    """The Steps, without their needs."""
    wants = job.wants
    nodes = wants.whole("nodes") or 1
    if nodes > 1:
        wants.open(
            job.options["nodes"], "a Step runs on one machine, which is to have all that the nodes have"
        )
    per_node = wants.whole("ntasks-per-node")
    tasks = wants.whole("ntasks") or (per_node or 1) * nodes
    gpu = wants.gpus(nodes, tasks)
    held = 0 if gpu is None else gpu.count
    cores = wants.whole("cpus-per-task") or 1
    per_gpu = wants.whole("cpus-per-gpu")
    cpus = per_gpu * held if per_gpu and held else cores * tasks
    step = Step(
        "",
        _command(job, notes),
        gpu=gpu,
        cpu_m=cpus * 1000,
        memory_bytes=_memory(job, nodes=nodes, cpus=cpus, held=held),
        disk_bytes=wants.value("tmp", slurmvalues.size_bytes, "a size is expected"),
        timeout_ns=wants.value("time", slurmvalues.time_ns, "no time limit that is one"),
        cwd=wants.text("chdir"),
        retries=1 if "requeue" in job.options else 0,
    )
    wants.text("requeue")
    known = {
        "SLURM_JOB_NAME": job.name,
        "SLURM_NTASKS": str(tasks),
        "SLURM_CPUS_PER_TASK": str(cores),
        "SLURM_JOB_NUM_NODES": "1",
        "SLURM_NNODES": "1",
        "SLURM_NODEID": "0",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_GPUS_ON_NODE": str(held),
    }
    return _expanded(step._replace(env=_environment(job, notes)), job, ids, known=known, notes=notes)


def _memory(job: Job, *, nodes: int, cpus: int, held: int) -> int | None:
    why = "not a size of its own; 0 is all that the node has"
    for name, times in (("mem", nodes), ("mem-per-cpu", cpus), ("mem-per-gpu", held)):
        one = job.wants.value(name, slurmvalues.size_bytes, why)
        if one is not None and times:
            return one * times
    return None


def _command(job: Job, notes: Notes) -> Command:
    """The script by its name; what has no name, as a text for the shell that it was written for."""
    wrap = job.options.get("wrap")
    job.wants.text("wrap")
    if wrap is not None:
        return shell_command(wrap.value, wrap.source, wrap.span, notes)
    arguments = job.call.words[1:] if job.call is not None else ()
    if job.script is None:
        if job.call is None or not job.call.words:
            return Command()
        _tell_variables(job.call.words, job.call.source, job.call.span, notes=notes)
        return words_command(("bash", *job.call.words), job.call.source, job.call.span, notes)
    source, span = job.script.source, job.script.commands
    if job.call is None and source.name.startswith("<"):
        body = source.text[span.start :].strip("\n")
        return (
            Command()
            if not body.strip()
            else words_command((job.script.interpreter, "-c", body), source, span, notes)
        )
    where = (source, span) if job.call is None else (job.call.source, job.call.span)
    if "chdir" in job.options and not source.name.startswith("/"):
        job.wants.left(job.options["chdir"], say("{name} must be found from that folder", name=source.name))
    _tell_variables(arguments, *where, notes=notes)
    return words_command((job.script.interpreter, source.name, *arguments), *where, notes)


def _tell_variables(words: Sequence[str], source: SourceText, span: Span, *, notes: Notes) -> None:
    for name in variables(" ".join(words)):
        notes.open(source, span, f"${name}", "a variable of the submitting script, whose value is not known")


def _environment(job: Job, notes: Notes) -> tuple[tuple[str, str], ...]:
    option = job.options.get("export")
    job.wants.text("export")
    found = Environment(notes)
    for item in option.value.split(",") if option is not None else ():
        name, equals, value = item.partition("=")
        if equals and option is not None:
            found.add(name.strip(), value, option.source, option.span)
        elif item.strip() not in ("ALL", "") and option is not None:
            job.wants.left(option._replace(value=item), "a Step gets the variables that its contract names")
    job.secrets = tuple(found.secrets)
    return found.pairs()


def _expanded(step: Step, job: Job, ids: Ids, *, known: dict[str, str], notes: Notes) -> list[Step]:
    option = job.options.get("array")
    found = job.wants.value("array", slurmvalues.array, "not a list of indices, or too long a one")
    used = _slurm_variables(job, notes)
    if found is None or option is None:
        env = (*step.env, *_given(used, known, job, notes))
        return [step._replace(id=ids.give(job.name), name=job.name, env=env)]
    indices, most = found
    if most:
        job.wants.left(
            option._replace(value=f"%{most}"), "how many run at a time follows from their resources"
        )
    steps = []
    whole = {
        "SLURM_ARRAY_TASK_COUNT": str(len(indices)),
        "SLURM_ARRAY_TASK_MIN": str(min(indices)),
        "SLURM_ARRAY_TASK_MAX": str(max(indices)),
    }
    for index in indices:
        more = {**known, "SLURM_ARRAY_TASK_ID": str(index), **whole}
        env = (*step.env, *_given({*used, "SLURM_ARRAY_TASK_ID"}, more, job, notes))
        label = f"{job.name}-{index}"
        steps.append(step._replace(id=ids.give(label), name=label, env=env))
    return steps


def _given(used: set[str], known: dict[str, str], job: Job, notes: Notes) -> tuple[tuple[str, str], ...]:
    """Variables of Slurm that the script uses and a Step can be given; the others are told."""
    for name in sorted(used - known.keys()):
        if job.script is not None:
            notes.open(job.script.source, job.script.commands, name, "a variable that only Slurm sets")
    return tuple((name, known[name]) for name in known if name in used)


def _slurm_variables(job: Job, notes: Notes) -> set[str]:
    """Variables of Slurm that the commands use; programs of Slurm are told."""
    if job.script is None:
        return set()
    source, (start, _) = job.script.source, job.script.commands
    text = source.text
    for name, span in command_words(text, start, _PROGRAMS):
        leave = notes.left if name in _THERE else notes.open
        leave(source, span, name, _PROGRAMS[name])
    if job.call is None or len(job.call.words) < 2:
        for name, span in arguments(text, start):
            notes.open(source, span, f"${name}", "an argument of the script, which is not given")
    found: set[str] = set()
    at = text.find(PREFIX, start)
    while at >= 0:
        end = at
        while end < len(text) and text[end] in _LETTERS:
            end += 1
        if text[at - 1 : at] in ("$", "{"):
            found.add(text[at:end])
        at = text.find(PREFIX, end)
    return found
