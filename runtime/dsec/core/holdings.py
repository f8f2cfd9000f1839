"""Who held which device, and how long: from the events of a run.

A device that several hold at a time is split evenly among them, so that what Steps held and what
devices were held add up to the same. A resident worker holds its devices from its start to its end;
while it serves a call they are held by that call's Step.
"""

from __future__ import annotations

from dsec.core.calendar import apart_us
from dsec.events import Continue, Exit, Pause, Resize, RunStart, Spawn, WorkerStart, WorkerStop
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TypeAlias

    from dsec.events import Event

    Owner: TypeAlias = tuple[str, str]
    """A Step and "", or "" and the worker that held the device while it served no call."""


class Holding(Record):
    """Devices in one hand for a time, in microseconds from the start of the first executor."""

    step: str
    """"": a worker that served no call."""
    worker: str
    """Set where `step` is "" alone."""
    devices: tuple[str, ...]
    from_us: int
    to_us: int


class Holdings:
    """Takes the events of a run in order; can be asked at any time."""

    def __init__(self) -> None:
        self.closed: list[Holding] = []
        self.last_us = 0
        """When the last event was."""
        self.shifts_us: dict[int, int] = {}
        """By executor, when its clock began."""
        self._first: RunStart | None = None
        self._shift_us = 0
        self._open: dict[tuple[str, int, int], tuple[Spawn, int]] = {}
        self._lent: dict[tuple[str, int, int], Spawn] = {}
        self._workers: dict[str, _Hands] = {}

    def take(self, event: Event) -> None:
        """Add the next event."""
        if isinstance(event, RunStart):
            self._took_over(event)
        now = self._shift_us + event.at_us
        if now > self.last_us:
            self.last_us = now
        if isinstance(event, Spawn):
            self._begun(event, now)
        elif isinstance(event, Exit):
            self._ended(event, now)
        elif isinstance(event, (Pause, Continue, Resize)):
            self._changed(event, now)
        elif isinstance(event, WorkerStart):
            if event.devices:
                self._workers[event.worker] = _Hands(event.devices, now)
        elif isinstance(event, WorkerStop):
            hands = self._workers.pop(event.worker, None)
            if hands is not None:
                self.closed += hands.until(event.worker, now)

    def all(self, now_us: int | None = None) -> list[Holding]:
        """All holdings; what goes on is held until now, or without `now_us` until the last event."""
        now = self.last_us if now_us is None else max(now_us, self.last_us)
        return [*self.closed, *self._going_on(now)]

    def open(self, now_us: int) -> list[Holding]:
        """Those that go on, until now."""
        return list(self._going_on(max(now_us, self.last_us)))

    def time(self, now_us: int) -> int:
        """What has passed of the run when the last executor's clock shows `now_us`."""
        return self._shift_us + now_us

    def _took_over(self, event: RunStart) -> None:
        # What an earlier executor left behind ended with its last event at the latest that is known.
        self.closed += self._going_on(self.last_us)
        self._open.clear()
        self._lent.clear()
        self._workers.clear()
        if self._first is None:
            self._first = event
        # A calendar that was set back must not make a session begin before the one before it ended.
        self._shift_us = max(apart_us(self._first, event), self.last_us)
        self.shifts_us[event.session] = self._shift_us

    def _begun(self, event: Spawn, now: int) -> None:
        if not event.devices:
            return
        self._open[event.step, event.iteration, event.attempt] = (event, now)
        hands = self._workers.get(event.worker) if event.worker else None
        if hands is not None:
            self.closed += hands.called(event.worker, now)

    def _ended(self, event: Exit, now: int) -> None:
        key = (event.step, event.iteration, event.attempt)
        self._lent.pop(key, None)
        begun, since = self._open.pop(key, (None, 0))
        if begun is None:
            return
        hands = self._workers.get(begun.worker) if begun.worker else None
        if hands is not None:
            hands.answered(now)
        devices = hands.devices if hands is not None else begun.devices
        if devices:
            self.closed.append(Holding(event.step, "", devices, since, now))

    def _changed(self, event: Pause | Continue | Resize, now: int) -> None:
        """It lent its GPUs, has them back, or has others than before."""
        key = (event.step, event.iteration, event.attempt)
        if isinstance(event, Continue):
            if (lender := self._lent.pop(key, None)) is not None:
                self._open[key] = (lender, now)
            return
        if key not in self._open or (isinstance(event, Pause) and event.how != "suspended"):
            return
        begun, since = self._open.pop(key)
        self.closed.append(Holding(event.step, "", begun.devices, since, now))
        if isinstance(event, Pause):
            self._lent[key] = begun
        else:
            self._open[key] = (begun._replace(devices=event.devices), now)

    def _going_on(self, now: int) -> Iterator[Holding]:
        for begun, since in self._open.values():
            hands = self._workers.get(begun.worker) if begun.worker else None
            devices = hands.devices if hands is not None else begun.devices
            if devices:
                yield Holding(begun.step, "", devices, since, now)
        for name, hands in self._workers.items():
            yield from hands.until(name, now)


