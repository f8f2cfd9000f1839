"""Which ready instance starts next, and on what: the decision that runs and simulations share.

Whatever fits is started, the most urgent first. The first Step that does not fit has a reservation;
what starts behind it does not delay it. A Step that may have more GPUs than its baseline gets some
of the elastic pool while every other Step that is ready for a GPU still fits; one that may have fewer
starts on fewer when it so ends no later than if it waited for all of them.
"""

from __future__ import annotations

from dsec.core.reservation import beside, reserve
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dsec.core.leases import Lease
    from dsec.core.pace import Span
    from dsec.core.reservation import Held, Reservation, Room
    from dsec.core.scheduler import Scheduler
    from dsec.plan import Demand

POOL_PERCENT = 30
"""Share of the devices that Steps may have beyond their baselines, all together."""

_MOST_OTHERS = 16
"""Ready Steps beyond which none gets more GPUs than its baseline."""


def elastic_pool(devices: int) -> int:
    """How many devices of so many may be held beyond baselines."""
    return devices * POOL_PERCENT // 100


class Start(Record):
    """An instance that starts now; or, with `starved`, cannot: what it needs was dropped."""

    at: int
    """The Step's number in the plan."""
    iteration: int
    lease: Lease | None
    starved: tuple[int, int] | None = None


class Size(Record):
    """How many GPUs an elastic Step is to have."""

    firm: int
    """Up to so many are had although others are ready for a GPU."""
    most: int
    """Beyond `firm`, up to so many while all others still fit."""


class World(Record):
    """What the decision asks of whoever carries it out."""

    room: Room
    grant: Callable[[int], Lease | None]
    """A lease for that Step on its planned devices, else on like ones; None: not now."""
    running: Callable[[int], Iterable[Held]]
    """What the attempts hold, and when each is expected to end, not before the given time."""
    length: Callable[[int, Lease], int]
    """How long that Step is expected to take on the lease."""
    returning: Callable[[], Sequence[Lease]] = tuple
    """Leases of attempts that have ended, whose devices come back in a moment."""
    busy: Callable[[int], bool] | None = None
    """Whether that Step waits for another one of its worker's rather than for room; None: none does."""


