"""Two reports of the same flows: what became worse, and what better."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.netcheck.readings import MILLION, at_most_ppm, hosts_bound
from dsec_cli.netcheck.wording import ms, rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.netcheck.document import Report
    from dsec_cli.netcheck.measuring import Measured
    from dsec_cli.netcheck.readings import Delays
    from dsec_cli.netcheck.replay import Floor, Leg

_MUCH = 1.25
"""Rates and times differ by less between two runs of one path."""
_BOUND = 6.0
"""Rates that hosts bound follow their processors, and differ by up to that factor."""
_SHORT_NS = 500_000
"""Times below differ by what the host did meanwhile."""
_LITTLE_PPM = 1000


class _Figure(Record):
    """One number of one report, and how far it may be off."""

    value: int
    noise_ns: int = 0
    """Of a time: how far those of one run lie apart, here and within this host alone."""
    bound: bool = False
    """Of a rate: whether the hosts bound it, not the path."""
    lost: int = 0
    sent: int = 0
    """Of a share of losses."""


class Change(Record):
    """One figure of one flow, before and now."""

    flow: str
    figure: str
    before: str
    now: str
    turn: str
    """`worse`, `better`, `same`; `gone`: it could not be measured any more, `new`: before it could not."""


def compare(old: Report, new: Report) -> tuple[Change, ...]:
    """Every figure of every flow that either has, in the order of the new report."""
    before = {leg.flow.name: leg for leg in old.legs}
    rows: list[Change] = []
    for leg in new.legs:
        rows += _changes(leg.flow.name, before.pop(leg.flow.name, None), leg, floors=(old.floor, new.floor))
    rows += [Change(name, "flow", "measured", "not measured", "gone") for name in before]
    return tuple(rows)


def _changes(name: str, old: Leg | None, new: Leg, *, floors: tuple[Floor, Floor]) -> Iterator[Change]:
    if old is None:
        yield Change(name, "flow", "not measured", "measured", "new")
        return
    figures = (dict(_figures(old.found, floors[0].found)), dict(_figures(new.found, floors[1].found)))
    for key in sorted(figures[0].keys() | figures[1].keys()):
        one, two = figures[0].get(key), figures[1].get(key)
        turn = "new" if one is None else "gone" if two is None else _turn(key, one, two)
        yield Change(name, key, _shown(key, one), _shown(key, two), turn)


def _figures(found: Measured, floor: Measured) -> Iterator[tuple[str, _Figure]]:
    """Of a flow, by name; what was not measured is missing."""
    noise = _spread(floor.echo.delays if floor.echo is not None else None)
    if found.echo is not None and found.echo.delays is not None:
        yield "round trip", _time(found.echo.delays, noise)
    if found.sizes is not None:
        for name, count in (("mtu there", found.sizes.forward_bytes), ("mtu back", found.sizes.back_bytes)):
            if count is not None:
                yield name, _Figure(count)
    yield from _streams(found, noise)
    if found.bulk is not None:
        most = None if floor.bulk is None else floor.bulk.forward_bps
        for name, rate_bps in (("tcp there", found.bulk.forward_bps), ("tcp back", found.bulk.back_bps)):
            if rate_bps is not None:
                yield name, _Figure(rate_bps, bound=hosts_bound(found.bulk, rate_bps, most))
    if found.messages is not None and found.messages.delays is not None:
        yield "message", _time(found.messages.delays, noise + found.messages.waited_ns)


def _streams(found: Measured, noise: int) -> Iterator[tuple[str, _Figure]]:
    for stream, name in ((found.stream, "loss"), (found.back, "loss back")):
        if stream is None or not stream.sent:
            continue
        lost = max(0, stream.sent - stream.received - stream.peer_drops)
        yield name, _Figure(lost * MILLION // stream.sent, lost=lost, sent=stream.sent)
        if name == "loss":
            yield "loss at most", _Figure(at_most_ppm(lost, stream.sent))
            if stream.waiting is not None:
                yield "queue", _time(stream.waiting, noise)


def _time(times: Delays, noise_ns: int) -> _Figure:
    return _Figure(times.median_ns, noise_ns=noise_ns + _spread(times))


def _spread(times: Delays | None) -> int:
    """How far the times of one run lie apart."""
    return 0 if times is None else times.p95_ns - times.least_ns


_TIMES = ("round trip", "queue", "message")
_LOSSES = ("loss", "loss back", "loss at most")


def _turn(key: str, one: _Figure, two: _Figure) -> str:
    if key in _LOSSES:
        more = key != "loss at most" and _more_lost(one, two)
        less = key != "loss at most" and _more_lost(two, one)
        return "worse" if more else "better" if less else "same"
    low, high = sorted((one.value, two.value))
    if key in _TIMES:
        apart = max(_SHORT_NS, one.noise_ns, two.noise_ns)
        if high - low < apart or high < _MUCH * max(1, low):
            return "same"
        return "worse" if two.value > one.value else "better"
    if key.startswith("mtu"):
        return "same" if low == high else "worse" if two.value < one.value else "better"
    if high < (_BOUND if one.bound or two.bound else _MUCH) * max(1, low):
        return "same"
    return "worse" if two.value < one.value else "better"


def _more_lost(one: _Figure, two: _Figure) -> bool:
    """Whether the second lost a larger share than the first: by chance alone in few of a hundred runs."""
    if two.value - one.value < _LITTLE_PPM or two.value < _MUCH * one.value:
        return False
    at_least = MILLION - at_most_ppm(two.sent - two.lost, two.sent)
    return at_least > at_most_ppm(one.lost, one.sent)


def _shown(key: str, figure: _Figure | None) -> str:
    if figure is None:
        return "not measured"
    value = figure.value
    if key in _TIMES:
        return ms(value)
    if key in _LOSSES:
        return f"{value / 10_000:.3g} %"
    return rate(value) if key.startswith("tcp") else str(value)
