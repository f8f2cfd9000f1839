"""SkyPilot tasks: `setup` and `run` become two Steps; several documents are a chain of tasks."""

from __future__ import annotations

from dsec import cards
from dsec_cli.importing.cardnames import gpu_type
from dsec_cli.importing.commands import Environment, shell_command
from dsec_cli.importing.draft import Command, Draft, Gpu, Mount, Step
from dsec_cli.importing.kind import ImportProblem, Kind
from dsec_cli.importing.naming import Ids, legal
from dsec_cli.importing.quantities import at_least, binary_size, decimal, thousandths
from dsec_cli.importing.tables import Table, documents
from dsec_cli.source.tree import Mapping, Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.importing.kind import Beside
    from dsec_cli.importing.notes import Notes
    from dsec_cli.source.text import SourceText

_CLOUD = "which machine is rented is the cloud's; a plan is made for machines that are there"
_WHY = {
    "service": "serving is no job with an end",
    "config": "settings of SkyPilot",
    "event_callback": "nobody is called; dsec report tells of a run",
    "inputs": "estimates for the choice of a cloud",
    "outputs": "estimates for the choice of a cloud",
    "volumes": "a volume of a cluster",
    "pool": "a pool of SkyPilot",
    "cloud": _CLOUD,
    "infra": _CLOUD,
    "region": _CLOUD,
    "zone": _CLOUD,
    "instance_type": "what the machine has is not written in the file: state cpu, memory and gpu",
    "use_spot": "machines are not taken away from a plan; fault_tolerance says what may be done to the job",
    "spot_recovery": "a run goes on with dsec resume",
    "job_recovery": "a run goes on with dsec resume",
    "disk_tier": _CLOUD,
    "network_tier": _CLOUD,
    "ports": "nothing is opened to the outside",
    "image_id": "an image of a machine is no environment of a Step",
    "accelerator_args": "software of another accelerator",
    "any_of": "a contract asks for one thing: the first",
    "ordered": "a contract asks for one thing: the first",
    "labels": "labels of a cloud",
    "autostop": "a run ends with its last Step",
    "priority": "Steps are ordered by what waits for them",
}
_NODES = ("SKYPILOT_NODE_RANK", "SKYPILOT_NODE_IPS", "SKYPILOT_NUM_NODES", "SKYPILOT_NUM_GPUS_PER_NODE")


def read(sources: tuple[SourceText, ...], _beside: Beside, notes: Notes) -> Draft:
    """The Steps of one task, or of a chain of tasks, each of which waits for the one before."""
    source = sources[0]
    tables = [Table(source, root, notes) for root in documents(source)]
    titled = len(tables) > 1 and not {"run", "setup", "resources"} & tables[0].rows.keys()
    title = tables[0].text("name") if tables else None
    tasks = tables[1:] if titled else tables
    if not any({"run", "setup"} & task.rows.keys() for task in tasks):
        raise ImportProblem(
            say("{name} has neither setup nor run", name=source.name), hint="is it a task of SkyPilot?"
        )
    ids, variables, mounts = Ids(), Environment(notes), _Mounts()
    steps: list[Step] = []
    for at, task in enumerate(tasks):
        steps += _task(task, ids, variables, mounts=mounts, before=steps[-1:], alone=len(tasks) == 1, at=at)
    last = source.name.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    return Draft(
        legal(title or last, "task"),
        source.name,
        tuple(steps),
        secrets=tuple(variables.secrets),
        mounts=tuple(mounts.found.values()),
    )


class _Mounts:
    """Mounts of all tasks by path."""

    def __init__(self) -> None:
        self.found: dict[str, Mount] = {}


def _task(
    task: Table,
    ids: Ids,
    variables: Environment,
    *,
    mounts: _Mounts,
    before: list[Step],
    alone: bool,
    at: int,
) -> list[Step]:
    name = task.text("name") or ("run" if alone else f"task-{at + 1}")
    held = _resources(task)
    env = _variables(task, variables)
    folder = _folder(task)
    _mounts(task, mounts)
    nodes = task.number("num_nodes")
    if nodes is not None and nodes > 1:
        task.open("num_nodes", "a Step runs on one machine: commands run once, not on every node")
    needs = tuple(step.id for step in before)
    steps = []
    for key in ("setup", "run"):
        text = task.text(key)
        if text is None or not text.strip():
            continue
        command = shell_command(text, task.source, task.span(key), task.notes)
        for variable in _NODES:
            if variable in text:
                task.notes.open(task.source, task.span(key), variable, "a variable that only SkyPilot sets")
        label = name if key == "run" else ("setup" if alone else f"{name}-setup")
        step = held._replace(command=command, needs=needs, env=env, cwd=folder)
        if key == "setup":
            step = step._replace(gpu=None)
        steps.append(step._replace(id=ids.give(label)))
        needs = (steps[-1].id,)
    task.close(_WHY)
    return steps


def _folder(task: Table) -> str:
    node = task.take("workdir")
    if isinstance(node, Scalar):
        if node.text.startswith("~"):
            task.left("workdir", "a folder below the home, which a contract cannot name: start it there")
            return ""
        return "" if node.text in (".", "./") else node.text
    if node is not None:
        task.open("workdir", "sources that are fetched: check them out first")
    return ""