class Starter:
    """Decides over one scheduler and one room."""

    def __init__(
        self,
        scheduler: Scheduler,
        demands: Sequence[Demand],
        world: World,
        *,
        queues: Sequence[bool],
        planned: Sequence[tuple[str, ...]],
        quick: bool | Sequence[bool] = False,
        spans: Mapping[int, Span] | None = None,
        pool: int = 0,
    ) -> None:
        """`queues[s]`: whether Step s gets a reservation, and respects those of others.

        `planned`: devices that each would best have; () where any will do.
        `quick`: whether the quickest devices are taken, of all or of each, rather than what fits best.
        `spans`: Steps that may start on fewer or more GPUs; `pool`: devices beyond baselines.
        """
        self._scheduler = scheduler
        self._demands = demands
        self._world = world
        self._room = world.room
        self._busy = world.busy
        self._queues = queues
        self._planned = planned
        self._quicks = [quick] * len(demands) if isinstance(quick, bool) else quick
        self._spans = dict(spans or {})
        self._pool = pool
        self._sizes: dict[int, Size] = {}
        """Of the Steps that were found to need more, or less, than their contract's start."""
        self._last: dict[int, int] = {}
        """How many GPUs each elastic Step was given last: it keeps the size while marks and pool allow."""
        self._beyond: dict[int, int] = {}
        """Devices beyond the baseline, by the lease's serial."""
        self._promised = -1
        """Entry of the first Step that did not fit when it was last looked; -1: all fitted."""
        self._devices: tuple[str, ...] = ()
        """What was reserved for it, once something behind it could start."""
        self._reservation: Reservation | None = None
        self._seen = -1
        """Leases that had come back when the reservation was made, and Steps refused."""
        self._refused: set[int] = set()
        """Entries that got nothing since then."""

    @property
    def waiting(self) -> int | None:
        """The scheduler's entry that has the reservation; None: whatever is ready has started."""
        return None if self._promised < 0 else self._promised

    def next(self, now: int) -> Start | None:
        """The next start; None: nothing can start before something ends."""
        scheduler = self._scheduler
        if self._seen != self._room.returned:
            self._anew()
        waiting = False
        for entry in scheduler.ready():
            if entry in self._refused:
                waiting = waiting or entry == self._promised
                continue
            at, iteration = scheduler.locate(entry)
            need = scheduler.starved(at, iteration) if scheduler.any_dropped else None
            if need is not None:
                scheduler.start(entry)
                return Start(at, iteration, None, need)
            if self._busy is not None and self._busy(at):
                continue
            behind = waiting and self._queues[at]
            lease = self._behind(at, now) if behind else self._first(at, entry, now)
            if lease is not None:
                scheduler.start(entry)
                self._taken(waiting=waiting, behind=behind)
                if at in self._spans:
                    self._last[at] = len(lease.devices)
                return Start._make((at, iteration, lease, None))  # by name it takes five times as long
            waiting = self._refuse(entry, waiting=waiting) if self._queues[at] else waiting
        if not waiting:
            self._promised, self._devices = -1, ()
        return None

    def _taken(self, *, waiting: bool, behind: bool) -> None:
        """Something started: unless it was let pass, what was reserved has to be looked at again."""
        if not behind:
            self._reservation = None
        if not waiting:
            self._promised, self._devices = -1, ()

    def _refuse(self, entry: int, *, waiting: bool) -> bool:
        """The entry does not fit before something comes back; the first such has the reservation."""
        if not waiting:
            self._wait(entry)
        self._refused.add(entry)
        return True

    def ended(self, lease: Lease) -> None:
        """The attempt that held the lease has ended, or given it back."""
        self._beyond.pop(lease.serial, None)

    def size(self, at: int) -> Size:
        """How many GPUs elastic Step `at` is to have."""
        base = self._demands[at].gpu_count
        return self._sizes.get(at) or Size(base, self._spans[at].most if at in self._spans else base)

    def asks(self, at: int) -> int:
        """How many GPUs Step `at` is to start with where others want some, too."""
        base = self._demands[at].gpu_count
        if at not in self._spans:
            return base
        size = self.size(at)
        if size.most < base:
            return max(size.most, self._spans[at].least)
        return max(base, size.firm, self._kept(at))

    def _kept(self, at: int) -> int:
        """How many GPUs elastic Step `at` is to have again, as far as its marks still allow it."""
        return min(self._last.get(at, self._demands[at].gpu_count), self.size(at).most)

    def resize(self, at: int, size: Size) -> None:
        """From its next start on, elastic Step `at` has another number of GPUs."""
        self._sizes[at] = size
        self._anew()

    def forget(self) -> None:
        """Something else has changed what fits: a device was lost, or is there again."""
        self._anew()

    def _anew(self) -> None:
        self._seen = self._room.returned
        self._reservation = None
        self._refused.clear()

    def _wait(self, entry: int) -> None:
        if entry != self._promised:
            self._promised, self._devices, self._reservation = entry, (), None
            self._refused.clear()

    def _first(self, at: int, entry: int, now: int) -> Lease | None:
        """A lease for a Step that nothing more urgent waits for."""
        if at not in self._spans:
            return self._alone(at, self._world.grant(at))
        span, base = self._spans[at], self._demands[at].gpu_count
        size = self.size(at)
        if size.most < base:
            fewer = self._demands[at]._replace(gpu_count=max(size.most, span.least))
            return self._room.grant(fewer, quick=self._quicks[at])
        lease = self._world.grant(at)
        if lease is None:
            lease = self._shrunk(at, entry, now) if span.least < base else None
        elif size.most > base:
            lease = self._grown(at, lease, size)
        if lease is not None and len(lease.devices) < self._kept(at) and self._is_returning(at, lease):
            self._beyond.pop(lease.serial, None)
            self._give_back(lease)
            return None
        return self._alone(at, lease)

    def _alone(self, at: int, lease: Lease | None) -> Lease | None:
        """The lease; None where it would have less used devices in a moment: some are being left."""
        used = _use(self._room, lease) if lease is not None and lease.devices else (0, 0)
        leaving = self._world.returning() if any(used) else ()
        if lease is None or not leaving:
            return lease
        later = self._room.copy()
        for one in (lease, *leaving):
            later.release(one)
        demand = self._demands[at]._replace(gpu_count=len(lease.devices))
        other = later.grant(demand, quick=self._quicks[at])
        if other is None or _use(later, other) >= used:
            return lease
        self._beyond.pop(lease.serial, None)
        self._give_back(lease)
        return None

    def _is_returning(self, at: int, less: Lease) -> bool:
        """Whether it could have its last size in a moment: what has ended is leaving its devices."""
        leaving = self._world.returning()
        if not leaving:
            return False
        later = self._room.copy()
        for lease in (less, *leaving):
            later.release(lease)
        return later.grant(self._demands[at]._replace(gpu_count=self._kept(at))) is not None

    def _grown(self, at: int, lease: Lease, size: Size) -> Lease | None:
        """More than the baseline, as far as the pool goes and all that is ready for a GPU still fits."""
        base = self._demands[at].gpu_count
        left = min(size.most - base, self._pool - sum(self._beyond.values()))
        others = self._others(at) if left > 0 else None
        firm = max(size.firm, self._kept(at)) - base
        if others is None:
            left, others = min(left, firm), []
        shared = self._sharing(others) if left > firm else None
        if shared is None:
            left = min(left, firm)
        if left <= 0:
            return lease
        least = self._room.shared(lease)
        self._give_back(lease)
        for more in range(left, 0, -1):
            grown = self._room.grant(
                self._demands[at]._replace(gpu_count=base + more), quick=self._quicks[at]
            )
            if grown is None:
                continue
            alone = self._room.shared(grown) <= least
            if more <= size.firm - base or (alone and (more <= firm or self._all_fit(others, shared or 0))):
                self._beyond[grown.serial] = more
                return grown
            self._give_back(grown)
        return self._world.grant(at)

    def _others(self, at: int) -> list[Demand] | None:
        """What else is ready for a GPU; None: too much to leave anything over."""
        found: list[Demand] = []
        for step, many in self._scheduler.queued():
            if self._demands[step].gpu_count:
                found += [self._demands[step]] * (many - (step == at))
                if len(found) > _MOST_OTHERS:
                    return None
        return found

    def _all_fit(self, demands: Sequence[Demand], most_shared: int) -> bool:
        """Whether all these could start, too, with no more devices shared than that."""
        shared = self._sharing(demands)
        return shared is not None and shared <= most_shared

    def _sharing(self, demands: Sequence[Demand]) -> int | None:
        """How many devices would be shared if all these started, too; None: not all fit."""
        later, found = self._room.copy(), 0
        for demand in demands:
            lease = later.grant(demand)
            if lease is None:
                return None
            found += later.shared(lease)
        return found

    def _shrunk(self, at: int, entry: int, now: int) -> Lease | None:
        """Less than the baseline, when that ends no later than waiting for all of it."""
        demand, length = self._demands[at], self._world.length
        self._wait(entry)
        held = self._reserved(at, now)
        for count in range(demand.gpu_count - 1, self._spans[at].least - 1, -1):
            lease = self._room.grant(demand._replace(gpu_count=count), quick=self._quicks[at])
            if lease is None:
                continue
            if held is None:
                return lease
            whole = lease._replace(devices=held.devices)
            if now + length(at, lease) <= held.time + length(at, whole):
                return lease
            self._give_back(lease)
            return None  # on even fewer it ends later still
        return None

    def _behind(self, at: int, now: int) -> Lease | None:
        """A lease that does not delay the Step that waits; of the last size where that does not, either."""
        demand = self._demands[at]
        more = self._kept(at) - demand.gpu_count if at in self._spans else 0
        if 0 < more <= self._pool - sum(self._beyond.values()):
            lease = self._beside(at, demand._replace(gpu_count=demand.gpu_count + more), now)
            if lease is not None:
                self._beyond[lease.serial] = more
                return lease
        found = self._beside(at, demand, now)
        lease = self._alone(at, found)
        if found is not None and lease is None:
            self._reservation = None  # it counts with what was given back just now
        return lease

    def _beside(self, at: int, demand: Demand, now: int) -> Lease | None:
        quick, room = self._quicks[at], self._room
        lease = room.grant(demand, quick=quick)
        if lease is None:
            return None
        held = self._reservation
        if held is None:
            self._give_back(lease)
            held = self._reserved(self._scheduler.locate(self._promised)[0], now)
            lease = room.grant(demand, quick=quick)
            if held is None or lease is None:
                return lease
        if now + self._world.length(at, lease) <= held.time:
            as_is = demand is not self._demands[at]
            return lease if as_is else self._as_planned(at, lease, most=held.time - now)
        self._give_back(lease)
        lease = beside(room, demand, held, quick=quick)
        self._seen = room.returned
        return lease

    def _as_planned(self, at: int, lease: Lease, *, most: int) -> Lease | None:
        """The same on the devices that the plan has for it, where it takes no longer than `most` there."""
        if self._planned[at] in ((), lease.devices):
            return lease
        self._give_back(lease)
        planned = self._world.grant(at)
        if planned is None or self._world.length(at, planned) <= most:
            return planned
        self._give_back(planned)
        return self._room.grant(self._demands[at], quick=self._quicks[at])

    def _give_back(self, lease: Lease) -> None:
        """Undo a grant: nothing has come back by that."""
        self._room.release(lease)
        self._seen = self._room.returned

    def _reserved(self, at: int, now: int) -> Reservation | None:
        """When Step `at`, which waits, will fit."""
        found = self._reservation
        if found is None:
            running = self._world.running(now)
            found = self._reservation = reserve(
                self._room, self._demands[at], running, preferred=self._devices, quick=self._quicks[at]
            )
            if found is not None:
                self._devices = found.devices
        return found


def _use(room: Room, lease: Lease) -> tuple[int, int]:
    """How many of its devices others use, too, and the GiB that processes outside DSec hold of them."""
    return room.shared(lease), room.foreign(lease)
