"""What a simulated history comes to: use of devices, waits, hunger, work done twice, recoveries, cost."""

from __future__ import annotations

from dsec.core.overlap import covered, thousandths
from dsec.inventory import AMPLE_CPU_M
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsec.core.simulated import History, Piece, Scene

    _Held = dict[str, list[tuple[int, int]]]
    """Per device, from when until when each Step held it."""

BUCKETS = 60
"""Parts that the time is cut into to show use over time."""
HUNGRY = 800
"""Thousandths of its time that a Step may spend waiting before it counts as hungry."""


class Spread(Record):
    """Some durations: how many, the middle, the nearest ranks of 95 and 99 in 100, the longest."""

    many: int
    median: int
    p95: int
    p99: int
    longest: int


class Use(Record):
    """How much of what there was is held, in thousandths; None: there was none, no time, or nobody knows."""

    gpu: int | None
    """Device time during which at least one Step holds the device."""
    shared: int | None
    """Device time during which more than one does."""
    gpu_there: int | None
    """As `gpu`, of the time during which devices were not lost."""
    kept: int | None
    """Device time during which only resident workers that serve no call hold the device."""
    cpu: int | None
    over_time: tuple[int, ...]
    """As `gpu`, in BUCKETS equal parts of the time."""


class Cost(Record):
    """In millionths of the price's unit; None: a price is not known."""

    all: int | None
    """Every device for the whole time."""
    idle: int | None
    """The part of it that went to devices that no Step held."""
    unpriced: tuple[str, ...]
    """Types without a price."""


class Measures(Record):
    """One history in figures; times in milliseconds."""

    end_ms: int
    steps: int
    """Instances that were done."""
    never: int
    jobs: int
    jobs_done: int
    use: Use
    waits: Spread
    """Of every instance, from when it could have started to its first start."""
    job_waits: Spread
    """Of every job, from its arrival to its first start."""
    job_times: Spread
    """Of every job that was done, from its arrival to its end."""
    hunger: Spread
    """Per instance: the share of its time that it waited, in thousandths."""
    hungry: int
    """Instances of which that is above HUNGRY."""
    stops: tuple[tuple[str, int], ...]
    """Attempts that did not end well, by cause."""
    again_ms: int
    """Work that had to be done again, as time of its attempts."""
    resized: tuple[int, int]
    """Attempts with fewer, and with more GPUs than their baseline."""
    evicted: int
    """How often a resident worker made room for another Step."""
    cost: Cost


