"""Compose files: a Step for each service, with its GPU reservations and what it depends on."""

from __future__ import annotations

import shlex

from dsec_cli.importing.commands import Environment, shell_command, words_command
from dsec_cli.importing.composevalues import fill
from dsec_cli.importing.draft import Command, Draft, Gpu, Step
from dsec_cli.importing.kind import ImportProblem, Kind
from dsec_cli.importing.naming import Ids, legal
from dsec_cli.importing.quantities import binary_size, thousandths
from dsec_cli.importing.shellwords import split_line
from dsec_cli.importing.tables import Table, documents, span_of
from dsec_cli.lint.rules.variable_not_expanded import reference
from dsec_cli.source.tree import Mapping, Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.importing.kind import Beside
    from dsec_cli.importing.notes import Notes
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Node

_NETWORK = "a Step shares the network of the machine"
_CONTAINER = "a Step is a process, not a container"
_WHY = {
    "build": "nothing is built: prepare the environment first",
    "ports": _NETWORK,
    "expose": _NETWORK,
    "networks": _NETWORK,
    "network_mode": _NETWORK,
    "hostname": _NETWORK,
    "extra_hosts": _NETWORK,
    "dns": _NETWORK,
    "links": _NETWORK,
    "volumes": "a Step sees the files of the machine: use paths of the machine in its command",
    "tmpfs": "a Step sees the files of the machine: use paths of the machine in its command",
    "healthcheck": "a Step is done when it ends; none waits for another to be healthy",
    "env_file": "variables of another file: write them into env",
    "secrets": "write env_vars with a source",
    "configs": "a Step sees the files of the machine",
    "profiles": "every Step of a run runs",
    "ulimits": _CONTAINER,
    "shm_size": _CONTAINER,
    "ipc": _CONTAINER,
    "pid": _CONTAINER,
    "privileged": _CONTAINER,
    "cap_add": _CONTAINER,
    "cap_drop": _CONTAINER,
    "security_opt": _CONTAINER,
    "user": _CONTAINER,
    "devices": _CONTAINER,
    "tty": _CONTAINER,
    "stdin_open": _CONTAINER,
    "init": _CONTAINER,
    "runtime": "whether the service uses GPUs, and how many, is not written: state gpu",
    "container_name": _CONTAINER,
    "platform": _CONTAINER,
    "logging": "what a Step prints is kept by the run",
    "labels": "labels of containers",
    "extends": "a service of another place: write out what it has",
    "stop_signal": "a Step is sent SIGTERM",
    "pull_policy": "images are not pulled",
    "include": "other files are not read",
    "replicas": "a Step runs once",
    "scale": "a Step runs once",
    "mode": "a Step runs once",
    "placement": "a plan places Steps by what they need",
    "limits": "what a service may not exceed is no demand",
    "update_config": "a Step runs once",
}
_NEEDED = ("build", "env_file", "extends", "include", "runtime", "secrets")
"""Keys without which a service cannot do what it does."""
_EXPANDED = ("command", "entrypoint")
"""Keys whose variables a shell expands when the Step starts."""
_QUIET = ("version", "name", "services")
_ALL = "all GPUs are as many as the machine has: 1 is taken, write the number"
_RESTARTS = {"no": 0, "on-failure": 3, "always": 3, "unless-stopped": 3, "none": 0, "any": 3}


def read(sources: tuple[SourceText, ...], _beside: Beside, notes: Notes) -> Draft:
    """One Step for each service; every value the file leaves open is told."""
    source = sources[0]
    roots = documents(source)
    top = Table(source, roots[0], notes) if roots else None
    services = None if top is None else top.table("services")
    if top is None or services is None:
        raise ImportProblem(
            say("{name} has no services", name=source.name), hint="a compose file has the key services"
        )
    services.label = ""
    ids, secrets, images = Ids(), Environment(notes), dict[str, None]()
    tables = dict(services.tables())
    given = {name: ids.give(name) for name in tables}
    steps = [_service(name, table, given, secrets=secrets, images=images) for name, table in tables.items()]
    if len(images) > 1:
        services.notes.left(
            source, top.span("services"), "image", "services of several images: a contract has one base"
        )
    top.close(_WHY, _QUIET, needed=("include",))
    folder = source.name.replace("\\", "/").rpartition("/")[0].rpartition("/")[2]
    return Draft(
        legal(top.text("name") or folder, "services"),
        source.name,
        tuple(steps),
        base=next(iter(images)) if len(images) == 1 else "",
        secrets=tuple(secrets.secrets),
    )


