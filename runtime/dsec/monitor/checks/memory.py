"""Where does memory go? Climbs are foretold; who takes more than was stated is named."""

from __future__ import annotations

from dsec.callparts import size_of
from dsec.core.forecast import Series, Stated, offender, over_baseline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec.core.forecast import Forecast
    from dsec.devices.reading import Reading
    from dsec.monitor.scene import Scene, Tell, Use
    from dsec.plan import Demand, PlannedStep

_EVERY_US = 5_000_000
"""Between two points of a series within an attempt."""
_LEAST = 24
"""Points of such a series before it says anything: two minutes."""
_SCARCE_PERMILLE = 30
"""A machine with less memory available is about to end somebody."""
_AGAIN_PERMILLE = 60
_LOOKS = 2


class _Climb:
    """One quantity of a Step or worker: within an attempt or a worker's life, and over executions."""

    def __init__(self) -> None:
        self.within = Series(least=_LEAST)
        self.across = Series()
        self.peak = 0
        self.at_us = -_EVERY_US
        self.key = (-1, 0)
        """Iteration and attempt that `within` is about; of a worker its newest iteration, and its process."""

    def take(self, iteration: int, attempt: int, at_us: int, held: int) -> list[tuple[str, Series]]:
        """The next reading; what was another execution is over. Gives back what there is to look at anew."""
        anew = []
        if (iteration, attempt) != self.key:
            if self.key[0] >= 0:
                self.across.add(self.key[0], self.peak)
                anew.append(("execution", self.across))
            self.key, self.peak = (iteration, attempt), 0
            self.within, self.at_us = Series(least=_LEAST), -_EVERY_US
        return anew + self._within(at_us, held)

    def take_of_worker(self, iteration: int, pid: int, at_us: int, held: int) -> list[tuple[str, Series]]:
        """The same of a worker: what one call leaves behind is there in the next, of whichever Step."""
        anew = []
        newest, process = self.key
        if pid != process:
            self.within, self.at_us = Series(least=_LEAST), -_EVERY_US
        if iteration > newest:
            if newest >= 0:
                self.across.add(newest, self.peak)
                anew.append(("execution", self.across))
            self.peak = 0
        self.key = max(iteration, newest), pid
        anew += self._within(at_us, held)
        # One climb is seen in both series, and told once.
        return [] if self.within.warned or self.across.warned else anew

    def _within(self, at_us: int, held: int) -> list[tuple[str, Series]]:
        anew = []
        self.peak = max(self.peak, held)
        if at_us - self.at_us >= _EVERY_US:
            self.at_us = at_us
            self.within.add(at_us // 1000, held)
            anew.append(("ms", self.within))
        return anew


class Check:
    """Follows the memory of all Steps of a run."""

    def __init__(self) -> None:
        self._climbs: dict[tuple[str, str, str], _Climb] = {}
        """By worker, or "" and Step, and by device ("": main memory)."""
        self._steps: dict[str, PlannedStep] | None = None
        self._workers: dict[str, Demand] = {}
        """What the Steps that a worker serves state of it together."""
        self._over: set[tuple[str, str]] = set()
        self._scarce: dict[str, tuple[int, bool]] = {}
        """Per device ("": the machine): looks at which it had too little, and whether that was told."""

    def look(self, scene: Scene) -> Iterator[Tell]:
        """Climbs that end at a limit, use far above what is stated, and a machine without memory."""
        steps = self._planned(scene)
        devices = {one.uuid: one for one in scene.devices}
        for use in scene.uses:
            step = steps.get(use.watched.step)
            if step is None:
                continue
            yield from self._host(scene, use, step)
            for uuid, held in sorted(use.devices.items()):
                if held is not None:
                    yield from self._device(scene, use, step, held, devices.get(uuid))
        yield from self._pressure(scene, steps)

    def _planned(self, scene: Scene) -> dict[str, PlannedStep]:
        if self._steps is None:
            plan = scene.plan()
            self._steps = {step.id: step for step in plan.steps} if plan else {}
            self._workers = _of_workers(self._steps.values())
        return self._steps

    def _host(self, scene: Scene, use: Use, step: PlannedStep) -> Iterator[Tell]:
        held = use.usage.rss_bytes
        if not held:
            return
        left = scene.host.memory_available_bytes
        limits = [
            ("states", self._demand(use, step).memory_bytes),
            ("has", None if left is None else left + held),
        ]
        yield from self._climb(scene, use, held, limits, "")

    def _device(
        self, scene: Scene, use: Use, step: PlannedStep, held: int, device: Reading | None
    ) -> Iterator[Tell]:
        if device is None:
            return
        demand = self._demand(use, step)
        total, used = _memory(device)
        room = None if total is None or used is None else total - max(0, used - held)
        yield from self._climb(
            scene, use, held, [("states", demand.gpu_memory_bytes), ("has", room)], device.uuid
        )
        yield from self._baseline(use, demand, held, device.uuid)

    def _demand(self, use: Use, step: PlannedStep) -> Demand:
        """What is stated of the processes of an attempt: those of a call serve others, too."""
        return self._workers.get(use.watched.worker, step.demand)

    def _climb(
        self, scene: Scene, use: Use, held: int, limits: list[tuple[str, int | None]], device: str
    ) -> Iterator[Tell]:
        watched = use.watched
        climb = self._climbs.setdefault((watched.worker, watched.worker or watched.step, device), _Climb())
        for unit, series in (
            climb.take_of_worker(watched.iteration, watched.pid, scene.at_us, held)
            if watched.worker
            else climb.take(watched.iteration, watched.attempt, scene.at_us, held)
        ):
            for whose, limit in limits:
                found = series.warn(limit)
                if found is not None:
                    yield _forecast(use, found, unit, whose, device)
                    break

    def _baseline(self, use: Use, demand: Demand, held: int, device: str) -> Iterator[Tell]:
        key = (use.watched.worker or use.watched.step, device)
        stated, granted = demand.gpu_memory_bytes, len(use.watched.devices)
        if not over_baseline(held, stated, granted=granted, baseline=demand.gpu_count):
            if stated and 4 * held < 5 * stated:
                self._over.discard(key)
            return
        if key in self._over:
            return
        self._over.add(key)
        yield {
            "tell": "over-baseline",
            "step": use.watched.step,
            "iteration": use.watched.iteration,
            "worker": use.watched.worker,
            "device": device,
            "held": held,
            "stated": stated,
        }

    def _pressure(self, scene: Scene, steps: dict[str, PlannedStep]) -> Iterator[Tell]:
        """Who is to answer where the machine, or a GPU that several share, has hardly any memory left."""
        known = [(use, step) for use in scene.uses if (step := steps.get(use.watched.step)) is not None]
        left, total = scene.host.memory_available_bytes, scene.host.memory_total_bytes
        if self._is_scarce("", left, total):
            yield _scarce("", left, [(use, step, _stated(step), use.usage.rss_bytes) for use, step in known])
        for device in scene.devices:
            total, used = _memory(device)
            held = [
                (use, step, step.demand.gpu_memory_bytes, there)
                for use, step in known
                if (there := use.devices.get(device.uuid)) is not None
            ]
            left = None if total is None or used is None else total - used
            if self._is_scarce(device.uuid, left if len(held) > 1 else None, total):
                yield _scarce(device.uuid, left, held)

    def _is_scarce(self, where: str, left: int | None, total: int | None) -> bool:
        """Whether that is so for some looks now; said once until there was more again."""
        looks, told = self._scarce.get(where, (0, False))
        if left is None or not total or left * 1000 >= total * _SCARCE_PERMILLE:
            told = told and left is not None and bool(total) and left * 1000 < (total or 0) * _AGAIN_PERMILLE
            self._scarce[where] = (0, told)
            return False
        says = looks + 1 >= _LOOKS and not told
        self._scarce[where] = (looks + 1, told or says)
        return says


def _memory(device: Reading) -> tuple[int | None, int | None]:
    """What a device has for processes, and what of that is used."""
    total = device.memory_total_bytes
    return None if total is None else total - (device.memory_reserved_bytes or 0), device.memory_used_bytes


def _scarce(device: str, left: int | None, held: list[tuple[Use, PlannedStep, int, int]]) -> Tell:
    found = [
        Stated(step.id, use.watched.iteration, step.level, stated, there) for use, step, stated, there in held
    ]
    chosen = offender(found)
    told: Tell = {"tell": "scarce", "device": device, "left": left, "step": "", "iteration": -1, "attempt": 0}
    if chosen is None:
        return told
    use = held[found.index(chosen)][0]
    return told | chosen._asdict() | {"attempt": use.watched.attempt}


def _of_workers(steps: Iterable[PlannedStep]) -> dict[str, Demand]:
    """Per worker the GPUs of its largest Step, as it has them, and the most main memory that one states.

    Where one of them states no main memory, nothing is stated of the worker.
    """
    found: dict[str, Demand] = {}
    for step in steps:
        if not step.command.call:
            continue
        name = step.command.worker or step.id
        known, own = found.get(name), step.demand
        if known is not None:
            least, most = sorted((known.memory_bytes, own.memory_bytes))
            own = max(known, own, key=size_of)._replace(memory_bytes=most if least else 0)
        found[name] = own
    return found


def _stated(step: PlannedStep) -> int:
    """Who answers for a full machine: calls share a worker, so what it holds is no single Step's fault."""
    return 0 if step.command.call else step.demand.memory_bytes


def _forecast(use: Use, found: Forecast, unit: str, whose: str, device: str) -> Tell:
    return {
        "tell": "forecast",
        "step": use.watched.step,
        "iteration": use.watched.iteration,
        "device": device,
        "unit": unit,
        "whose": whose,
        "slope": found.slope,
        "limit": found.limit,
        "ahead": found.ahead,
    }
