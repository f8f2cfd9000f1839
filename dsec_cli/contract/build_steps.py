"""The Steps, tasks and iterations of a contract, from the checker's values."""

from __future__ import annotations

from dsec.units import Duration
from dsec_cli.contract import words
from dsec_cli.contract.canonical import canonical_json
from dsec_cli.contract.check import Command
from dsec_cli.contract.complaints import shown
from dsec_cli.contract.read import (
    bandwidth,
    byte_rate,
    counts,
    cpu_m,
    duration,
    flag,
    flop_rate,
    gpu,
    gpu_memory,
    items,
    placed_texts,
    section,
    size,
    text,
    whole,
)
from dsec_cli.contract.values import Demand, Gpu, Iterations, Layer, Link, Need, Retries, Run, Step
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.source.resolve import plain_value
from dsec_cli.source.tree import Mapping, Path
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.check import Values
    from dsec_cli.contract.memory import Memory

_SHELLS_WORDS: dict[str, str] = {
    "No closing quotation": say("No closing quotation"),
    "No escaped character": say("No escaped character"),
}
"""What the library that splits commands says of them."""
BACKOFF = Duration(10**9)
FACTOR = 2


def steps(values: Values, findings: list[Finding], *, whole: bool, memory: Memory | None) -> tuple[Step, ...]:
    """Steps, then tasks; one whose id cannot be read is left out, as nothing can name it.

    `whole`: all of the text could be read, so what is not there is missing.
    """

    def make(item: Values, at: Path) -> Step | None:
        return _step(item, at, findings, whole=whole)

    if memory is None:
        stated = [make(item, at) for at, item in items(values, "steps")]
    else:
        stated = [memory.step(item, at, make, findings) for at, item in items(values, "steps")]
    tasks = (_task(item, at, findings) for at, item in items(values, "tasks"))
    return tuple(step for step in (*stated, *tasks) if step is not None)


def _step(stated: Values, at: Path, findings: list[Finding], *, whole: bool) -> Step | None:
    name = text(stated, "id")
    if name is None:
        return None
    return Step(
        path=at,
        id=name,
        name=text(stated, "name"),
        kind="step",
        run=_run(stated, at, findings, whole=whole),
        args=_arguments(stated, at, findings),
        worker=text(stated, "worker"),
        env=_environment(stated),
        cwd=text(stated, "cwd"),
        needs=_needs(stated, at),
        demand=_demand(section(stated, "resources"), at),
        level=text(stated, "level"),
        timeout=duration(stated, "timeout"),
        grace=duration(stated, "checkpoint_grace_period"),
        retries=_retries(stated),
        inputs=placed_texts(stated, "inputs", at),
        outputs=placed_texts(stated, "outputs", at),
        expect=duration(stated, "expected_duration"),
        break_cycle=flag(stated, "break_cycle") or False,
        break_point=text(stated, "break_point"),
        layers=_layers(stated) if "layers" in stated else (),
        all_reduce=text(stated, "all_reduce"),
        because=(),
        checkpoint_cmd=text(stated, "checkpoint_cmd"),
        shell=text(stated, "shell"),
    )


def _task(stated: Values, at: Path, findings: list[Finding]) -> Step | None:
    name = text(stated, "name")
    if name is None:
        return None
    unit = section(stated, "compute_unit") or {}
    outside = "script" in stated
    script = stated.get("script") if outside else unit.get("script")
    where = (*at, "script") if outside else (*at, "compute_unit", "script")
    return Step(
        path=at,
        id=name,
        name=name,
        kind="task",
        run=_command(script, where, findings) if isinstance(script, Command) else None,
        args="{}",
        worker=None,
        env=(),
        cwd=None,
        needs=(),
        demand=_unit_demand(unit, at),
        level=None,
        timeout=duration(stated, "timeout"),
        grace=None,
        retries=None,
        inputs=(),
        outputs=(),
        expect=None,
        break_cycle=False,
        break_point=None,
        layers=(),
        all_reduce=None,
        because=(),
    )


def _run(stated: Values, at: Path, findings: list[Finding], *, whole: bool) -> Run | None:
    """What the Step executes; a Step states exactly one of `run` and `call`."""
    name = text(stated, "id") or ""
    if ("run" in stated) == ("call" in stated):
        if whole or "run" in stated:
            findings.append(_not_one(stated, at, name))
        return None
    if "call" in stated:
        call = text(stated, "call")
        return Run(argv=(), shell=None, call=call) if call else None
    findings.extend(_of_calls_only(stated, at, name))
    run = stated["run"]
    if isinstance(run, Command):
        return _command(run, (*at, "run"), findings)
    argv = tuple(word for word in run if isinstance(word, str)) if isinstance(run, list) else ()
    return Run(argv=argv, shell=None, call=None) if argv else None


def _not_one(stated: Values, at: Path, name: str) -> Finding:
    both = say("both run and call") if "run" in stated else say("neither run nor call")
    return Finding(
        "DS109",
        Severity.ERROR,
        at,
        say(
            "Step {name} has {both}: it must have exactly one of them",
            "exactly-one",
            name=shown(name),
            both=both,
        ),
        help=say("run: a command; call: module:function, served by a resident worker"),
        part="key",
    )


def _of_calls_only(stated: Values, at: Path, name: str) -> Iterator[Finding]:
    """Keys that do nothing for a command."""
    for key in ("args", "worker"):
        if key in stated:
            yield Finding(
                "DS109",
                Severity.ERROR,
                (*at, key),
                say(
                    "Step {name} has {key} but no call: a command is handed nothing by it",
                    "no-call",
                    name=shown(name),
                    key=key,
                ),
                help=say("write the arguments into run, or replace run by call: module:function"),
                part="key",
            )