def _service(
    name: str, table: Table, given: dict[str, str], *, secrets: Environment, images: dict[str, None]
) -> Step:
    table.label = name
    image = _text(table, "image")
    if image:
        images[image] = None
    step = Step(
        given[name],
        _command(table),
        name="" if given[name] == name else name,
        needs=_needs(table, given),
        env=_environment(table, secrets),
        cwd=_text(table, "working_dir"),
        retries=_retries(table),
    )
    if step.cwd:
        table.open("working_dir", "a folder of the image: write one of the machine")
    step = _demands(table, step)
    _volumes(table, step)
    table.close(_WHY, needed=_NEEDED)
    return step


def _volumes(table: Table, step: Step) -> None:
    """Folders of the container: what the command names of them is not there."""
    told = "\n".join((step.command.line, step.command.script, *step.command.argv, *dict(step.env).values()))
    for item in table.items("volumes"):
        if isinstance(item, Scalar):
            target = (item.text.split(":")[1:2] or [item.text])[0]
        else:
            named = Table(table.source, item, table.notes) if isinstance(item, Mapping) else None
            target = (named.text("target") if named is not None else None) or ""
        if len(target) > 1 and target in told:
            why = say(
                "the command names {path}, a folder of the container: use one of the machine", path=target
            )
            table.open("volumes", why)
            return
    if "volumes" in table.rows:
        table.left("volumes", _WHY["volumes"])


def _fill(table: Table, key: str, text: str) -> str:
    filled, unknown = fill(text)
    for name in unknown:
        why = "its value is in the environment that compose is started in"
        leave = table.notes.left if key in _EXPANDED else table.notes.open
        leave(table.source, table.span(key), f"{table.label}.{key}: ${{{name}}}", why)
    return filled


def _text(table: Table, key: str) -> str:
    text = table.text(key)
    return "" if text is None else _fill(table, key, text)


def _words(table: Table, key: str) -> tuple[str, ...]:
    """A list of words, or a line that is split as a shell would, but read by none."""
    node = table.take(key)
    if not isinstance(node, Scalar):
        return tuple(_fill(table, key, text) for text in table.texts(key))
    line = _fill(table, key, node.text)
    try:
        return tuple(split_line(line))
    except ValueError:
        table.left(key, "a line that cannot be split into words")
        return ()


def _command(table: Table) -> Command:
    entry, words = _words(table, "entrypoint"), _words(table, "command")
    if not entry and not words:
        table.open(
            "command" if "command" in table.rows else "image", "the command is in the image, not in the file"
        )
        return Command()
    if not entry and words[0].startswith("-"):
        table.open("command", "the program that takes these options is in the image: write it in front")
    elif not entry and "image" in table.rows:
        table.notes.taken(
            "run: the image has no entrypoint of its own, where a service names only its command"
        )
    where = table.source, table.span("command" if words else "entrypoint"), table.notes
    line = " ".join(map(_quoted, (*entry, *words)))
    if reference(line) is not None:  # a shell expands what compose would have
        return shell_command(line, *where)
    return words_command((*entry, *words), *where)


def _quoted(word: str) -> str:
    """A word for a shell that still expands `${NAME}` in it."""
    if reference(word) is None:
        return shlex.quote(word)
    for sign in ("\\", '"', "`"):
        word = word.replace(sign, f"\\{sign}")
    return f'"{word}"'


def _needs(table: Table, given: dict[str, str]) -> tuple[str, ...]:
    node = table.take("depends_on")
    found: dict[str, str] = {}
    if isinstance(node, Mapping):
        inner = Table(table.source, node, table.notes, label=f"{table.label}.depends_on")
        for name, row in inner.tables():
            found[name] = row.text("condition") or "service_started"
            row.close({"restart": "a Step is not started again because another one was"}, ("required",))
    elif node is not None:
        found = dict.fromkeys(table.texts("depends_on"), "service_started")
    for name, condition in found.items():
        if name not in given:
            table.notes.left(
                table.source, table.span("depends_on"), f"depends_on {name}", "there is no such service"
            )
        elif condition != "service_completed_successfully":
            why = say(
                "{condition}: a Step waits until the other one has ended, which a server never does",
                condition=condition,
            )
            table.notes.open(table.source, table.span("depends_on"), f"{table.label}.depends_on {name}", why)
    return tuple(given[name] for name in found if name in given)


