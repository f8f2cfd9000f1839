"""Whether the run has used up its GPU-hours, and its progress says that it is to be ended for it."""

from __future__ import annotations

from dsec.core.budget import WHOLE, judge, progress
from dsec.core.holdings import HeldTime, Holdings
from dsec.errors import DSecError
from dsec.events import Drop, Exit, RunEnd, RunStart
from dsec.metricsfile import name as metrics_name
from dsec.metricsfile import read_told
from dsec.spending import ENDED
from dsec.tail import Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.events import Event
    from dsec.monitor.scene import Scene, Tell, Use
    from dsec.plan import Plan

    Instance = tuple[str, int]

METRIC = "progress"
"""What a Step may say of itself, from 0 to 1."""


class Check:
    """One run's account; it costs nothing where the plan bounds no GPU-hours."""

    def __init__(self) -> None:
        self._most_us: int | None = -1
        """-1: the plan was not looked at yet; None: there is no bound."""
        self._tail: Tail | None = None
        self._anew()
        self._said = ""

    def _anew(self) -> None:
        self._holdings = Holdings()
        self._held = HeldTime(self._holdings)
        self._done: set[Instance] = set()
        self._ended_before = False
        self._parts: dict[tuple[str, int, int], tuple[int, int | None]] = {}
        """By attempt how far its metrics were read, and the last share that it told."""

    def look(self, scene: Scene) -> Iterable[Tell]:
        """One tell whenever the verdict is another one."""
        plan = scene.plan() if self._most_us == -1 else self._plan
        if self._most_us == -1:
            self._plan = plan
            budget = None if plan is None else plan.budget
            most = None if budget is None else budget.most_ms
            self._most_us = None if most is None else most * 1000
        if plan is None or not self._most_us or not self._read(f"{scene.run_dir}/journal"):
            return ()
        return self._judged(plan, scene, self._most_us)

    _plan: Plan | None = None

    def _judged(self, plan: Plan, scene: Scene, most_us: int) -> Iterable[Tell]:
        used = self._held.until(self._holdings.time(scene.at_us))
        found = judge(used, most_us, progress(plan, self._done, self._shares(scene)))
        word = "again" if found.word == "stop" and self._ended_before else found.word
        if word in (self._said, "fine"):
            return ()
        self._said = word
        return (
            {
                "tell": "budget",
                "word": word,
                "used_us": used,
                "most_us": most_us,
                "expected_us": found.expected_us,
            },
        )

    def _read(self, path: str) -> bool:
        if self._tail is None:
            self._tail = Tail(path)
        try:
            events = self._tail.events()
        except (OSError, DSecError):
            return False
        if events is None:
            self._anew()
            return False
        for event in events:
            self._take(event)
        return True

    def _take(self, event: Event) -> None:
        self._holdings.take(event)
        if isinstance(event, Drop) or (isinstance(event, Exit) and event.cause == "ok"):
            self._done.add((event.step, event.iteration))
        elif isinstance(event, RunEnd):
            self._ended_before = self._ended_before or event.detail.startswith(ENDED)
        elif isinstance(event, RunStart):
            self._said = ""

    def _shares(self, scene: Scene) -> dict[Instance, int]:
        """What attempts that run say of how far they are."""
        known: dict[tuple[str, int, int], tuple[int, int | None]] = {}
        for use in scene.uses:
            if use.watched.step:
                key = (use.watched.step, use.watched.iteration, use.watched.attempt)
                known[key] = self._share(scene.run_dir, use, *self._parts.get(key, (0, None)))
        self._parts = known
        return {key[:2]: share for key, (_, share) in known.items() if share is not None}

    def _share(self, run_dir: str, use: Use, offset: int, share: int | None) -> tuple[int, int | None]:
        one = use.watched
        path = f"{run_dir}/{metrics_name(one.step, iteration=one.iteration, attempt=one.attempt)}"
        told, offset = read_told(path, offset)
        for line in told:
            value = line.metrics.get(METRIC)
            if value is not None and 0.0 <= value <= 1.0:
                share = int(value * WHOLE)
        return offset, share
