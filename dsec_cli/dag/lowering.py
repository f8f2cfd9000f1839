"""Steps of a contract lowered to Steps of a plan: defaults filled in, reasons written, keys computed."""

from __future__ import annotations

from dsec.hashing import digest
from dsec.plan import Command, Edge, PlannedStep, Retries
from dsec.plantext import Texts, quoted, strings, written
from dsec.record import Record
from dsec.units import Duration
from dsec_cli.dag.analysis import worker_of
from dsec_cli.dag.demand import gpu_type_text
from dsec_cli.dag.tolerance import LEVEL, level_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec.plan import Demand, Placement, Source
    from dsec_cli.contract.values import Contract, Step
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.cycles import Order
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.source.tree import Path

GRACE = Duration(10 * 10**9)
"""Between TERM and KILL where the contract states no checkpoint_grace_period."""
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
    graph = decided.order.graph
    needs = _needs(graph, decided)
    keys: dict[str, str] = {}
    texts = Texts()
    planned: list[PlannedStep] = []
    for at in decided.order.sequence:
        one = _step(at, decided, needs=needs[at])
        key = keys[one.id] = _key(one, keys, texts)
        one = one._replace(key=key)
        planned.append(one)
    return tuple(planned)


def _step(at: int, decided: Decided, *, needs: tuple[Edge, ...]) -> PlannedStep:
    """Step number `at`, all but its key."""
    step = decided.order.graph.steps[at]
    contract, found = decided.contract, decided.found
    tolerance = contract.fault_tolerance
    grace = step.grace or (tolerance.checkpoint_grace_period if tolerance is not None else None) or GRACE
    retries = step.retries
    return PlannedStep(
        id=step.id,
        name=step.name or "",
        command=_command(step),
        env=_env(step, contract),
        cwd=step.cwd or ".",
        needs=needs,
        demand=found.demands[at],
        level=level_of(step, contract),
        timeout_ms=step.timeout.ms if step.timeout is not None else 0,
        grace_ms=grace.ms,
        retries=Retries(retries.max, retries.backoff.ms, retries.factor)
        if retries is not None
        else NO_RETRIES,
        inputs=tuple(text for _, text in step.inputs),
        outputs=tuple(text for _, text in step.outputs),
        placement=decided.places[at],
        estimate_ms=found.estimates[at].ms,
        estimate_source=found.estimates[at].source,
        rank_ms=found.ranks_ms[at],
        slack_ms=found.slacks_ms[at],
        reasons=tuple(_reasons(at, decided, needs)),
        key="",
        src=decided.locate(step.path),
    )


def _command(step: Step) -> Command:
    run = step.run
    if run is None:
        raise AssertionError(f"Step {step.id} has nothing to execute: refused before")
    return Command(
        argv=run.argv,
        shell=run.shell or "",
        call=run.call or "",
        args=step.args if run.call else "",
        worker=worker_of(step.worker, run.call, step.id),
    )


def _env(step: Step, contract: Contract) -> tuple[tuple[str, str], ...]:
    """The contract's plain variables, then the Step's own over them; sorted by name."""
    values = {one.name: one.value for one in contract.env_vars if one.name and one.value is not None}
    values.update(step.env)
    return tuple(sorted(values.items()))


def _needs(graph: StepGraph, decided: Decided) -> list[tuple[Edge, ...]]:
    """Per Step, one edge for each Step it waits for and for each one whose earlier iteration it reads.

    Where several statements make the same edge, the first counts.
    """
    staleness = decided.contract.iterations.max_staleness if decided.contract.iterations is not None else 0
    found: list[dict[tuple[str, bool], Edge]] = [{} for _ in graph.steps]
    for edge in graph.edges:
        mine = found[graph.numbers[edge.target]]
        if (edge.source, False) not in mine:
            mine[edge.source, False] = Edge(edge.source, edge.kind, 0, decided.locate(edge.path))
    for edge in graph.carried:
        mine = found[graph.numbers[edge.target]]
        if (edge.source, True) not in mine:
            mine[edge.source, True] = Edge(edge.source, "carried", staleness, decided.locate(edge.path))
    return [tuple(mine.values()) for mine in found]


def _reasons(at: int, decided: Decided, needs: tuple[Edge, ...]) -> list[str]:
    """Every decision about the Step that its author did not take, in words."""
    step, demand = decided.order.graph.steps[at], decided.found.demands[at]
    reasons = [_gpu_reason(step, demand, decided)]
    if step.demand.cpu_m is None:
        reasons.append("cpu: one core, as the Step states none")
    if decided.found.estimates[at].source == "default":
        reasons.append("estimate: 1s, as nothing is declared and nothing was measured")
    if decided.found.estimates[at].source == "history":
        reasons.append("estimate: median of earlier runs, to two digits")
    if step.level is None:
        tolerance = decided.contract.fault_tolerance
        stated = tolerance is not None and tolerance.level is not None
        reasons.append("level: as fault_tolerance.level has it" if stated else f"level: {LEVEL}, the default")
    cut = {edge.source for edge in decided.order.graph.cuts if edge.target == step.id}
    reasons += [_carried_reason(edge, edge.step in cut) for edge in needs if edge.kind == "carried"]
    return reasons


def _gpu_reason(step: Step, demand: Demand, decided: Decided) -> str:
    place = decided.places[decided.order.graph.numbers[step.id]]
    if not demand.gpu_count:
        return "cpu only: no GPU asked for"
    text = gpu_type_text(step.demand.gpu, decided.contract) or "of any type"
    return f"gpu {text} x{demand.gpu_count}: {place.reason}"


def _carried_reason(edge: Edge, cut: bool) -> str:
    back = edge.staleness + 1
    rounds = "1 iteration" if back == 1 else f"up to {back} iterations"
    return f"carried: reads {edge.step} of {rounds} before" + (" (break_cycle)" if cut else "")


def _key(step: PlannedStep, keys: dict[str, str], texts: Texts) -> str:
    """Merkle key: what decides the Step's result, and the keys of what it waits for.

    Demands, timeouts and places are left out: a Step that is given more memory does the same
    work. The number of GPUs stays in, because the Step sees it.
    """
    carried = sorted([(edge.step, edge.staleness) for edge in step.needs if edge.kind == "carried"])
    before = sorted([edge.step for edge in step.needs if edge.kind != "carried"])
    own = (
        f'{{"carried":{written(carried) if carried else "[]"},"command":{texts.commands[step.command]}'
        f',"cwd":{texts.files[step.cwd]},"env":{texts.variables[step.env]}'
        f',"gpu_count":{step.demand.gpu_count:d},"id":{quoted(step.id)}'
        f',"inputs":{strings(step.inputs)},"outputs":{strings(step.outputs)}}}'
    )
    return digest("dsec.step/1", own.encode("utf-8"), *[keys[name].encode() for name in before])