def _command(command: Command, at: Path, findings: list[Finding]) -> Run | None:
    if command.script:
        return Run(argv=(), shell=command.text, call=None)
    reason: str = say("it has no words")
    try:
        argv = words.split(command.text)
    except ValueError as problem:
        argv, reason = (), _SHELLS_WORDS.get(str(problem), str(problem))
    if argv:
        return Run(argv=argv, shell=None, call=None)
    findings.append(
        Finding(
            "DS104",
            Severity.ERROR,
            at,
            say(
                "{command} cannot be split into words: {reason}",
                "words",
                command=shown(command.text),
                reason=reason,
            ),
            reason=say("a command in one line is split as a shell would, but no shell runs it"),
            help=say("close the quotation, or write the words as a list, or a script as a block (|)"),
        )
    )
    return None


def _arguments(stated: Values, at: Path, findings: list[Finding]) -> str:
    """`args` as canonical JSON: sorted keys, no blanks."""
    node = stated.get("args")
    if not isinstance(node, Mapping):
        return "{}"
    try:
        return canonical_json(plain_value(node))
    except ValueError as problem:
        findings.append(
            Finding(
                "DS104",
                Severity.ERROR,
                (*at, "args"),
                say("args cannot be handed over as JSON: {problem}", "json", problem=problem.args[0]),
                help=say("use text, finite numbers, true, false, lists and mappings with text keys"),
            )
        )
        return "{}"


def _layers(stated: Values) -> tuple[Layer, ...]:
    """The layers in order; none when one of them cannot be read, as those behind it would be renumbered."""
    found = stated["layers"]
    rows = [found] if isinstance(found, dict) else found if isinstance(found, list) else []
    layers: list[Layer] = []
    for row in rows:
        memory = size(row, "memory") if isinstance(row, dict) else None
        if memory is None or ("count" in row and whole(row, "count") is None):
            return ()
        layers.append(Layer(text(row, "name"), memory, whole(row, "count") or 1))
    return tuple(layers)


def _environment(stated: Values) -> tuple[tuple[str, str], ...]:
    env = section(stated, "env") or {}
    return tuple((name, value) for name, value in env.items() if isinstance(value, str))


def _needs(stated: Values, at: Path) -> tuple[Need, ...]:
    found = stated.get("needs")
    needs: list[Need] = []
    for index, item in enumerate(found if isinstance(found, list) else ()):
        path = (*at, "needs", index)
        if isinstance(item, str):
            needs.append(Need(path=path, step=item, carried=False))
        elif isinstance(item, dict) and (step := text(item, "step")):
            needs.append(Need(path=path, step=step, carried=flag(item, "carried") or False))
    return tuple(needs)


def _retries(stated: Values) -> Retries | None:
    value = stated.get("retries")
    if isinstance(value, int):
        return Retries(max=value, backoff=BACKOFF, factor=FACTOR)
    if not isinstance(value, dict) or (most := whole(value, "max")) is None:
        return None
    backoff = duration(value, "backoff")
    return Retries(
        max=most,
        backoff=BACKOFF if backoff is None else backoff,
        factor=whole(value, "factor") or FACTOR,
    )


def _demand(stated: Values | None, at: Path) -> Demand:
    path = at if stated is None else (*at, "resources")
    stated = stated or {}
    return Demand(
        path=path,
        gpu=gpu(stated, path),
        cpu_m=cpu_m(stated),
        memory=size(stated, "memory"),
        disk=size(stated, "disk"),
        pcie=byte_rate(stated, "pcie"),
        network=bandwidth(stated, "network"),
        memory_bandwidth=None,
        fp16_throughput=None,
        nvlink_affinity=text(section(stated, "gpu") or {}, "nvlink_affinity"),
        tokens=counts(stated, "tokens"),
        numa_affinity=text(section(stated, "gpu") or {}, "numa_affinity"),
    )


def _unit_demand(unit: Values, at: Path) -> Demand:
    """A compute unit is one device of its type."""
    path = (*at, "compute_unit") if unit else at
    kind, memory = text(unit, "gpu_type"), gpu_memory(unit, "min_memory")
    rates = flop_rate(unit, "fp16_throughput"), byte_rate(unit, "memory_bandwidth")
    wants_gpu = kind or memory or any(rates)
    return Demand(
        path=path,
        gpu=Gpu(path=path, count=1, memory=memory, type=kind) if wants_gpu else None,
        cpu_m=None,
        memory=None,
        disk=None,
        pcie=None,
        network=None,
        memory_bandwidth=rates[1],
        fp16_throughput=rates[0],
        nvlink_affinity=text(unit, "nvlink_affinity"),
    )


def communication(values: Values) -> tuple[Link, ...]:
    """Data flows between tasks."""
    return _links(values, "communication", ())


def _links(values: Values, key: str, at: Path) -> tuple[Link, ...]:
    links: list[Link] = []
    for path, stated in items(values, key):
        source, target = text(stated, "from"), text(stated, "to")
        if source and target:
            links.append(Link((*at, *path), source, target, text(stated, "protocol")))
    return tuple(links)


def iterations(values: Values) -> Iterations | None:
    """How often the Steps repeat; None when that is not said, or said wrongly."""
    stated = section(values, "iterations")
    count = None if stated is None else whole(stated, "count")
    if stated is None or count is None:
        return None
    staleness = whole(stated, "max_staleness") or 0
    return Iterations(
        path=("iterations",),
        count=count,
        max_staleness=staleness,
        in_flight=whole(stated, "in_flight") or staleness + 2,
        carried=_links(stated, "carried", ("iterations",)),
    )