class _Hands:
    """A worker with devices: whether it serves calls, and since when it serves none."""

    __slots__ = ("_calls", "_free_us", "devices")

    def __init__(self, devices: tuple[str, ...], now: int) -> None:
        self.devices = devices
        self._calls = 0
        self._free_us = now

    def called(self, name: str, now: int) -> list[Holding]:
        """A call begins; gives what the worker held by itself until now."""
        found = self.until(name, now)
        self._calls += 1
        return found

    def answered(self, now: int) -> None:
        """A call ended."""
        self._calls -= 1
        if not self._calls:
            self._free_us = now

    def until(self, name: str, now: int) -> list[Holding]:
        """What it has held by itself since its last call."""
        if self._calls or now <= self._free_us:
            return []
        return [Holding("", name, self.devices, self._free_us, now)]


def shares(holdings: Iterable[Holding]) -> dict[tuple[Owner, str], int]:
    """Microseconds by owner and device; a device that several hold is split evenly."""
    by_device: dict[str, list[tuple[int, int, Owner]]] = {}
    for one in holdings:
        for device in one.devices:
            by_device.setdefault(device, []).append((one.from_us, one.to_us, (one.step, one.worker)))
    found: dict[tuple[Owner, str], int] = {}
    for device, parts in sorted(by_device.items()):
        for owner, amount in _split(parts).items():
            found[owner, device] = amount
    return found


def _split(parts: list[tuple[int, int, Owner]]) -> dict[Owner, int]:
    """One device's time among its holders."""
    marks: list[tuple[int, int, Owner]] = []
    for begin, end, owner in parts:
        if end > begin:
            marks += [(begin, 1, owner), (end, -1, owner)]
    marks.sort()
    found: dict[Owner, int] = {}
    holders: dict[Owner, int] = {}
    many, at = 0, 0
    for when, change, owner in marks:
        if many and when > at:
            _give(found, holders, many, when - at)
        at = when
        many += change
        left = holders.get(owner, 0) + change
        if left:
            holders[owner] = left
        else:
            holders.pop(owner, None)
    return found


def _give(found: dict[Owner, int], holders: Mapping[Owner, int], many: int, amount: int) -> None:
    """Split an amount of time; what does not divide goes to the first ones."""
    each, rest = divmod(amount, many)
    for owner, count in sorted(holders.items()):
        extra = min(rest, count)
        rest -= extra
        found[owner] = found.get(owner, 0) + each * count + extra


class Covered:
    """Times that are covered by what was added, in order and without overlaps; what is late costs little."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, int]] = []
        self.total = 0

    def add(self, begin: int, end: int) -> None:
        """Cover from `begin` to `end`."""
        parts = self.parts
        later: list[tuple[int, int]] = []
        while parts and parts[-1][1] >= begin:
            low, high = parts.pop()
            if low > end:
                later.append((low, high))
                continue
            self.total -= high - low
            begin, end = min(begin, low), max(end, high)
        parts.append((begin, end))
        parts += reversed(later)
        self.total += end - begin

    def with_open(self, begins: Iterable[int], now: int) -> int:
        """The total if, besides, all is covered from the least of `begins` until now."""
        begin = min(begins, default=now)
        at, total = len(self.parts), self.total
        while at and self.parts[at - 1][1] >= begin:
            at -= 1
            total -= self.parts[at][1] - max(begin, self.parts[at][0])
        return total + max(0, now - begin)


def spans(holdings: Iterable[Holding]) -> dict[str, list[tuple[int, int]]]:
    """By device when it was held by anybody: in order, without overlaps."""
    found: dict[str, Covered] = {}
    for one in holdings:
        if one.to_us > one.from_us:
            for device in one.devices:
                found.setdefault(device, Covered()).add(one.from_us, one.to_us)
    return {device: covered.parts for device, covered in sorted(found.items())}


class HeldTime:
    """Device time held so far, kept current without looking at what ended long ago."""

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._seen = 0
        self._covered: dict[str, Covered] = {}

    def until(self, now_us: int) -> int:
        """All devices together; `now_us` from the start of the first executor."""
        closed = self._holdings.closed
        for one in closed[self._seen :]:
            for device in one.devices if one.to_us > one.from_us else ():
                self._covered.setdefault(device, Covered()).add(one.from_us, one.to_us)
        self._seen = len(closed)
        open_: dict[str, list[int]] = {}
        for one in self._holdings.open(now_us):
            for device in one.devices:
                open_.setdefault(device, []).append(one.from_us)
        none = Covered()
        names = self._covered.keys() | open_.keys()
        return sum(self._covered.get(name, none).with_open(open_.get(name, ()), now_us) for name in names)
