"""Steps of a contract lowered to Steps of a plan: defaults filled in, reasons written, keys computed."""

from __future__ import annotations

from dsec.hashing import blake3_of, framed
from dsec.plan import Command, Edge, PlannedStep, Retries
from dsec.plantext import Parts, Texts, command_text, edge_text, put_together, quoted, step_text, written
from dsec.record import Record
from dsec.units import Duration
from dsec_cli.dag.analysis import worker_of
from dsec_cli.dag.demand import gpu_type_text
from dsec_cli.dag.shell import PLAIN_SH, SH, shell_words
from dsec_cli.dag.tolerance import LEVEL, contract_level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsec.plan import Demand, Placement, Source
    from dsec_cli.contract.values import Contract, Step
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.cycles import Order
    from dsec_cli.dag.graph import Edge as Stated
    from dsec_cli.source.tree import Path

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
    shell: str = SH


def lowered(decided: Decided) -> tuple[PlannedStep, ...]:
    """The plan's Steps, in topological order."""
    return put_together(map(_Writer(decided).step, decided.order.sequence))


class _Writer:
    """Writes Steps down; each after those that it waits for."""

    def __init__(self, decided: Decided) -> None:
        contract, found = decided.contract, decided.found
        self._texts, self._locate = Texts(), decided.locate
        self._steps, self._demands, self._places = decided.order.graph.steps, found.demands, decided.places
        self._estimates, self._ranks, self._slacks = found.estimates, found.ranks_ms, found.slacks_ms
        self._needs = _Needs(decided, self._texts)
        self._hasher = blake3_of()
        self._reasons = _Reasons(decided)
        self._shell = contract.shell or decided.shell
        self._env = _env(contract)
        self._grace_ms, self._level = _grace_ms(contract), contract_level(contract)

    def step(self, at: int) -> tuple[PlannedStep, str]:
        """One Step and its text: all at once, while what it is made of is at hand."""
        step, demand, place, (ms, source) = (
            self._steps[at],
            self._demands[at],
            self._places[at],
            self._estimates[at],
        )
        env, retries, timeout, name = step.env, step.retries, step.timeout, step.id
        env = tuple(sorted({**dict(self._env), **dict(env)}.items())) if env else self._env
        inputs = tuple([text for _, text in step.inputs]) if step.inputs else ()
        outputs = tuple([text for _, text in step.outputs]) if step.outputs else ()
        command, cwd, texts = _command(step, self._shell), step.cwd or ".", self._texts
        needs, needs_text, before = self._needs.of(at)
        parts = Parts._make(
            (
                command_text(command),
                texts.words[cwd],
                texts.variables.get(id(env)) or texts.variables.of(env),
                quoted(name),
                texts.lists[inputs] if inputs else "[]",
                texts.lists[outputs] if outputs else "[]",
                needs_text,
            )
        )
        key = self._key(parts, demand.gpu_count, needs, before)
        self._needs.keys[name] = framed(key.encode())
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
                timeout.ms if timeout is not None else 0,
                step.grace.ms if step.grace else self._grace_ms,
                NO_RETRIES if retries is None else Retries(retries.max, retries.backoff.ms, retries.factor),
                inputs,
                outputs,
                place,
                ms,
                source,
                self._ranks[at],
                self._slacks[at],
                self._reasons.of(step, needs, demand, place, source),
                key,
                self._locate(step.path),
            )
        )
        return planned, step_text(planned, texts, parts)

    def _key(self, parts: Parts, gpus: int, needs: tuple[Edge, ...], before: list[bytes]) -> str:
        """Merkle key: what decides the Step's result, and the keys of what it waits for.

        Demands, timeouts and places are left out: a Step that is given more memory does the same
        work. The number of GPUs stays in, because the Step sees it.
        """
        command, cwd, env, name, inputs, outputs, _ = parts
        carried = "[]"
        if len(before) < len(needs):
            carried = written(
                sorted([(edge.step, edge.staleness) for edge in needs if edge.kind == "carried"])
            )
        own = (
            f'{{"carried":{carried},"command":{command},"cwd":{cwd},"env":{env}'
            f',"gpu_count":{gpus},"id":{name},"inputs":{inputs},"outputs":{outputs}}}'
        ).encode()
        joined = b"".join([_DOMAIN, len(own).to_bytes(8, "little"), own, *before])
        return self._hasher(joined).hexdigest()


def _grace_ms(contract: Contract) -> int:
    """What Steps have that state none of their own."""
    tolerance = contract.fault_tolerance
    return ((tolerance.checkpoint_grace_period if tolerance is not None else None) or GRACE).ms


