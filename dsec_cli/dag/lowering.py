"""Steps of a contract lowered to Steps of a plan: defaults filled in, reasons written, keys computed."""

from __future__ import annotations

from dsec.hashing import blake3_of, framed
from dsec.plan import Command, Edge, PlannedStep, Retries
from dsec.plantext import Texts, command_text, quoted, written, written_steps
from dsec.record import Record
from dsec.units import Duration
from dsec_cli.dag.analysis import worker_of
from dsec_cli.dag.demand import gpu_type_text
from dsec_cli.dag.tolerance import LEVEL, contract_level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsec.plan import Demand, Placement, Source
    from dsec_cli.contract.values import Contract, EnvVar, Step
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.cycles import Order
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.source.tree import Path

    _Times = tuple[int, str, int, int]
    """Estimate and its source, rank, slack."""
    _Does = tuple[str, str, tuple[tuple[str, str], ...], int, str, tuple[str, ...], tuple[str, ...]]
    """Command, folder, variables, number of GPUs, id, inputs, outputs."""

GRACE = Duration(10 * 10**9)
"""Between TERM and KILL where the contract states no checkpoint_grace_period."""
_DOMAIN = framed(b"dsec.step/1")
_NO_GPU = "cpu only: no GPU asked for"
NO_RETRIES = Retries(max=0, backoff_ms=0, factor=1)


class Decided(Record):
    """What the compiler has settled before Steps are written down."""

    order: Order
    contract: Contract
    found: Analysis
    places: Sequence[Placement]
    locate: Callable[[Path], Source]


def lowered(decided: Decided) -> tuple[PlannedStep, ...]:
    """The plan's Steps, in topological order."""
    graph, found, texts = decided.order.graph, decided.found, Texts()
    write, needs = _Writer(decided, texts), _needs(graph, decided)
    planned: list[PlannedStep] = []
    commands: list[str] = []
    for at in decided.order.sequence:
        step, command = write.step(
            graph.steps[at],
            needs[at],
            found.demands[at],
            decided.places[at],
            (*found.estimates[at], found.ranks_ms[at], found.slacks_ms[at]),
        )
        planned.append(step)
        commands.append(command)
    return written_steps(planned, texts, commands)


class _Writer:
    """Writes Steps down; each after those that it waits for."""

    def __init__(self, decided: Decided, texts: Texts) -> None:
        contract = decided.contract
        self._texts, self._locate = texts, decided.locate
        self._keys: dict[str, bytes] = {}
        """By Step, its key as others are hashed over it."""
        self._hasher = blake3_of()
        self._reasons = _Reasons(decided)
        self._env = _env(contract.env_vars)
        self._grace_ms, self._level = _grace_ms(contract), contract_level(contract)

    def step(
        self, step: Step, needs: tuple[Edge, ...], demand: Demand, place: Placement, times: _Times
    ) -> tuple[PlannedStep, str]:
        """One Step, and the text of its command."""
        env, retries, ms = step.env, step.retries, step.timeout
        env = tuple(sorted({**dict(self._env), **dict(env)}.items())) if env else self._env
        inputs = tuple([text for _, text in step.inputs]) if step.inputs else ()
        outputs = tuple([text for _, text in step.outputs]) if step.outputs else ()
        command, cwd, name = _command(step), step.cwd or ".", step.id
        command_as_text = command_text(command)
        key = self._key((command_as_text, cwd, env, demand.gpu_count, name, inputs, outputs), needs)
        # In the order of the fields: naming 21 of them takes longer than all that is computed here.
        planned = PlannedStep._make(
            (
                name,
                step.name or "",
                command,
                env,
                cwd,
                needs,
                demand,
                step.level or self._level,
                ms.ms if ms is not None else 0,
                step.grace.ms if step.grace else self._grace_ms,
                NO_RETRIES if retries is None else Retries(retries.max, retries.backoff.ms, retries.factor),
                inputs,
                outputs,
                place,
                *times,
                self._reasons.of(step, needs, demand, place, times[1]),
                key,
                self._locate(step.path),
            )
        )
        return planned, command_as_text

    def _key(self, does: _Does, needs: tuple[Edge, ...]) -> str:
        """Merkle key: what decides the Step's result, and the keys of what it waits for.

        Demands, timeouts and places are left out: a Step that is given more memory does the same
        work. The number of GPUs stays in, because the Step sees it.
        """
        command, cwd, env, gpus, name, inputs, outputs = does
        lists, variables, keys, carried = self._texts.lists, self._texts.variables, self._keys, "[]"
        before = [step for step, kind, _, _ in needs if kind != "carried"]
        before.sort()
        if len(before) < len(needs):
            carried = written(
                sorted([(edge.step, edge.staleness) for edge in needs if edge.kind == "carried"])
            )
        own = (
            f'{{"carried":{carried},"command":{command},"cwd":{self._texts.words[cwd]}'
            f',"env":{variables.get(id(env)) or variables.of(env)}'
            f',"gpu_count":{gpus:d},"id":{quoted(name)},"inputs":{lists[inputs] if inputs else "[]"}'
            f',"outputs":{lists[outputs] if outputs else "[]"}}}'
        ).encode()
        parts = [_DOMAIN, len(own).to_bytes(8, "little"), own]
        parts += [keys[other] for other in before]
        key = self._hasher(b"".join(parts)).hexdigest()
        keys[name] = framed(key.encode())
        return key


