"""Two reports of the same flows: what became worse, and what better."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.netcheck.readings import MILLION, at_most_ppm
from dsec_cli.netcheck.wording import ms, rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.netcheck.document import Report
    from dsec_cli.netcheck.measuring import Measured
    from dsec_cli.netcheck.replay import Leg

_MUCH = 1.25
"""Rates and times differ by less between two runs of one path."""
_SHORT_NS = 500_000
"""Times below differ by what the host did meanwhile."""


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
        rows += _changes(leg.flow.name, before.pop(leg.flow.name, None), leg)
    rows += [Change(name, "flow", "measured", "not measured", "gone") for name in before]
    return tuple(rows)


def _changes(name: str, old: Leg | None, new: Leg) -> Iterator[Change]:
    if old is None:
        yield Change(name, "flow", "not measured", "measured", "new")
        return
    figures = (dict(_figures(old.found)), dict(_figures(new.found)))
    for key in sorted(figures[0].keys() | figures[1].keys()):
        one, two = figures[0].get(key), figures[1].get(key)
        turn = "new" if one is None else "gone" if two is None else _turn(key, one, two)
        yield Change(name, key, _shown(key, one), _shown(key, two), turn)


def _figures(found: Measured) -> Iterator[tuple[str, int]]:
    """Of a flow, by name; what was not measured is missing."""
    if found.echo is not None and found.echo.delays is not None:
        yield "round trip", found.echo.delays.median_ns
    if found.sizes is not None:
        for name, count in (("mtu there", found.sizes.forward_bytes), ("mtu back", found.sizes.back_bytes)):
            if count is not None:
                yield name, count
    if found.stream is not None and found.stream.sent:
        lost = max(0, found.stream.sent - found.stream.received - found.stream.peer_drops)
        yield "loss", lost * MILLION // found.stream.sent
        yield "loss at most", at_most_ppm(lost, found.stream.sent)
        if found.stream.waiting is not None:
            yield "queue", found.stream.waiting.median_ns
    if found.bulk is not None:
        yield "tcp there", found.bulk.forward_bps
        if found.bulk.back_bps is not None:
            yield "tcp back", found.bulk.back_bps
    if found.messages is not None and found.messages.delays is not None:
        yield "message", found.messages.delays.median_ns


_TIMES = ("round trip", "queue", "message")
_LOSSES = ("loss", "loss at most")


def _turn(key: str, one: int, two: int) -> str:
    if key in _LOSSES:
        return (
            "same" if abs(two - one) < 1000 or key == "loss at most" else "worse" if two > one else "better"
        )
    if key in _TIMES:
        if max(one, two) < _SHORT_NS or max(one, two) < _MUCH * max(1, min(one, two)):
            return "same"
        return "worse" if two > one else "better"
    if key.startswith("mtu"):
        return "same" if one == two else "worse" if two < one else "better"
    if max(one, two) < _MUCH * max(1, min(one, two)):
        return "same"
    return "worse" if two < one else "better"


def _shown(key: str, value: int | None) -> str:
    if value is None:
        return "not measured"
    if key in _TIMES:
        return ms(value)
    if key in _LOSSES:
        return f"{value / 10_000:.3g} %"
    return rate(value) if key.startswith("tcp") else str(value)