def _command(step: Step, shell: str) -> Command:
    run = step.run
    if run is None:
        raise AssertionError(f"Step {step.id} has nothing to execute: refused before")
    if run.shell:
        words = shell_words(step.shell or shell)
        if words not in PLAIN_SH:  # a plan has a place for scripts of sh; others are programs like any
            return Command._make(((words[0], "-e", *words[1:], "-c", run.shell), "", "", "{}", ""))
    worker = worker_of(step.worker, run.call, step.id)
    return Command._make((run.argv, run.shell or "", run.call or "", step.args if run.call else "", worker))


TRAINING = ("max_steps_per_episode", "checkpoint_interval_steps")
"""Root keys that Steps find in their environment, as DSEC_ and the key in capitals."""


def _env(contract: Contract) -> tuple[tuple[str, str], ...]:
    """What the contract states for all Steps, sorted by name; a Step's own variables go over it."""
    stated = {f"DSEC_{key.upper()}": getattr(contract, key) for key in TRAINING}
    found = {name: str(value) for name, value in stated.items() if value is not None}
    found |= {one.name: one.value for one in contract.env_vars if one.name and one.value is not None}
    return tuple(sorted(found.items()))


class _Needs:
    """One edge for each Step that a Step waits for and for each one whose earlier iteration it reads.

    Where several statements make the same edge, the first counts.
    """

    def __init__(self, decided: Decided, texts: Texts) -> None:
        graph, stated = decided.order.graph, decided.contract.iterations
        numbers = graph.numbers
        self._locate, self._words = decided.locate, texts.words
        self._staleness = stated.max_staleness if stated is not None else 0
        self._edges: list[list[Stated]] = [[] for _ in graph.steps]
        last = ""
        mine: list[Stated] = []
        for edge in graph.edges:
            if edge[1] is not last:  # most edges have the target of the one before
                last = edge[1]
                mine = self._edges[numbers[last]]
            mine.append(edge)
        self._carried: dict[int, list[Stated]] = {}
        for edge in graph.carried:
            self._carried.setdefault(numbers[edge.target], []).append(edge)
        self.keys: dict[str, bytes] = {}
        """By Step that is written already, its key as others are hashed over it."""

    def of(self, at: int) -> tuple[tuple[Edge, ...], str, list[bytes]]:
        """Those of one Step, their text, and the keys of the Steps of this iteration among them, by id."""
        if not self._edges[at] and at not in self._carried:
            return (), "[]", []
        mine: dict[str, Edge] = {}
        texts: list[str] = []
        make, locate, words = Edge._make, self._locate, self._words
        for source, _, kind, path, _ in self._edges[at]:
            if source not in mine:
                file, line, column = src = locate(path)
                mine[source] = make((source, kind, 0, src))
                texts.append(
                    f'{{"kind":{words[kind]},"src":{{"column":{column},"file":{words[file]},"line":{line}}}'
                    f',"staleness":0,"step":{quoted(source)}}}'
                )
        before = list(map(self.keys.__getitem__, sorted(mine)))
        if at not in self._carried:
            return tuple(mine.values()), f"[{','.join(texts)}]", before
        late = self._late(at)
        texts += [edge_text(edge, words) for edge in late]
        return (*mine.values(), *late), f"[{','.join(texts)}]", before

    def _late(self, at: int) -> list[Edge]:
        late: dict[str, Edge] = {}
        for edge in self._carried[at]:
            if edge.source not in late:
                late[edge.source] = Edge(edge.source, "carried", self._staleness, self._locate(edge.path))
        return list(late.values())


class _Reasons:
    """Every decision about Steps that their authors did not take, in words; most Steps share theirs."""

    def __init__(self, decided: Decided) -> None:
        self._contract = decided.contract
        self._cut = {(edge.source, edge.target) for edge in decided.order.graph.cuts}
        self._carried = bool(decided.order.graph.carried)
        tolerance = decided.contract.fault_tolerance
        stated = tolerance is not None and tolerance.level is not None
        self._level = "level: as fault_tolerance.level has it" if stated else f"level: {LEVEL}, the default"
        self._known: dict[object, tuple[str, ...]] = {}

    def of(
        self, step: Step, needs: tuple[Edge, ...], demand: Demand, place: Placement, source: str
    ) -> tuple[str, ...]:
        """Those about one Step."""
        stated, no_level, count = step.demand, step.level is None, demand.gpu_count
        gpu, no_cpu = stated.gpu, stated.cpu_m is None
        case = count and (id(place), count, gpu and gpu.type), no_cpu, source, no_level
        reasons = self._known.get(case)
        if reasons is None:
            devices = _gpu_reason(step, demand, place, self._contract) if count else _NO_GPU
            reasons = self._known[case] = tuple(self._written(devices, no_cpu, source, no_level))
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