def spread(values: Iterable[int]) -> Spread:
    """Nearest ranks; zeros for no values."""
    found = sorted(values)
    if not found:
        return Spread(0, 0, 0, 0, 0)
    rank = [found[(len(found) * share + 99) // 100 - 1] for share in (50, 95, 99)]
    return Spread(len(found), rank[0], rank[1], rank[2], found[-1])


def measure(scene: Scene, history: History, prices: Mapping[str, int] | None = None) -> Measures:
    """`prices`: millionths per device-hour, by device type; "": of every other."""
    work = scene.work
    real = [piece for piece in history.pieces if piece.at not in work.arrivals]
    jobs = _jobs(scene, real, history)
    hunger = _hunger(real)
    held = _held(scene, real)
    return Measures(
        end_ms=history.end_ms,
        steps=sum(piece.cause == "ok" for piece in real),
        never=sum(at not in work.arrivals for at, _ in history.never),
        jobs=len(jobs),
        jobs_done=sum(job.done for job in jobs.values()),
        use=_use(scene, real, history, held),
        waits=spread(piece.from_ms - piece.ready_ms for piece in real if piece.attempt == 1),
        job_waits=spread(job.start - job.arrival for job in jobs.values() if job.start >= 0),
        job_times=spread(job.end - job.arrival for job in jobs.values() if job.done),
        hunger=spread(hunger),
        hungry=sum(one > HUNGRY for one in hunger),
        stops=_stops(real),
        again_ms=sum(piece.lost_ms for piece in real),
        resized=_resized(scene, real),
        evicted=len(history.evicted),
        cost=_cost(scene, history, held, prices or {}),
    )


def _hunger(real: Sequence[Piece]) -> list[int]:
    """Of every instance, the share of its time that it waited; all its attempts together."""
    waited: dict[tuple[int, int], int] = {}
    whole: dict[tuple[int, int], int] = {}
    for piece in real:
        key = piece.at, piece.iteration
        waited[key] = waited.get(key, 0) + piece.from_ms - piece.ready_ms
        whole[key] = whole.get(key, 0) + piece.to_ms - piece.ready_ms
    return [thousandths(waited[key], whole[key]) for key in waited if whole[key]]


def _stops(real: Sequence[Piece]) -> tuple[tuple[str, int], ...]:
    stops: dict[str, int] = {}
    for piece in real:
        if piece.cause != "ok":
            stops[piece.cause] = stops.get(piece.cause, 0) + 1
    return tuple(sorted(stops.items()))


class _Job:
    __slots__ = ("arrival", "done", "end", "start")

    def __init__(self) -> None:
        self.arrival = 0
        self.start = self.end = -1
        self.done = True


def _jobs(scene: Scene, real: Sequence[Piece], history: History) -> dict[int, _Job]:
    work = scene.work
    jobs = {job: _Job() for job in work.jobs}
    for at, arrival in work.arrivals.items():
        jobs[work.jobs[at]].arrival = arrival
    for piece in real:
        job = jobs[work.jobs[piece.at]]
        job.start = piece.from_ms if job.start < 0 else min(job.start, piece.from_ms)
        job.end = max(job.end, piece.to_ms)
    for at, _ in history.never:
        jobs[work.jobs[at]].done = False
    return jobs


def _resized(scene: Scene, real: Sequence[Piece]) -> tuple[int, int]:
    steps = scene.work.steps
    changes = [len(piece.devices) - steps[piece.at].demand.gpu_count for piece in real]
    return sum(one < 0 for one in changes), sum(one > 0 for one in changes)


def _held(scene: Scene, real: Sequence[Piece]) -> _Held:
    held: _Held = {device.uuid: [] for machine in scene.machines for device in machine.devices}
    for piece in real:
        for uuid in piece.devices:
            held[uuid].append((piece.from_ms, piece.to_ms))
    return held


def _use(scene: Scene, real: Sequence[Piece], history: History, by_device: _Held) -> Use:
    end = history.end_ms
    busy = sum(map(covered, by_device.values()))
    gone = _gone(history)
    # Until its loss is noticed a device is still held, and no more there.
    usable = sum(covered([*held, *gone.get(uuid, ())]) for uuid, held in by_device.items()) - sum(
        map(covered, gone.values())
    )
    there = len(by_device) * end - sum(map(covered, gone.values()))
    return Use(
        gpu=_share(busy, len(by_device) * end),
        shared=_share(sum(map(_twice, by_device.values())), len(by_device) * end),
        gpu_there=_share(usable, there),
        kept=_share(_kept(history, by_device), len(by_device) * end),
        cpu=_cpu(scene, real, end),
        over_time=_over_time(by_device, end) if by_device and end else (),
    )


def _kept(history: History, by_device: _Held) -> int:
    """Device time that is an idle worker's alone."""
    alone: _Held = {}
    for one in history.kept:
        for uuid in one.devices:
            alone.setdefault(uuid, []).append((one.from_ms, one.to_ms))
    return sum(
        covered([*by_device[uuid], *times]) - covered(by_device[uuid]) for uuid, times in alone.items()
    )


def _gone(history: History) -> _Held:
    """By device when it was lost, until all was done."""
    found: _Held = {}
    for uuid, since, until in history.away:
        if since < min(until, history.end_ms):
            found.setdefault(uuid, []).append((since, min(until, history.end_ms)))
    return found


def _share(part: int, whole: int) -> int | None:
    return thousandths(part, whole) if whole > 0 else None


def _cpu(scene: Scene, real: Sequence[Piece], end: int) -> int | None:
    steps = scene.work.steps
    held = sum(
        min(steps[piece.at].demand.cpu_m, scene.machines[piece.machine].cpu_m) * (piece.to_ms - piece.from_ms)
        for piece in real
    )
    there = [machine.cpu_m for machine in scene.machines]
    return None if max(there, default=0) >= AMPLE_CPU_M else _share(held, sum(there) * end)


def _twice(intervals: Sequence[tuple[int, int]]) -> int:
    """How long at least two of the intervals lie over each other."""
    points = sorted([(start, 1) for start, _ in intervals] + [(end, -1) for _, end in intervals])
    total = depth = before = 0
    for when, change in points:
        if depth > 1:
            total += when - before
        depth, before = depth + change, when
    return total


def _over_time(by_device: _Held, end: int) -> tuple[int, ...]:
    """Device time held in each part, in thousandths."""
    edges = [end * at // BUCKETS for at in range(BUCKETS + 1)]
    busy = [0] * BUCKETS
    for intervals in by_device.values():
        for start, until in _merged(intervals):
            at = min(start * BUCKETS // end, BUCKETS - 1)
            while at < BUCKETS and edges[at] < until:
                busy[at] += max(0, min(until, edges[at + 1]) - max(start, edges[at]))
                at += 1
    many = len(by_device)
    return tuple(
        busy[at] * 1000 // (many * (edges[at + 1] - edges[at])) if edges[at + 1] > edges[at] else 0
        for at in range(BUCKETS)
    )


def _merged(intervals: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _cost(scene: Scene, history: History, by_device: _Held, prices: Mapping[str, int]) -> Cost:
    devices = {device.uuid: device.type for machine in scene.machines for device in machine.devices}
    known = {kind: prices.get(kind, prices.get("")) for kind in devices.values()}
    unpriced = tuple(sorted(kind for kind, price in known.items() if price is None))
    if unpriced or not devices:
        return Cost(None, None, unpriced)
    whole = sum((known[kind] or 0) * history.end_ms for kind in devices.values())
    busy = sum((known[devices[uuid]] or 0) * covered(times) for uuid, times in by_device.items())
    return Cost(_per_hour(whole), _per_hour(whole - busy), ())


def _per_hour(amount: int) -> int:
    """A price per hour times milliseconds, as an amount."""
    return (amount + 1_800_000) // 3_600_000
