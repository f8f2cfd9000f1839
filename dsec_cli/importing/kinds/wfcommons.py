"""WfCommons workflows: JSON in WfFormat 1.5, a recorded or generated execution of a workflow."""

from __future__ import annotations

from dsec_cli.importing.commands import shell_command, words_command
from dsec_cli.importing.draft import Command, Draft, Step
from dsec_cli.importing.kind import ImportProblem, Kind
from dsec_cli.importing.naming import Ids, legal
from dsec_cli.importing.tables import Table, documents, span_of
from dsec_cli.source.tree import Mapping
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.importing.kind import Beside
    from dsec_cli.importing.notes import Notes
    from dsec_cli.source.text import SourceText

_MEASURED = "a measurement, no demand"
_WHY = {
    "avgCPU": _MEASURED,
    "readBytes": _MEASURED,
    "writtenBytes": _MEASURED,
    "energyInKWh": _MEASURED,
    "avgPowerInWatts": _MEASURED,
    "executedAt": _MEASURED,
    "makespanInSeconds": "a measurement of the whole; dsec plan estimates it anew",
    "machines": "machines belong to an inventory, not to a contract",
    "priority": "the planner orders Steps by what waits for them",
    "files": "sizes of files are not declared; the files are inputs and outputs of the Steps",
    "runtimeSystem": "DSec runs the Steps itself",
    "author": "who made the record",
}
_QUIET = ("name", "description", "schemaVersion", "createdAt", "runName", "repo", "category", "type")


class _Files:
    """Who writes which file, so that inputs and outputs never say more than parents do."""

    def __init__(self, tasks: dict[str, Table]) -> None:
        self.writers: dict[str, list[str]] = {}
        for id_, task in tasks.items():
            for name in task.texts("outputFiles"):
                self.writers.setdefault(name, []).append(id_)

    def inputs(self, id_: str, task: Table, parents: tuple[str, ...]) -> tuple[str, ...]:
        """Inputs that no task writes, or one parent."""
        found = []
        for name in task.texts("inputFiles"):
            writers = self.writers.get(name, [])
            if not writers or (len(writers) == 1 and writers[0] in parents):
                found.append(name)
            elif writers != [id_]:
                task.left("inputFiles", "a file that several tasks write, or one that is no parent")
        return _plain(tuple(dict.fromkeys(found)))

    def outputs(self, task: Table) -> tuple[str, ...]:
        """Outputs that no other task writes."""
        names = task.texts("outputFiles")
        found = tuple(dict.fromkeys(name for name in names if len(self.writers[name]) == 1))
        if len(found) < len(set(names)):
            task.left("outputFiles", "a file that several tasks write")
        return _plain(found)


def _plain(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names in which nothing would be filled in."""
    return tuple(name for name in names if name and "{" not in name)


def read(sources: tuple[SourceText, ...], _beside: Beside, notes: Notes) -> Draft:
    """One Step for each task; parents are needs, what was measured is what is expected."""
    source = sources[0]
    roots = documents(source)
    workflow = Table(source, roots[0], notes).table("workflow") if roots else None
    specified = None if workflow is None else workflow.table("specification")
    if workflow is None or specified is None:
        raise ImportProblem(
            say("{name} has no workflow.specification", name=source.name),
            hint="WfFormat 1.5 is read: a JSON object with it",
        )
    top = Table(source, roots[0], notes)
    executed = workflow.table("execution")
    ran = {} if executed is None else _by_id(executed)
    tasks = _by_id(specified)
    steps = _steps(tasks, ran)
    for table in (top, workflow, specified, executed):
        if table is not None:
            table.drop("workflow", "specification", "execution", "tasks")
            table.close(_WHY, _QUIET)
    return Draft(legal(top.text("name") or "", "workflow"), source.name, steps)


def _by_id(table: Table) -> dict[str, Table]:
    found: dict[str, Table] = {}
    for item in table.items("tasks"):
        task = Table(table.source, item, table.notes, label="task") if isinstance(item, Mapping) else None
        id_ = None if task is None else task.text("id")
        if task is None or id_ is None or id_ in found:
            table.notes.left(table.source, span_of(item), "task", "it has no id of its own")
        else:
            found[id_] = task
    return found


def _steps(tasks: dict[str, Table], ran: dict[str, Table]) -> tuple[Step, ...]:
    ids, files = Ids(), _Files(tasks)
    given = {id_: ids.give(id_) for id_ in tasks}
    above = _parents(tasks)
    steps = []
    for id_, task in tasks.items():
        parents = tuple(above[id_])
        step = Step(
            given[id_],
            Command(),
            name="" if given[id_] == id_ else id_,
            needs=tuple(given[parent] for parent in parents),
            inputs=files.inputs(id_, task, parents),
            outputs=files.outputs(task),
        )
        task.close(_WHY, _QUIET)
        steps.append(_measured(step, ran[id_]) if id_ in ran else step)
    for id_ in ran.keys() - tasks.keys():
        ran[id_].left("id", "a task that the specification does not have")
    return tuple(steps)


def _parents(tasks: dict[str, Table]) -> dict[str, list[str]]:
    """Parents of each task: as it says, and as their lists of children say."""
    found: dict[str, dict[str, None]] = {id_: {} for id_ in tasks}
    for id_, task in tasks.items():
        for key, names in (("parents", task.texts("parents")), ("children", task.texts("children"))):
            for name in names:
                if name not in tasks:
                    task.left(key, "names a task that there is not")
                else:
                    child, parent = (id_, name) if key == "parents" else (name, id_)
                    found[child][parent] = None
    return {id_: list(parents) for id_, parents in found.items()}


def _measured(step: Step, task: Table) -> Step:
    seconds, cores, memory = (
        task.number("runtimeInSeconds"),
        task.number("coreCount"),
        task.number("memoryInBytes"),
    )
    if seconds is not None:
        step = step._replace(expected_ns=min(round(seconds * 1000), 10**13) * 10**6)
    if cores:
        step = step._replace(cpu_m=min(round(cores * 1000), 10**9))
    if memory:
        task.notes.taken("memory: what the task was measured to use")
        step = step._replace(memory_bytes=round(memory))
    step = step._replace(command=_command(task))
    task.close(_WHY, _QUIET)
    return step


def _command(task: Table) -> Command:
    table = task.table("command")
    if table is None:
        return Command()
    program, arguments = table.text("program") or "", table.texts("arguments")
    where = table.source, table.span("program"), table.notes
    if "\n" in program.strip() or (program and not arguments and len(program.split()) > 1):
        found = shell_command(program, *where)
    else:
        found = words_command((program, *arguments), *where) if program.strip() else Command()
    table.close({})
    return found


KIND = Kind("wfcommons", "a workflow of WfCommons (WfFormat 1.5, JSON)", read)