def _variables(task: Table, found: Environment) -> tuple[tuple[str, str], ...]:
    """Variables of the task; secrets are common to all, as names."""
    own = Environment(task.notes)
    for key in ("envs", "secrets"):
        table = task.table(key)
        for name in () if table is None else tuple(table.rows):
            value = table.text(name) if table is not None else None
            span = task.span(key) if table is None else table.span(name)
            if key == "secrets":
                own.secret(name, task.source, span)
            elif value is None:
                own.from_outside(name, task.source, span)
            else:
                own.add(name, value, task.source, span)
    found.secrets.update(own.secrets)
    return own.pairs()


def _mounts(task: Table, mounts: _Mounts) -> None:
    table = task.table("file_mounts")
    if table is None:
        return
    for path in tuple(table.rows):
        value = table.take(path)
        mount = Mount(path, value.text) if isinstance(value, Scalar) else None
        if isinstance(value, Mapping):
            mount = _stored(path, Table(task.source, value, task.notes, label=f"file_mounts.{path}"))
        if mount is not None and path and mount.source:
            mounts.found.setdefault(path, mount)
        else:
            table.left(path, "a mount needs a path and a source")


def _stored(path: str, table: Table) -> Mount:
    """A bucket: by its source, or by its name in a store."""
    source, name, store = table.text("source"), table.text("name"), (table.text("store") or "s3").lower()
    if source is None and name is not None:
        source = f"{store}://{name}"
    writable = (table.text("mode") or "MOUNT").upper().startswith("MOUNT")
    table.close({"persistent": "what is kept in a bucket is the bucket's"})
    return Mount(path, source or "", writable)


def _resources(task: Table) -> Step:
    step = Step("", Command())
    table = task.table("resources")
    if table is None:
        return step
    first = next((key for key in ("any_of", "ordered") if key in table.rows), "")
    if first:
        choices = [item for item in table.items(first) if isinstance(item, Mapping)]
        table.left(first, _WHY[first])
        if choices:
            inner = Table(task.source, choices[0], task.notes, label=f"resources.{first}")
            step = _held(inner, step)
            inner.close(_WHY)
    step = _held(table, step)
    table.close(_WHY)
    return step


def _held(table: Table, step: Step) -> Step:
    gpu = _gpu(table) or step.gpu
    cpu_m = _amount(table, "cpus", thousandths) or step.cpu_m
    memory = _memory(table, cpu_m) or step.memory_bytes
    disk = _amount(table, "disk_size", _gigabytes)
    return step._replace(
        gpu=gpu,
        cpu_m=cpu_m,
        memory_bytes=memory,
        disk_bytes=disk or step.disk_bytes,
    )


def _amount(table: Table, key: str, read: Callable[[str], int | None]) -> int | None:
    text = table.text(key)
    if text is None:
        return None
    number, more = at_least(text)
    found = read(number)
    if found is None:
        table.left(key, "not a number")
    elif more:
        table.notes.taken(say("{key}: {number}+ is {number}, the least that will do", key=key, number=number))
    return found


def _memory(table: Table, cpu_m: int | None) -> int | None:
    """GB by default, `64+`, or `4x` the number of processors."""
    text = (table.text("memory") or "").strip()
    if text.endswith("x") and cpu_m is not None and (times := decimal(text[:-1])):
        return round(times * cpu_m / 1000 * 2**30)
    return _amount(table, "memory", _gigabytes)


def _gigabytes(text: str) -> int | None:
    number = decimal(text)
    return binary_size(text) if number is None else round(number * 2**30) or None


def _gpu(table: Table) -> Gpu | None:
    """`A100:8`, `{A100: 8}`, or several of which the first is taken."""
    node = table.take("accelerators")
    found: list[tuple[str, str]] = []
    if isinstance(node, Scalar):
        found = [_split(node.text)]
    elif isinstance(node, Mapping):
        inner = Table(table.source, node, table.notes, label="accelerators")
        found = [_counted(name, inner.text(name)) for name in inner.rows]
    elif node is not None:
        found = [_split(text) for text in table.texts("accelerators")]
    if not found:
        return None
    name, text = found[0]
    if len(found) > 1:
        name = _least(table, found) or name
    number = decimal(text)
    if number is None or number <= 0 or not name:
        table.open("accelerators", "NAME:NUMBER is expected")
        return None
    if name.lower().startswith(("tpu", "inferentia", "trainium", "gaudi")):
        table.left("accelerators", "no GPU")
        return None
    if number != int(number):
        table.left("accelerators", "a part of a GPU: a whole one is taken; state gpu.memory to share it")
    return Gpu(max(1, int(number)), gpu_type(name, table.source, table.span("accelerators"), table.notes))


def _counted(name: str, number: str | None) -> tuple[str, str]:
    """`{H100: 8}`, or an item of the set `{H100:8, H200:8}`."""
    return _split(name) if number is None else (name, number)


def _least(table: Table, found: list[tuple[str, str]]) -> str:
    """The form that accepts every one of several types, where there is one; else that the first is taken."""
    names = [name for name, _ in found]
    if len({number for _, number in found}) == 1:
        for name in names:
            accepted = cards.resolve(f">={name.lower()}")
            if all(set(cards.resolve(other)) <= set(accepted) for other in names if cards.resolve(other)):
                listed = " or ".join(names)
                table.notes.taken(say("gpu type: >={name}, for {listed}", name=name.lower(), listed=listed))
                return f">={name}"
    table.left("accelerators", "any of several: the first is taken")
    return ""


def _split(text: str) -> tuple[str, str]:
    name, _, number = text.partition(":")
    return name.strip(), number.strip() or "1"


KIND = Kind("skypilot", "a task of SkyPilot (YAML with resources, setup and run)", read)
