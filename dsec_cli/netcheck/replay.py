"""Replays flows between hosts, one after the other, and collects what was measured."""

from __future__ import annotations

import threading
import time
from math import ceil
from typing import Any

from dsec.codec import decode
from dsec.errors import DSecError
from dsec.record import Record
from dsec_cli.netcheck import iperf
from dsec_cli.netcheck.facts import Facts, look
from dsec_cli.netcheck.flows import HERE, Flow, FlowProblem, Wants
from dsec_cli.netcheck.line import Ask, Limits, Line, connect
from dsec_cli.netcheck.measuring import Measured, heard, measured
from dsec_cli.netcheck.names import resolve
from dsec_cli.netcheck.serving import Server
from dsec_cli.netcheck.wire import LineLost, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Address = tuple[str, int]

_RELAY_S = 60.0
_FLOOR_MS = 300
MOST_STREAMS = 64
_ASKED = 4
"""Times that a clock is asked for."""
_DATAGRAMS_BPS = 400_000_000
"""What one process may be asked to send as datagrams of 1500 bytes, also beside others on its core."""
_SHARE = 0.7
"""Of what one process carries over TCP here: near its limit the process would be measured, not the path."""


class Wish(Record):
    """How to measure."""

    probes: tuple[str, ...]
    span_ms: int
    stream_bps: int
    """At most; a flow that asks for less gets less."""
    streams: int
    """Processes that send at a time; 0: as many as the rate needs."""
    engine: str = "own"


class Leg(Record):
    """One flow as it was measured; both ends before and after."""

    flow: Flow
    found: Measured
    before: tuple[Facts | None, Facts | None] = (None, None)
    """Source and target; None: not known."""
    after: tuple[Facts | None, Facts | None] = (None, None)
    addresses: tuple[str, str] = ("", "")
    skew_ns: int | None = None
    """How far the target's wall clock is ahead of the source's, as well as half a round trip tells."""
    skew_within_ns: int | None = None
    check: str = ""
    """What iperf3 found, in its own numbers; "": it was not asked."""
    iperf_bps: int | None = None
    iperf_back_bps: int | None = None
    refused: bool = False
    asked: tuple[str, ...] = ()
    """The probes that were wanted."""
    knows: tuple[tuple[str, ...], ...] = ()
    """End (`here` or `peer`), the other end's name for itself, and its addresses by this end's resolver."""


class Floor(Record):
    """The same probes within this host: what its own noise and its processors allow."""

    found: Measured


