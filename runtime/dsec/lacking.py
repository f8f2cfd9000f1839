"""What waits in a run for GPUs that are not its own at present."""

from __future__ import annotations

from dsec.core.asking import Asking, Want
from dsec.core.hunger import Appetite, hunger
from dsec.core.preemption import must_not_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.brokerage import Request
    from dsec.floor import Floor
    from dsec.plan import Demand
    from dsec.runner import Runner


class Lacking:
    """One run's wants."""

    def __init__(self, runner: Runner, floor: Floor) -> None:
        self._runner = runner
        self._floor = floor
        self._asking = Asking(floor.ledger.inventory)
        self._since: dict[int, int] = {}
        """By Step, since when instances of it wait."""

    @property
    def any_gpus(self) -> bool:
        """Whether anything that is ready asks for GPUs."""
        scheduler, steps = self._floor.scheduler, self._floor.steps
        return any(steps[scheduler.locate(entry)[0]].demand.gpu_count for entry in scheduler.ready())

    def sign(self) -> tuple[object, ...]:
        """As long as this stays the same, so does what is lacking."""
        scheduler, ledger = self._floor.scheduler, self._floor.ledger
        queue = [(entry, len(scheduler.bucket(entry))) for entry in scheduler.ready()]
        return (*queue, ledger.returned, len(ledger.held), len(ledger.usable()))

    def requests(self, now_us: int) -> list[Request]:
        """What to ask for, the most urgent first."""
        wants = self.wants(now_us)
        self._since = {want.at: self._since[want.at] for want in wants}
        return self._asking.requests(wants, self._floor.ledger)

    def wants(self, now_us: int) -> list[Want]:
        """Ready Steps that need GPUs, the most urgent first."""
        scheduler = self._floor.scheduler
        wants: list[Want] = []
        for entry in scheduler.ready():
            at, iteration = scheduler.locate(entry)
            demand = self._demand(at)
            if demand is None or (scheduler.any_dropped and scheduler.starved(at, iteration)):
                continue
            step, many = self._floor.steps[at], len(scheduler.bucket(entry))
            yielding = self._runner.yielding
            hungry = yielding is not None and (at, iteration) in yielding.hungry
            waited_us = now_us - self._since.setdefault(at, now_us)
            urgent = must_not_wait(step.level, hungry=hungry)
            one_call = bool(step.command.call)
            wants.append(
                Want(
                    at,
                    demand,
                    1 if one_call else many,
                    step.placement.devices,
                    waited_us,
                    self._hunger(at, many),
                    urgent,
                )
            )
        return wants

    def _demand(self, at: int) -> Demand | None:
        """What the Step asks for beside what it has; None: it lacks no GPU."""
        step = self._floor.steps[at]
        if not step.demand.gpu_count:
            return None
        if step.command.call:
            return self._floor.workers.lacks(step)
        return step.demand._replace(gpu_count=self._floor.starter.asks(at))

    def _hunger(self, at: int, waiting: int) -> int:
        step = self._floor.steps[at]
        beside = [len(one.lease.devices) for one in self._floor.running if one.at == at]
        each, needs = step.demand.gpu_count, len(step.needs)
        granted = sum(min(one, each) for one in beside)
        asked = each * (waiting + len(beside))
        return hunger(Appetite(waiting, len(beside), needs, needs, asked, granted))