def _environment(table: Table, secrets: Environment) -> tuple[tuple[str, str], ...]:
    """`environment` as a mapping or a list of NAME=VALUE."""
    own = Environment(table.notes)
    node = table.take("environment")
    rows: list[tuple[str, str | None, Node]] = []
    if isinstance(node, Mapping):
        inner = Table(table.source, node, table.notes, label=f"{table.label}.environment")
        rows = [(name, inner.text(name), pair.key_node) for name, pair in inner.rows.items()]
    else:
        for item in table.items("environment"):
            if isinstance(item, Scalar):
                name, equals, text = item.text.partition("=")
                rows.append((name, text if equals else None, item))
    for name, value, at in rows:
        span = span_of(at)
        if value is None:
            own.from_outside(name, table.source, span)
        else:
            own.add(name, fill(value)[0], table.source, span)
    secrets.secrets.update(own.secrets)
    return own.pairs()


def _retries(table: Table) -> int:
    text = _text(table, "restart")
    policy, _, most = text.partition(":")
    if not text:
        return 0
    if policy not in _RESTARTS:
        table.left("restart", "no, on-failure, always or unless-stopped is expected")
        return 0
    count = int(most) if most.isdecimal() and len(most) < 4 else _RESTARTS[policy]
    if count and not most:
        table.notes.taken(say("retries: {count}, where a service is restarted without end", count=count))
    return count


def _demands(table: Table, step: Step) -> Step:
    deploy = table.table("deploy")
    resources = None if deploy is None else deploy.table("resources")
    reserved = None if resources is None else resources.table("reservations")
    if reserved is not None:
        cpus, memory = reserved.text("cpus"), reserved.text("memory")
        step = step._replace(
            gpu=_gpus(reserved, "devices"),
            cpu_m=_read(reserved, "cpus", cpus, thousandths),
            memory_bytes=_read(reserved, "memory", memory, binary_size),
        )
        reserved.close({"generic_resources": "a contract knows GPUs, processors, memory and disk"})
    for inner in (resources, deploy):
        if inner is not None:
            inner.close({**_WHY, "restart_policy": "restart of the service counts"})
    cpu_m = step.cpu_m or _read(table, "cpus", table.text("cpus"), thousandths)
    memory_bytes = step.memory_bytes or _read(
        table, "mem_reservation", table.text("mem_reservation"), binary_size
    )
    return step._replace(cpu_m=cpu_m, memory_bytes=memory_bytes, gpu=step.gpu or _gpus(table, "gpus"))


def _read(table: Table, key: str, text: str | None, read: Callable[[str], int | None]) -> int | None:
    if text is None:
        return None
    found = read(_fill(table, key, text))
    if found is None:
        table.left(key, "not an amount")
    return found


def _gpus(table: Table, key: str) -> Gpu | None:
    """GPUs of a list of devices; compose names no type, and `all` is no number."""
    count = 0
    for item in table.items(key):
        if isinstance(item, Scalar):
            table.open(key, _ALL)
            count += 1
            continue
        if not isinstance(item, Mapping):
            continue
        device = Table(table.source, item, table.notes, label=f"{table.label}.{key}")
        wanted = device.texts("capabilities")
        if "gpu" not in wanted and device.text("driver") != "nvidia" and key == "devices":
            device.left("capabilities", "it is no GPU")
            continue
        count += _count(device)
        device.close({"options": "options of the driver"}, ("driver", "capabilities"))
    if not count:
        return None
    table.notes.left(
        table.source, table.span(key), f"{table.label}.{key}", "no GPU type: write one, it is never guessed"
    )
    return Gpu(count)


def _count(device: Table) -> int:
    named = tuple(_fill(device, "device_ids", text) for text in device.texts("device_ids"))
    if named:
        device.left("device_ids", "which GPUs is decided by the plan; their number is kept")
        return len(named)
    text = device.text("count")
    text = text if text is None else _fill(device, "count", text).strip()
    if text is not None and text.isdecimal() and 0 < int(text[:6]) < 10_000:
        return int(text[:6])
    device.open("count", _ALL)
    return 1


KIND = Kind("compose", "a compose file (services)", read)
