"""What a run cost: GPU time by Step and device, its bounds, prices, and what of it was for nothing.

Times are microseconds, amounts millionths of the currency. Whatever is not known is None and makes
what it is part of None: never 0. An amount is rounded once, per Step and device, so sums agree.
"""

from __future__ import annotations

from dsec.core.holdings import shares, spans
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsec.core.holdings import Holding
    from dsec.plan import Budget

HOUR_US = 3_600_000_000
MOST_APART_US = 90_000_000
"""A reading says nothing of what was longer ago."""


class Tier(Record):
    """From how far beyond `max_gpu_hours` on an hour costs how much more."""

    from_permille: int
    """Of `max_gpu_hours`, beyond it: 0 is at once, 250 at a quarter more."""
    factor_permille: int
    """2000: such an hour costs twice the usual."""


class Prices(Record):
    """What an hour costs, in millionths."""

    currency: str
    gpu: Mapping[str, int]
    """By type of device; "": every other."""
    cpu: int | None
    """An hour of a processor."""
    tiers: tuple[Tier, ...]
    """Ascending; beyond the first of them an hour costs more."""

    def of(self, kind: str) -> int | None:
        """An hour of a device of that type."""
        found = self.gpu.get(kind) if kind else None
        return self.gpu.get("") if found is None else found


class Reading(Record):
    """How busy a device was, from the reading before to this one."""

    at_us: int
    """From the start of the first executor."""
    device: str
    busy_permille: int | None


class Own(Record):
    """What the runtime itself took, in microseconds of processor time."""

    executor_us: int | None
    monitor_us: int | None


_UNKNOWN = Own(None, None)


class Cell(Record):
    """What one Step held of one device; `worker` is set where a worker held it without a call."""

    step: str
    worker: str
    device: str
    held_us: int
    cost: int | None


class Idle(Record):
    """What stood idle of the devices while they were held, as far as it was looked at."""

    measured_us: int
    idle_us: int
    cost: int | None


class Settlement(Record):
    """The whole account."""

    currency: str
    """"": there are no prices."""
    cells: tuple[Cell, ...]
    """By Step, worker and device."""
    used_us: int
    least_us: int | None
    most_us: int | None
    cost: int | None
    """Of all that was held, at the usual price."""
    over_us: int
    """Beyond the upper bound."""
    surcharge: int | None
    """What that costs on top of the usual price."""
    short_us: int
    """What is missing to the lower bound."""
    shortfall: int | None
    """What that costs."""
    bill: int | None
    """All three."""
    between_us: int
    """Held by workers that served no call: part of `used_us`."""
    between_cost: int | None
    """Part of `cost`."""
    own: Own
    own_cost: int | None
    """Of the runtime's processor time, beside the bill."""
    idle: Idle | None
    """Part of what was held; None: nothing was measured."""


def settle(
    holdings: Sequence[Holding],
    *,
    kinds: Mapping[str, str],
    budget: Budget | None,
    prices: Prices | None,
    readings: Iterable[Reading] = (),
    own: Own | None = None,
) -> Settlement:
    """The account of a run; `kinds`: the type of each device by UUID."""
    cells = tuple(
        Cell(step, worker, device, held, _price(held, prices, kinds.get(device, "")))
        for ((step, worker), device), held in sorted(shares(holdings).items())
    )
    used = sum(cell.held_us for cell in cells)
    least, most = (None, None) if budget is None else (_us(budget.least_ms), _us(budget.most_ms))
    over = 0 if most is None else max(0, used - most)
    short = 0 if least is None else max(0, least - used)
    between = [cell for cell in cells if not cell.step]
    cost = None if prices is None else _sum(cell.cost for cell in cells)
    surcharge = _surcharge(over, most, used, cost, prices)
    shortfall = _shortfall(short, used, cost, prices)
    return Settlement(
        currency="" if prices is None else prices.currency,
        cells=cells,
        used_us=used,
        least_us=least,
        most_us=most,
        cost=cost,
        over_us=over,
        surcharge=surcharge,
        short_us=short,
        shortfall=shortfall,
        bill=_sum((cost, surcharge, shortfall)),
        between_us=sum(cell.held_us for cell in between),
        between_cost=None if prices is None else _sum(cell.cost for cell in between),
        own=own or _UNKNOWN,
        own_cost=_own_cost(own or _UNKNOWN, prices),
        idle=_idle(holdings, readings, kinds, prices),
    )


