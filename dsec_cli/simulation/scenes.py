"""Fleets as scenes: every agent with its Steps, how long they really take, when it arrives."""

from __future__ import annotations

from dsec.core.order import topological, upward_ranks
from dsec.core.simulated import NOTHING, Scene, Workload
from dsec.plan import Command, Demand, Edge, Iterations, Placement, PlannedStep, Retries, Source
from dsec_cli.simulation.draws import Draw, Lasts, exponential
from dsec_cli.simulation.values import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.pace import Span
    from dsec_cli.simulation.values import Agents, Arrival, Fleet

_NOWHERE = Source("", 0, 0)
_NO_COMMAND = Command((), "", "", "", "")
_NO_RETRIES = Retries(0, 0, 1)
_ANYWHERE = Placement((), "")


def of_fleet(fleet: Fleet) -> Scene:
    """Every agent with its Steps, each drawn by the fleet's seed."""
    cast = _Cast(fleet)
    for agents in fleet.agents:
        cast.add(agents)
    return Scene(cast.work(), tuple(one.inventory for one in fleet.machines), manners=fleet.manners)


class _Cast:
    """The Steps of all agents in the making."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._steps: list[PlannedStep] = []
        self._lengths: list[int] = []
        self._jobs: list[int] = []
        self._arrivals: dict[int, int] = {}
        self._checkpoints: list[int] = []
        self._spans: dict[int, Span] = {}
        self._many = 0

    def add(self, agents: Agents) -> None:
        """All agents of a class."""
        draw = Draw(self._fleet.seed, agents.name)
        if self._fleet.hold == "agent":
            agents = _whole(agents)
        for number, arrival in enumerate(_times(agents.arrival, agents.many, draw)):
            self._agent(agents, f"{agents.name}-{number}", arrival, draw)

    def _agent(self, agents: Agents, name: str, arrival: int, draw: Draw) -> None:
        first = len(self._steps)
        self._put(_planned(name, "", NOTHING, 0, (), agents, 0), 0, agents)
        self._arrivals[first] = arrival
        leaves: list[str] = [name]
        needed = {need for part in agents.parts for need in part.needs}
        for turn in range(agents.rounds):
            ids = {part.id: f"{name}/{part.id}@{turn}" for part in agents.parts}
            for part in agents.parts:
                needs = [ids[need] for need in part.needs] or leaves
                if part.span is not None:
                    self._spans[len(self._steps)] = part.span
                length = part.lasts.draw(draw)
                label = f"{agents.name}.{part.id}"
                step = _planned(
                    ids[part.id], label, part.demand, part.lasts.typical_ms, needs, agents, arrival
                )
                self._put(step, length, agents)
            leaves = [ids[part.id] for part in agents.parts if part.id not in needed]
        self._many += 1

    def _put(self, step: PlannedStep, length: int, agents: Agents) -> None:
        self._steps.append(step)
        self._lengths.append(length)
        self._jobs.append(self._many)
        self._checkpoints.append(agents.checkpoint_ms)

    def work(self) -> Workload:
        """All of them; critical agents go first, then whoever came first."""
        last = max(self._arrivals.values(), default=0)
        steps = [
            step._replace(rank_ms=last - step.rank_ms + (last + 1) * (step.level == "critical"))
            for step in self._steps
        ]
        return Workload(
            steps,
            Iterations(1, 0, 1),
            self._lengths,
            self._jobs,
            self._arrivals,
            self._checkpoints,
            self._spans,
        )


def _planned(
    name: str,
    label: str,
    demand: Demand,
    estimate: int,
    needs: list[str] | tuple[str, ...],
    agents: Agents,
    arrival: int,
) -> PlannedStep:
    edges = tuple([Edge._make((need, "order", 0, _NOWHERE)) for need in needs])
    return PlannedStep(
        name, label, _NO_COMMAND, (), ".", edges, demand, agents.level, 0, agents.grace_ms, _NO_RETRIES, (),
        (), _ANYWHERE, estimate, "declared", arrival, 0, (), "", _NOWHERE,
    )  # fmt: skip


def _times(arrival: Arrival, many: int, draw: Draw) -> list[int]:
    """When each agent comes, in order."""
    if arrival.kind == "within":
        return sorted(arrival.start_ms + draw.below(arrival.ms + 1) for _ in range(many))
    if arrival.kind == "every":
        times, now = [], arrival.start_ms
        for _ in range(many):
            times.append(now)
            now += exponential(draw, arrival.ms)
        return times
    return [arrival.start_ms] * many


def _whole(agents: Agents) -> Agents:
    """The class as one Step that holds what any of its Steps takes until the last is done."""
    demands = [part.demand for part in agents.parts]
    numbers = {part.id: at for at, part in enumerate(agents.parts)}
    successors: list[list[int]] = [[] for _ in agents.parts]
    for at, part in enumerate(agents.parts):
        for need in part.needs:
            successors[numbers[need]].append(at)
    order = topological(successors)
    demand = Demand(
        max(one.cpu_m for one in demands),
        max(one.memory_bytes for one in demands),
        max(one.gpu_count for one in demands),
        _memory(demands),
        next((one.gpu_types for one in demands if one.gpu_types), ()),
        0,
        0,
    )
    lasts = _Sum([part.lasts for part in agents.parts], successors, order, agents.rounds)
    return agents._replace(rounds=1, parts=(Part("all", demand, lasts, (), None),))  # type: ignore[arg-type]  # it draws as Lasts does


def _memory(demands: list[Demand]) -> int:
    """The most that any of them takes of a device; 0, the whole, where one takes all."""
    taken = [one.gpu_memory_bytes for one in demands if one.gpu_count]
    return 0 if 0 in taken else max(taken, default=0)


class _Sum:
    """How long all Steps of an agent take, its rounds one after the other."""

    def __init__(
        self, parts: list[Lasts], successors: list[list[int]], order: list[int], rounds: int
    ) -> None:
        self._parts = parts
        self._successors = successors
        self._order = order
        self._rounds = rounds

    @property
    def typical_ms(self) -> int:
        """What a scheduler is told to expect."""
        return self._rounds * self._longest([one.typical_ms for one in self._parts])

    def draw(self, draw: Draw) -> int:
        """The same draws as those of the Steps taken one by one."""
        return sum(self._longest([one.draw(draw) for one in self._parts]) for _ in range(self._rounds))

    def _longest(self, lengths: list[int]) -> int:
        return max(upward_ranks(self._order, self._successors, lengths), default=0)
