"""What is replayed: flows between Steps, as a plan has them or as they are written."""

from __future__ import annotations

from dsec import units
from dsec.core.links import QUIC, ROCE, TCP
from dsec.errors import DSecError
from dsec.record import Record
from dsec_cli.netcheck.wording import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsec.plan import Plan

HERE = "here"
"""The name of this host among peers."""
MESSAGE_BYTES = 1 << 20
"""Of a flow whose size nobody states."""
_OVER_NETWORK = (TCP, QUIC, ROCE)
_FORM = "SOURCE:TARGET:SIZE[@COUNT/UNIT][xCONNECTIONS], as in actor:learner:4MiB@20/s"
_PER = {"s": 1000, "sec": 1000, "min": 1000 * 60, "h": 1000 * 3600}


class FlowProblem(DSecError):
    """A flow that cannot be read, or that nobody can carry."""


class Wants(Record):
    """What the contract says of the network; None: nothing."""

    bandwidth_min_bps: int | None = None
    latency_cap_ns: int | None = None
    bandwidth_cap_bps: int | None = None


class Flow(Record):
    """Messages from one Step to another."""

    source: str
    target: str
    size_bytes: int
    per_1000s: int
    """Messages in a thousand seconds; 0: one after the other, as fast as they go."""
    connections: int
    protocol: str
    said_by: str
    """Where it comes from: the plan's communication or data edge, or the command line."""
    source_place: str = ""
    """Peer that the source runs on; "": its own name."""
    target_place: str = ""

    @property
    def name(self) -> str:
        """As people call it."""
        return f"{self.source} -> {self.target}"

    @property
    def asked_bps(self) -> int:
        """Bits a second of its messages; 0: as fast as they go."""
        return self.size_bytes * 8 * self.per_1000s // 1000


def flow_text(flow: Flow) -> str:
    """Its messages in words."""
    size = size_text(flow.size_bytes)
    rate = f" x {flow.per_1000s / 1000:g}/s" if flow.per_1000s else ", one after the other"
    return f"{size}{rate}" + (f" over {flow.connections} connections" if flow.connections > 1 else "")


def parse_flow(text: str) -> Flow:
    """A flow as it is written on a command line."""
    parts = text.split(":")
    if len(parts) != 3 or not all(parts):
        raise FlowProblem(f"{text[:80]!r} is no flow", hint=_FORM)
    rest, _, connections = parts[2].partition("x")
    size, at, rate = rest.partition("@")
    try:
        count = units.parse(units.Bytes, size)
    except units.UnitProblem as problem:
        raise FlowProblem(f"{text[:80]!r}: {problem.reason}", hint=_FORM) from None
    many = int(connections) if connections.isdecimal() else 0
    if (connections and not 1 <= many <= 64) or not 1 <= count <= 1 << 40:
        raise FlowProblem(f"{text[:80]!r}: 1 to 64 connections, and messages of 1 byte to 1 TiB", hint=_FORM)
    return Flow(
        parts[0], parts[1], int(count), _rate(text, rate) if at else 0, many or 1, TCP, "command line"
    )


def _rate(text: str, rate: str) -> int:
    number, _, unit = rate.partition("/")
    try:
        count = float(number)
    except ValueError:
        count = 0.0
    if unit not in _PER or not 0 < count <= 1_000_000:
        raise FlowProblem(f"{text[:80]!r}: {rate!r} is no rate of messages", hint=_FORM)
    return max(1, round(count * 1000 * 1000 / _PER[unit]))


def flows_of(plan: Plan, peers: Mapping[str, object]) -> tuple[Flow, ...]:
    """The plan's flows between machines, or between Steps that `peers` names.

    Communications come first, in the contract's order, then data that a Step reads from another.
    """
    nodes = {device.uuid: device.node for device in plan.inventory.devices if device.node}
    places = {}
    for step in plan.steps:
        found = sorted({nodes[uuid] for uuid in step.placement.devices if uuid in nodes})
        places[step.id] = step.id if step.id in peers else found[0] if found else ""
    rates = {step.id: step.demand.network_bps for step in plan.steps}
    rows = [(link.source, link.target, link.protocol, "communication") for link in plan.links or ()]
    rows += [
        (edge.step, step.id, TCP, "data") for step in plan.steps for edge in step.needs if edge.kind == "data"
    ]
    flows: dict[tuple[str, str], Flow] = {}
    for source, target, protocol, kind in rows:
        ends = places.get(source, ""), places.get(target, "")
        said = source in peers or target in peers
        remote = said or (protocol in _OVER_NETWORK and any(ends))
        apart = ends[0] != ends[1] if all(ends) else remote
        if apart and (source, target) not in flows:
            flows[source, target] = _planned(source, target, protocol, kind, rates, plan)._replace(
                source_place=ends[0] or HERE, target_place=ends[1] or HERE
            )
    return tuple(flows.values())


def _planned(
    source: str, target: str, protocol: str, kind: str, rates: Mapping[str, int], plan: Plan
) -> Flow:
    """Its rate is what the source Step states of the network; iterations in flight send at a time."""
    rate = rates.get(source, 0)
    per_1000s = max(1, rate * 1000 // (MESSAGE_BYTES * 8)) if rate else 0
    connections = max(1, min(plan.iterations.in_flight, 64))
    return Flow(source, target, MESSAGE_BYTES, per_1000s, connections, protocol, f"the plan's {kind}")


def overridden(planned: Sequence[Flow], stated: Sequence[Flow]) -> tuple[Flow, ...]:
    """The plan's flows with those that the command line states anew, and its other ones behind them."""
    by_ends = {(flow.source, flow.target): flow for flow in stated}
    flows = []
    for flow in planned:
        mine = by_ends.pop((flow.source, flow.target), None)
        if mine is not None:
            flow = mine._replace(
                protocol=flow.protocol, source_place=flow.source_place, target_place=flow.target_place
            )
        flows.append(flow)
    return (*flows, *by_ends.values())