def _grace_ms(contract: Contract) -> int:
    """What Steps have that state none of their own."""
    tolerance = contract.fault_tolerance
    return ((tolerance.checkpoint_grace_period if tolerance is not None else None) or GRACE).ms


def _command(step: Step) -> Command:
    run = step.run
    if run is None:
        raise AssertionError(f"Step {step.id} has nothing to execute: refused before")
    worker = worker_of(step.worker, run.call, step.id)
    return Command._make((run.argv, run.shell or "", run.call or "", step.args if run.call else "", worker))


def _env(variables: Sequence[EnvVar]) -> tuple[tuple[str, str], ...]:
    """The contract's plain variables, sorted by name; a Step's own go over them."""
    return tuple(
        sorted({one.name: one.value for one in variables if one.name and one.value is not None}.items())
    )


def _needs(graph: StepGraph, decided: Decided) -> list[tuple[Edge, ...]]:
    """Per Step, one edge for each Step it waits for and for each one whose earlier iteration it reads.

    Where several statements make the same edge, the first counts.
    """
    staleness = decided.contract.iterations.max_staleness if decided.contract.iterations is not None else 0
    numbers, locate, make = graph.numbers, decided.locate, Edge._make
    found: list[dict[str, Edge]] = [{} for _ in graph.steps]
    for source, target, kind, path, _ in graph.edges:
        mine = found[numbers[target]]
        if source not in mine:
            mine[source] = make((source, kind, 0, locate(path)))
    needs = [tuple(mine.values()) for mine in found]
    late: dict[int, dict[str, Edge]] = {}
    for edge in graph.carried:
        more = late.setdefault(numbers[edge.target], {})
        if edge.source not in more:
            more[edge.source] = Edge(edge.source, "carried", staleness, locate(edge.path))
    for at, more in late.items():
        needs[at] = (*needs[at], *more.values())
    return needs


class _Reasons:
    """Every decision about Steps that their authors did not take, in words; most Steps share theirs."""

    def __init__(self, decided: Decided) -> None:
        self._contract = decided.contract
        self._cut = {(edge.source, edge.target) for edge in decided.order.graph.cuts}
        self._carried = bool(decided.order.graph.carried)
        tolerance = decided.contract.fault_tolerance
        stated = tolerance is not None and tolerance.level is not None
        self._level = "level: as fault_tolerance.level has it" if stated else f"level: {LEVEL}, the default"
        self._known: dict[tuple[str, bool, str, bool], tuple[str, ...]] = {}

    def of(
        self, step: Step, needs: tuple[Edge, ...], demand: Demand, place: Placement, source: str
    ) -> tuple[str, ...]:
        """Those about one Step."""
        devices = _gpu_reason(step, demand, place, self._contract) if demand.gpu_count else _NO_GPU
        case = devices, step.demand.cpu_m is None, source, step.level is None
        reasons = self._known.get(case)
        if reasons is None:
            reasons = self._known[case] = tuple(self._written(*case))
        carried = [edge for edge in needs if edge.kind == "carried"] if self._carried else ()
        if carried:
            cut = [(edge.step, step.id) in self._cut for edge in carried]
            reasons = (*reasons, *map(_carried_reason, carried, cut))
        return (*reasons, *step.because) if step.because else reasons

    def _written(self, devices: str, no_cpu: bool, source: str, no_level: bool) -> Iterator[str]:
        yield devices
        if no_cpu:
            yield "cpu: one core, as the Step states none"
        if source == "default":
            yield "estimate: 1s, as nothing is declared and nothing was measured"
        if source == "history":
            yield "estimate: median of earlier runs, to two digits"
        if no_level:
            yield self._level


def _gpu_reason(step: Step, demand: Demand, place: Placement, contract: Contract) -> str:
    text = gpu_type_text(step.demand.gpu, contract) or "of any type"
    return f"gpu {text} x{demand.gpu_count}: {place.reason}"


def _carried_reason(edge: Edge, cut: bool) -> str:
    back = edge.staleness + 1
    rounds = "1 iteration" if back == 1 else f"up to {back} iterations"
    return f"carried: reads {edge.step} of {rounds} before" + (" (break_cycle)" if cut else "")