def _us(ms: int | None) -> int | None:
    return None if ms is None else ms * 1000


def _sum(amounts: Iterable[int | None]) -> int | None:
    """The sum of what is known, if all of it is."""
    total = 0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _rounded(amount: int, by: int) -> int:
    return (2 * amount + by) // (2 * by)


def _price(time_us: int, prices: Prices | None, kind: str) -> int | None:
    hour = None if prices is None else prices.of(kind)
    return None if hour is None else _rounded(time_us * hour, HOUR_US)


def _surcharge(over: int, most: int | None, used: int, cost: int | None, prices: Prices | None) -> int | None:
    """Tier by tier, at the mean price of the run: which hours were the last ones does not matter."""
    if prices is None:
        return None
    if not over or most is None:
        return 0
    if cost is None:
        return None
    total = 0
    tiers = prices.tiers
    for at, tier in enumerate(tiers):
        begin = most * tier.from_permille // 1000
        end = most * tiers[at + 1].from_permille // 1000 if at + 1 < len(tiers) else over
        hours = max(0, min(over, end) - begin)
        total += _rounded(hours * cost * (tier.factor_permille - 1000), used * 1000)
    return total


def _shortfall(short: int, used: int, cost: int | None, prices: Prices | None) -> int | None:
    """At the mean price of the run, or where nothing was held at the price of any other device."""
    if prices is None:
        return None
    if not short:
        return 0
    if not used:
        return _price(short, prices, "")
    return None if cost is None else _rounded(short * cost, used)


def _own_cost(own: Own, prices: Prices | None) -> int | None:
    time = _sum((own.executor_us, own.monitor_us))
    if time is None or prices is None or prices.cpu is None:
        return None
    return _rounded(time * prices.cpu, HOUR_US)


def _idle(
    holdings: Sequence[Holding],
    readings: Iterable[Reading],
    kinds: Mapping[str, str],
    prices: Prices | None,
) -> Idle | None:
    """Each reading speaks for the time since the one before, as far as its device was held."""
    held = spans(holdings)
    before: dict[str, int] = {}
    measured: dict[str, int] = {}
    idle: dict[str, int] = {}
    at: dict[str, int] = {}
    for one in sorted(readings):
        begin = max(before.get(one.device, 0), one.at_us - MOST_APART_US)
        before[one.device] = one.at_us
        parts = held.get(one.device)
        if one.busy_permille is None or not parts:
            continue
        first = at.get(one.device, 0)
        while first < len(parts) and parts[first][1] <= begin:
            first += 1
        at[one.device] = first
        time = _overlap(parts, first, begin, one.at_us)
        measured[one.device] = measured.get(one.device, 0) + time
        share = 1000 - min(1000, max(0, one.busy_permille))
        idle[one.device] = idle.get(one.device, 0) + time * share // 1000
    if not sum(measured.values()):
        return None
    costs = (_price(time, prices, kinds.get(device, "")) for device, time in sorted(idle.items()))
    return Idle(sum(measured.values()), sum(idle.values()), None if prices is None else _sum(costs))


def _overlap(parts: Sequence[tuple[int, int]], first: int, begin: int, end: int) -> int:
    """How much of the time from `begin` to `end` is in the parts, which are looked at from the `first`."""
    total = 0
    for at in range(first, len(parts)):
        low, high = parts[at]
        if low >= end:
            break
        total += max(0, min(high, end) - max(low, begin))
    return total
