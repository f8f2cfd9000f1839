"""Steps of a contract lowered to Steps of a plan: defaults filled in, reasons written, keys computed."""

from __future__ import annotations

from dsec.hashing import digest_framed, framed
from dsec.plan import Command, Edge, PlannedStep, Retries
from dsec.plantext import Texts, quoted, strings, written, written_steps
from dsec.record import Record
from dsec.units import Duration
from dsec_cli.dag.analysis import worker_of
from dsec_cli.dag.demand import gpu_type_text
from dsec_cli.dag.tolerance import LEVEL, level_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dsec.plan import Demand, Placement, Source
    from dsec_cli.contract.values import Contract, EnvVar, Step
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.cycles import Order
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.source.tree import Path

GRACE = Duration(10 * 10**9)
"""Between TERM and KILL where the contract states no checkpoint_grace_period."""
_DOMAIN = framed(b"dsec.step/1")
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
    graph, contract, found = decided.order.graph, decided.contract, decided.found
    needs = _needs(graph, decided)
    cut = {(edge.source, edge.target) for edge in graph.cuts}
    shared = _env(contract.env_vars)
    grace_ms = _grace_ms(contract)
    keys: dict[str, bytes] = {}
    texts = Texts()
    reasons = _Reasons(decided, cut)
    planned: list[PlannedStep] = []
    for at in decided.order.sequence:
        step = graph.steps[at]
        env = tuple(sorted({**dict(shared), **dict(step.env)}.items())) if step.env else shared
        work = _Work._make((step, _command(step), env, needs[at], found.demands[at]))
        key = _key(work, keys, texts)
        keys[step.id] = framed(key.encode())
        planned.append(_planned(at, decided, work, grace_ms=grace_ms, key=key, reasons=reasons.of(at, work)))
    return written_steps(planned, texts)


class _Work(Record):
    """What a Step does, defaults filled in."""

    step: Step
    command: Command
    env: tuple[tuple[str, str], ...]
    needs: tuple[Edge, ...]
    demand: Demand


def _grace_ms(contract: Contract) -> int:
    """What Steps have that state none of their own."""
    tolerance = contract.fault_tolerance
    return ((tolerance.checkpoint_grace_period if tolerance is not None else None) or GRACE).ms


def _planned(
    at: int, decided: Decided, work: _Work, *, grace_ms: int, key: str, reasons: tuple[str, ...]
) -> PlannedStep:
    step, found = work.step, decided.found
    retries, estimate = step.retries, found.estimates[at]
    # In the order of the fields: naming 21 of them takes longer than all that is computed here.
    return PlannedStep(
        step.id,
        step.name or "",
        work.command,
        work.env,
        step.cwd or ".",
        work.needs,
        work.demand,
        level_of(step, decided.contract),
        step.timeout.ms if step.timeout is not None else 0,
        step.grace.ms if step.grace else grace_ms,
        NO_RETRIES if retries is None else Retries(retries.max, retries.backoff.ms, retries.factor),
        tuple([text for _, text in step.inputs]) if step.inputs else (),
        tuple([text for _, text in step.outputs]) if step.outputs else (),
        decided.places[at],
        estimate.ms,
        estimate.source,
        found.ranks_ms[at],
        found.slacks_ms[at],
        reasons,
        key,
        decided.locate(step.path),
    )


def _command(step: Step) -> Command:
    run = step.run
    if run is None:
        raise AssertionError(f"Step {step.id} has nothing to execute: refused before")
    worker = worker_of(step.worker, run.call, step.id)
    return Command(run.argv, run.shell or "", run.call or "", step.args if run.call else "", worker)


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

    def __init__(self, decided: Decided, cut: set[tuple[str, str]]) -> None:
        self._decided = decided
        self._cut = cut
        tolerance = decided.contract.fault_tolerance
        stated = tolerance is not None and tolerance.level is not None
        self._level = "level: as fault_tolerance.level has it" if stated else f"level: {LEVEL}, the default"
        self._known: dict[tuple[str, bool, str, bool], tuple[str, ...]] = {}

    def of(self, at: int, work: _Work) -> tuple[str, ...]:
        """Those about one Step."""
        step, decided = work.step, self._decided
        source = decided.found.estimates[at].source
        case = _gpu_reason(at, decided, work), step.demand.cpu_m is None, source, step.level is None
        reasons = self._known.get(case)
        if reasons is None:
            reasons = self._known[case] = tuple(self._written(*case))
        carried = [edge for edge in work.needs if edge.kind == "carried"]
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


def _gpu_reason(at: int, decided: Decided, work: _Work) -> str:
    if not work.demand.gpu_count:
        return "cpu only: no GPU asked for"
    text = gpu_type_text(work.step.demand.gpu, decided.contract) or "of any type"
    return f"gpu {text} x{work.demand.gpu_count}: {decided.places[at].reason}"


def _carried_reason(edge: Edge, cut: bool) -> str:
    back = edge.staleness + 1
    rounds = "1 iteration" if back == 1 else f"up to {back} iterations"
    return f"carried: reads {edge.step} of {rounds} before" + (" (break_cycle)" if cut else "")


def _key(work: _Work, keys: Mapping[str, bytes], texts: Texts) -> str:
    """Merkle key: what decides the Step's result, and the keys of what it waits for.

    Demands, timeouts and places are left out: a Step that is given more memory does the same
    work. The number of GPUs stays in, because the Step sees it.
    """
    step, needs = work.step, work.needs
    before = sorted([edge.step for edge in needs if edge.kind != "carried"])
    carried = "[]"
    if len(before) < len(needs):
        carried = written(sorted([(edge.step, edge.staleness) for edge in needs if edge.kind == "carried"]))
    inputs = strings([text for _, text in step.inputs]) if step.inputs else "[]"
    outputs = strings([text for _, text in step.outputs]) if step.outputs else "[]"
    own = (
        f'{{"carried":{carried},"command":{texts.commands[work.command]}'
        f',"cwd":{texts.words[step.cwd or "."]},"env":{texts.variables[work.env]}'
        f',"gpu_count":{work.demand.gpu_count:d},"id":{quoted(step.id)}'
        f',"inputs":{inputs},"outputs":{outputs}}}'
    )
    return digest_framed([_DOMAIN, framed(own.encode()), *[keys[name] for name in before]])