class Replay:
    """Knows the peers, the token, and this host's own server for flows that come here."""

    def __init__(
        self,
        peers: Mapping[str, Address],
        token: bytes,
        *,
        wish: Wish,
        tell: Callable[[str], object] = str,
    ) -> None:
        self._peers, self._token, self._wish, self._tell = dict(peers), token, wish, tell
        self._servers: dict[str, Server] = {}
        self._one_process_bps = 0
        """What one process carries over TCP within this host; 0: not measured."""

    def floor(self) -> Floor:
        """Echo, stream and TCP over the loopback."""
        self._tell("this host's own floor")
        server = self._server("127.0.0.1")
        line = connect(server.address, self._token)
        try:
            names = tuple(name for name in ("echo", "stream", "bulk") if name in self._wish.probes)
            ask = Ask(1 << 20, 0, 1, min(self._wish.stream_bps, 200_000_000), _FLOOR_MS)
            found = measured(line, ask, names, token=self._token, port=server.address[1])
            self._one_process_bps = (found.bulk.forward_bps or 0) if found.bulk is not None else 0
            return Floor(found)
        finally:
            line.close()

    def leg(self, flow: Flow, wants: Wants) -> Leg:
        """One flow from its source to its target."""
        source, target = flow.source_place or flow.source, flow.target_place or flow.target
        for place in (source, target):
            if place != HERE and place not in self._peers:
                known = ", ".join((HERE, *sorted(self._peers)))
                raise FlowProblem(
                    f"{flow.name}: nobody knows where {place!r} is",
                    hint=f"--peers {place}=HOST[:PORT]; known: {known}",
                )
        try:
            if source == HERE:
                return self._from_here(flow, target, self._ask(flow, wants))
            return self._from_there(flow, source, target, self._ask(flow, wants))
        except Refused as problem:
            lost = Measured(lost=problem.what, lost_hint=problem.hint)
            return Leg(flow, lost, refused=True, asked=self._wish.probes)
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
            why = f"the other end's answer cannot be read ({type(problem).__name__}: {problem})"[:300]
            lost = Measured(lost=why, lost_hint="use the same version of DSec on both ends")
            return Leg(flow, lost, asked=self._wish.probes)
        except DSecError as problem:
            lost = Measured(lost=problem.what, lost_hint=problem.hint)
            return Leg(flow, lost, asked=self._wish.probes)

    def _ask(self, flow: Flow, wants: Wants) -> Ask:
        rate = flow.asked_bps or wants.bandwidth_min_bps or self._wish.stream_bps
        return Ask(
            size_bytes=flow.size_bytes,
            per_1000s=flow.per_1000s,
            connections=flow.connections,
            stream_bps=min(rate, self._wish.stream_bps),
            span_ms=self._wish.span_ms,
            streams=self._wish.streams or self._enough(flow.asked_bps),
        )

    def _enough(self, asked_bps: int) -> int:
        """Processes for a flow and its stream of datagrams."""
        of_flow = asked_bps / (_SHARE * self._one_process_bps) if self._one_process_bps else 0
        of_stream = min(asked_bps or self._wish.stream_bps, self._wish.stream_bps) / _DATAGRAMS_BPS
        return max(1, min(MOST_STREAMS, ceil(max(of_flow, of_stream))))

    def _from_here(self, flow: Flow, target: str, ask: Ask) -> Leg:
        address = self._server("127.0.0.1").address if target == HERE else self._peers[target]
        line = connect(address, self._token)
        try:
            return self._measured(line, flow, ask, port=address[1])
        finally:
            line.close()

    def _measured(self, line: Line, flow: Flow, ask: Ask, *, port: int) -> Leg:
        there, here = _facts(line), look(line.here)
        ahead_ns, within_ns = _ahead(line)
        names = tuple(name for name in self._wish.probes)
        knows = _knows(line, here.hostname, there.hostname)
        found = measured(line, ask, names, token=self._token, port=port, tell=self._tell)
        leg = Leg(
            flow,
            found,
            before=(here, there),
            addresses=(line.here, line.peer),
            skew_ns=ahead_ns,
            skew_within_ns=within_ns,
            knows=knows,
            asked=self._wish.probes,
        )
        if found.lost:
            return leg._replace(after=(look(line.here), None))
        if self._wish.engine == "iperf3":
            leg = self._checked(line, leg, ask)
        return leg._replace(after=(look(line.here), _facts(line)))

    def _checked(self, line: Line, leg: Leg, ask: Ask) -> Leg:
        """The cross-check by iperf3."""
        self._tell("iperf3")
        try:
            other = iperf.measure(line, ask)
        except LineLost as problem:
            return leg._replace(check=problem.what)
        return leg._replace(iperf_bps=other.forward_bps, iperf_back_bps=other.back_bps)

    def _from_there(self, flow: Flow, source: str, target: str, ask: Ask) -> Leg:
        """Ask the source's server to measure; the target may be this host."""
        line = connect(self._peers[source], self._token)
        try:
            before = _facts(line)
            if target == HERE:
                server = self._server(line.here)
                host, port = "", server.address[1]
            else:
                host, port = self._peers[target]
            there = self._target_facts(line, target)
            self._tell(f"measured by {source}")
            within = _RELAY_S + 20 * ask.span_ms / 1000
            job: dict[str, Any] = {"host": host, "port": port, "ask": ask._asdict()}
            answer = line.call("relay", within_s=within, probes=list(self._wish.probes), **job)
            if not isinstance(found := answer.get("measured"), dict):
                why = str(answer.get("lost") or f"{source} did not say what it measured")
                lost = Measured(lost=why, lost_hint=str(answer.get("hint", "")))
                return Leg(flow, lost, refused=bool(answer.get("refused")), asked=self._wish.probes)
            ends = (line.peer, line.here if target == HERE else host)
            after = self._target_facts(line, target)
            return Leg(
                flow,
                heard(found),
                before=(before, there),
                after=(_facts(line), after),
                addresses=ends,
                asked=self._wish.probes,
            )
        finally:
            line.close()

    def _target_facts(self, line: Line, target: str) -> Facts | None:
        """What the target of a flow that begins elsewhere says of itself; None: it does not answer us."""
        if target == HERE:
            return look(line.here)
        try:
            other = connect(self._peers[target], self._token)
        except DSecError:
            return None
        try:
            return _facts(other)
        finally:
            other.close()

    def _server(self, host: str) -> Server:
        """This host's own server on the address that a peer sees."""
        if host not in self._servers:
            limits = Limits(rate_bps=100_000_000_000)
            server = self._servers[host] = Server((host, 0), self._token, limits=limits, quiet=True)
            threading.Thread(target=server.serve, daemon=True).start()
        return self._servers[host]

    def close(self) -> None:
        """End the servers of this host."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()


def _ahead(line: Line) -> tuple[int, int]:
    """How far the peer's wall clock is ahead, and by how much that may be wrong: of the quickest answer."""
    best = (0, 1 << 62)
    for _ in range(_ASKED):
        begun = time.time_ns()
        there = int(line.call("clock")["at_ns"])
        ended = time.time_ns()
        best = min(best, (there - (begun + ended) // 2, (ended - begun) // 2), key=lambda row: row[1])
    return best


def _knows(line: Line, here: str, there: str) -> tuple[tuple[str, ...], ...]:
    """What each end's resolver makes of the other's name; nothing where both have one name."""
    if here == there:
        return ()
    mine = resolve((there,))
    theirs = line.call("resolve", names=[here])["known"]
    if there not in mine or here not in theirs:
        return ()
    return ("here", there, *mine[there]), ("peer", here, *map(str, theirs[here]))


def _facts(line: Line) -> Facts:
    return decode(Facts, line.call("facts"), where="the peer's facts")


def replayed(replay: Replay, flows: Sequence[Flow], wants: Wants) -> tuple[Floor, tuple[Leg, ...]]:
    """The floor, then every flow in order."""
    floor = replay.floor()
    return floor, tuple(replay.leg(flow, wants) for flow in flows)
