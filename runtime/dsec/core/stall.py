"""When an attempt no longer makes progress, and which of its ranks stopped first.

Progress is a metric, a heartbeat or a byte in the log. How long an attempt may be without it follows
from itself: FACTOR times the median time between its own signs, or, before it gave any, of what the
Step's executions take; never less than FLOOR, nor than twice the longest pause that it came out of.
It is stalled when moreover its processes and its GPUs did nothing for so long; what is not known of a
GPU is not taken for nothing. One that told of itself, and is silent three times as long while
something works, is silent: worth telling, and no more, because a collective that hangs turns round.

Of ranks that tell in step, as those do that wait for each other in every turn, the one that told less
often than the others stopped first, however long it still worked: it was the slow one. Else the last
sign of life decides.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FACTOR = 10
FLOOR_US = 60_000_000
UNKNOWN_US = 600_000_000
"""Limit where neither the attempt nor its Step ever showed how long anything takes."""
_IDLE_CPU_PERMILLE = 20
"""A process that takes less of one processor does nothing: pollers do."""
_SPAN_US = 1_000_000
"""Over so long at least it is counted: the kernel tells of processor time in pieces of 10 ms."""
_IDLE_GPU_PERMILLE = 50
_BUSY_FACTOR = 3
_FEW = 3
"""So many pauses say how long one is."""
_MOST = 64
_GAP_US = 15_000_000
"""Looks further apart than this saw nothing of what happened between them."""


class Pulse(Record):
    """One process of an attempt at one time."""

    pid: int
    rank: int | None
    cpu_us: int
    """So far."""
    told_us: int | None
    """Its last metric or heartbeat, on the clock of `Look.at_us`."""
    leaf: bool
    """Whether it has no child in the attempt."""
    told: int = 0
    """Its metrics and heartbeats so far."""


class Look(Record):
    """An attempt at one time."""

    at_us: int
    log_bytes: int | None
    pulses: tuple[Pulse, ...]
    told: int
    """Metrics and heartbeats so far, whoever gave them."""
    told_us: int | None
    """The last of them."""
    busy_permille: tuple[int | None, ...]
    """Of each of its GPUs."""
    paused: bool = False


class Bounds(Record):
    """What is asked of an attempt's progress."""

    factor: int = FACTOR
    floor_us: int = FLOOR_US
    usual_us: int = 0
    """Median duration of the Step's executions, or what the contract expects; 0: not known."""


class Rank(Record):
    """A rank, or a process where there are none, and its last sign of life."""

    name: str
    """`rank 3` or `process 4711`."""
    pid: int
    last_us: int
    gone: bool


class Verdict(Record):
    """An attempt makes no progress."""

    kind: str
    """`stalled`: nothing works; `silent`: something does."""
    quiet_us: int
    """Since when, as a length: its last sign or, when stalled, the last work."""
    limit_us: int
    known: bool
    """Whether the limit follows from what this Step is known to take."""
    ranks: tuple[Rank, ...]
    """First who stopped first; one alone has nobody to be compared with."""

    @property
    def first(self) -> Rank | None:
        """Who stopped first of several."""
        return self.ranks[0] if len(self.ranks) > 1 else None


class _Life:
    """One process as it was seen so far."""

    __slots__ = ("active_us", "cpu_us", "gone", "leaf", "rank", "seen_us", "since_us", "told", "told_us")

    def __init__(self, pulse: Pulse, at_us: int) -> None:
        self.rank = pulse.rank
        self.cpu_us = 0
        self.active_us = self.seen_us = self.since_us = at_us
        self.told = pulse.told
        self.told_us = pulse.told_us or 0
        self.leaf = pulse.leaf
        self.gone = False

    def see(self, pulse: Pulse, at_us: int) -> bool:
        """Take the next look at it; whether it worked since the last."""
        span_us = at_us - self.since_us
        worked = (pulse.cpu_us - self.cpu_us) * 1000 > max(span_us, _SPAN_US) * _IDLE_CPU_PERMILLE
        if worked:
            self.active_us = at_us
        if worked or span_us >= _SPAN_US:
            self.cpu_us, self.since_us = pulse.cpu_us, at_us
        self.seen_us = at_us
        self.rank = pulse.rank if self.rank is None else self.rank
        self.told = pulse.told
        self.told_us = max(self.told_us, pulse.told_us or 0)
        self.leaf = self.leaf and pulse.leaf
        return worked


class Watch:
    """One attempt, from its first look to its last."""

    def __init__(self, began_us: int, bounds: Bounds) -> None:
        self._bounds = bounds
        self._sign_us = began_us
        """Its last sign of progress."""
        self._work_us = began_us
        """When something last worked, or was not known not to."""
        self._at_us: int | None = None
        self._log_bytes: int | None = None
        self._told = 0
        self._pauses: list[int] = []
        self._longest_us = 0
        self._lives: dict[int, _Life] = {}
        self._in_step = True
        """Whether no rank was ever seen to have told more than once more than another."""
        self._said = ""

    def see(self, look: Look) -> Verdict | None:
        """Take the next look; a verdict is given once, until there is progress again."""
        before, self._at_us = self._at_us, look.at_us
        if look.paused or (before is not None and look.at_us - before > _GAP_US):
            self._postpone(look.at_us - (look.at_us if before is None else before))
        worked = self._see_processes(look, look.at_us if before is None else before)
        if worked or not _gpus_idle(look.busy_permille):
            self._work_us = max(self._work_us, look.at_us)
        self._see_progress(look)
        return None if look.paused else self._judge(look.at_us)

    def _postpone(self, gap_us: int) -> None:
        """That time did not count."""
        self._sign_us += gap_us
        self._work_us += gap_us

    def _see_processes(self, look: Look, since_us: int) -> bool:
        worked = False
        for pulse in look.pulses:
            life = self._lives.get(pulse.pid)
            if life is None:
                life = self._lives[pulse.pid] = _Life(pulse, since_us)
            worked = life.see(pulse, look.at_us) or worked
        self._miss({pulse.pid for pulse in look.pulses})
        if self._in_step and self._told:
            counts = self._counts()
            self._in_step = not counts or max(counts) - min(counts) <= 1
        return worked

    def _miss(self, here: set[int]) -> None:
        """Note who is gone; a rank of which nobody is left is remembered."""
        ranks = {life.rank for pid, life in self._lives.items() if pid in here}
        for pid, life in list(self._lives.items()):
            life.gone = pid not in here
            if life.gone and (life.rank is None or life.rank in ranks):
                del self._lives[pid]

    def _see_progress(self, look: Look) -> None:
        at_us = 0
        if look.told > self._told:
            self._told = look.told
            at_us = min(look.told_us or look.at_us, look.at_us)
        if look.log_bytes is not None and look.log_bytes != self._log_bytes:
            at_us = look.at_us if self._log_bytes is not None or look.log_bytes else at_us
            self._log_bytes = look.log_bytes
        if at_us <= self._sign_us:
            return
        pause = at_us - self._sign_us
        self._pauses = [*self._pauses[1 - _MOST :], pause]
        self._longest_us = max(self._longest_us, pause)
        self._sign_us = at_us
        self._said = ""

    @property
    def limit_us(self) -> int:
        """How long it may be without progress."""
        bounds = self._bounds
        if not self._known:
            return max(UNKNOWN_US, bounds.floor_us)
        return max(bounds.floor_us, bounds.factor * self._median_us, 2 * self._longest_us)

    @property
    def _known(self) -> bool:
        return len(self._pauses) >= _FEW or self._bounds.usual_us > 0

    @property
    def _median_us(self) -> int:
        if len(self._pauses) >= _FEW:
            return sorted(self._pauses)[len(self._pauses) // 2]
        return self._bounds.usual_us

    def _judge(self, at_us: int) -> Verdict | None:
        limit_us = self.limit_us
        idle_us = at_us - max(self._sign_us, self._work_us)
        quiet_us = at_us - self._sign_us
        if idle_us >= limit_us and self._said != "stalled":
            self._said = "stalled"
            return Verdict("stalled", idle_us, limit_us, self._known, self.ranks())
        told_enough = self._told >= _FEW and len(self._pauses) >= _FEW
        if told_enough and quiet_us >= _BUSY_FACTOR * limit_us and not self._said:
            self._said = "silent"
            return Verdict("silent", quiet_us, limit_us, True, self.ranks())
        return None

    def ranks(self) -> tuple[Rank, ...]:
        """Ranks by their last sign of life, the first to stop first."""
        counted = self._in_step and min(self._counts(), default=0) >= _FEW
        found = [_ranked(key, members, counted=counted) for key, members in self._groups().items()]
        return tuple(rank for _, rank in sorted(found, key=lambda one: one[0]))

    def _counts(self) -> list[int]:
        """How often each rank told of itself."""
        return [sum(life.told for _, life in group) for group in self._groups().values()]

    def _groups(self) -> dict[tuple[int, int], list[tuple[int, _Life]]]:
        """The processes of each rank, or each by itself where there are no ranks."""
        groups: dict[tuple[int, int], list[tuple[int, _Life]]] = {}
        for pid, life in _speaking(self._lives).items():
            key = (0, life.rank) if life.rank is not None else (1, pid)
            groups.setdefault(key, []).append((pid, life))
        return groups


def _gpus_idle(busy_permille: Iterable[int | None]) -> bool:
    """Whether every GPU is known to do nothing."""
    return all(busy is not None and busy < _IDLE_GPU_PERMILLE for busy in busy_permille)


def _speaking(lives: Mapping[int, _Life]) -> dict[int, _Life]:
    """The processes to compare: those with a rank, else those that tell, else those without children."""
    for chosen in (
        {pid: life for pid, life in lives.items() if life.rank is not None},
        {pid: life for pid, life in lives.items() if life.told_us and not life.gone},
    ):
        if chosen:
            return chosen
    return {pid: life for pid, life in lives.items() if life.leaf and not life.gone}


def _ranked(
    key: tuple[int, int], members: Sequence[tuple[int, _Life]], *, counted: bool
) -> tuple[tuple[int, ...], Rank]:
    """A rank with what it is sorted by: who is gone stopped when last seen, before who idles since then."""
    told = sum(life.told for _, life in members) if counted else 0
    gone = all(life.gone for _, life in members)
    told_us = max(life.told_us for _, life in members)
    active_us = max(life.seen_us if life.gone else life.active_us for _, life in members)
    last_us = max(told_us, active_us)
    pid = max(members, key=lambda one: (not one[1].gone, one[1].active_us, -one[0]))[0]
    name = f"rank {key[1]}" if key[0] == 0 else f"process {key[1]}"
    return (told, last_us, told_us, *key), Rank(name, pid, last_us, gone)


def decision(level: str, *, known: bool, retries_left: int, droppable: bool) -> str:
    """What becomes of a stalled attempt: `tell`, `retry` or `drop`.

    Nothing is ended that could not start again or be done without, and nothing on a mere guess.
    """
    if level == "critical" or not known:
        return "tell"
    if retries_left > 0:
        return "retry"
    return "drop" if droppable else "tell"
