"""What was measured of a flow, in whole numbers: nanoseconds, bytes, bits per second; None: not known."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MILLION = 1_000_000


class Delays(Record):
    """A distribution of times."""

    taken: int
    least_ns: int
    median_ns: int
    p95_ns: int
    p99_ns: int
    most_ns: int
    jitter_ns: int
    """Smoothed difference of neighbours, as RFC 3550 section 6.4.1 has it."""


class Echo(Record):
    """Small datagrams, there and back."""

    sent: int
    back: int
    delays: Delays | None
    kept_there: int
    """Of those that came back: how many reached the peer marked ECT(0), as they were sent."""
    marked_there: int
    kept_back: int
    marked_back: int
    arrived: int | None = None
    """How many the peer received; those that did not come back after that were lost on the way back."""
    by_tcp: Delays | None = None
    """Round trips of the control connection, where no datagram came back."""
    refused_by: str = ""
    """Why this host itself would not send: its filter, its routes."""


class Sizes(Record):
    """The longest packets that arrive, IP header included."""

    here_bytes: int | None
    """MTU of this host's interface, as it is configured."""
    peer_bytes: int | None
    forward_bytes: int | None
    """None: nothing arrived."""
    forward_by: str
    """What stopped longer ones: "": nothing, `local`: this host, `silent`, or the address that said so."""
    back_bytes: int | None
    back_by: str
    believed_bytes: int | None
    """What this host's kernel takes the path to carry, afterwards."""
    fragments: bool | None = None
    """Whether a datagram arrives that had to be cut into several packets; None: none had to be."""


class Stream(Record):
    """Datagrams at a steady rate."""

    asked_bps: int
    size_bytes: int
    """Of one packet, headers included; rates count these bytes."""
    sent: int
    sent_ns: int
    """From the first to the last."""
    own_drops: int
    """Refused by this host's own queue: never on the wire, so not lost there."""
    blocked_ns: int
    """Time in which this host's own queue took nothing."""
    received: int
    twice: int
    late: int
    """Came after one that was sent later."""
    received_ns: int
    peer_drops: int
    """Came to the peer, which did not fetch them in time."""
    waiting: Delays | None
    """One-way delays above the least of them: clocks are not compared."""
    kept: int
    marked: int
    """By a hop that says it is congested (CE)."""
    bleached: int
    """Came with their ECN mark removed."""
    slower_sent: int = 0
    """The same again at half the rate, which tells a full link from a bad one."""
    slower_received: int = 0
    slower_waiting: Delays | None = None
    sent_from_ns: int = 0
    """When the first was sent, by the sender's monotonic clock; 0: not known."""
    received_from_ns: int = 0
    """When the first came, by the receiver's wall clock; 0: not known."""
    damaged: int = 0
    """Of those that are missing: what the receiver's kernel dropped because its checksum was wrong."""
    others_sender_bps: int | None = None
    """What others sent meanwhile by the sender's interface, by its kernel's counters."""
    others_receiver_bps: int | None = None
    """What others received meanwhile by the receiver's interface."""
    refused_by: str = ""
    """Why the sending host itself would not send: its filter, its routes."""


class Bulk(Record):
    """As much as TCP carries."""

    forward_bps: int | None
    forward_resent: int
    """Segments that TCP sent again."""
    forward_segments: int
    rtt_ns: int
    least_rtt_ns: int
    limited: str
    """What held the sender longest: `network`, `receiver` (its window), `sender` (its buffer)."""
    cpu_ns_here: int
    cpu_ns_peer: int
    back_bps: int | None
    back_resent: int | None
    streams: int
    back_cpu_ns: int = 0
    lasting_bps: int | None = None
    """What the way there still carries at the end, once a burst is spent."""
    first_bps: int | None = None
    """What it carried in the first quarter of the time."""
    allowed_bps: int | None = None
    """The most that both ends let be sent (`--max-rate`)."""
    waited_ns: int = 0
    """How long the programs of both ends waited for a processor, both ways together."""
    span_ns: int = 0
    """How long both ways took."""
    forward_trace: tuple[tuple[int, int], ...] = ()
    """Of one process, until its readings are put together with others': moments and bytes that had come."""
    back_trace: tuple[tuple[int, int], ...] = ()


UNEVEN = 1.5
"""How much more the one way may carry than the other."""


def hosts_bound(found: Bulk, rate: int, most: int | None) -> bool:
    """Whether a rate says more of the hosts than of the path; `most`: what a host can do alone, if known.

    Near that the processors decide, and where programs had to wait for one they do far below it. Alone a
    host may carry less than over the path, where a setting holds both: then it can do what was measured.
    """
    if not most:
        return False
    most = max(most, found.forward_bps or 0, found.back_bps or 0)
    waits = found.waited_ns * _WAITED > found.span_ns > 0
    return rate * (_WAITING if waits else _CEILING) >= most


_CEILING, _WAITING, _WAITED = 8, 64, 20


def uneven(found: Bulk) -> bool:
    """Whether one way carries much less than the other."""
    if not found.back_bps or not found.forward_bps:
        return False
    low, high = sorted((found.forward_bps, found.back_bps))
    return high > UNEVEN * low


class Messages(Record):
    """The flow itself: messages of its size at its rate, each acknowledged by the peer's program."""

    size_bytes: int
    asked: int
    done: int
    asked_bps: int
    achieved_bps: int
    delays: Delays | None
    """From when a message was due until it was acknowledged."""
    resent: int
    connections: int
    waited_ns: int = 0
    """How long the programs of both ends waited for a processor meanwhile."""
    begun_ns: int = 0
    """By the sender's monotonic clock; 0: not known."""
    span_ns: int = 0
    """Until the last one was acknowledged, less the way of one."""
    rtt_ns: int = 0
    """The least round trip that TCP saw meanwhile."""
    allowed_bps: int | None = None
    """The most that both ends let be sent (`--max-rate`)."""


def delays_of(times: Sequence[int]) -> Delays | None:
    """The distribution of times in nanoseconds, in the order they were taken."""
    if not times:
        return None
    ordered = sorted(times)
    from itertools import pairwise

    jitter = 0.0
    for before, after in pairwise(times):
        jitter += (abs(after - before) - jitter) / 16
    at = [ordered[min(len(ordered) - 1, len(ordered) * part // 100)] for part in (50, 95, 99)]
    return Delays(len(times), ordered[0], at[0], at[1], at[2], ordered[-1], int(jitter))


def widest(rows: Iterable[Delays | None]) -> Delays | None:
    """Of several distributions taken at a time, the one with the highest median."""
    there = [row for row in rows if row is not None]
    return max(there, key=lambda row: row.median_ns, default=None)


def at_most_ppm(lost: int, sent: int) -> int:
    """Upper end of the one-sided 95 % interval for a share of losses, in millionths (Clopper-Pearson).

    The share p at which `lost` or fewer of `sent` would come with probability 5 %; found by bisection
    of the binomial sum, or of its Poisson limit where that sum would be long.
    """
    if sent <= 0 or lost >= sent:
        return MILLION
    low, high = lost / sent, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if _at_most(lost, sent, middle) > 0.05:
            low = middle
        else:
            high = middle
    return min(MILLION, int(high * MILLION) + 1)


def _at_most(lost: int, sent: int, share: float) -> float:
    """Probability of `lost` or fewer losses of `sent`, each with probability `share`."""
    from math import exp, lgamma, log, log1p

    if share >= 1.0:
        return 0.0
    if share <= 0.0:
        return 1.0
    total = 0.0
    whole = lgamma(sent + 1)
    for count in range(max(0, lost - 2000), lost + 1):
        total += exp(
            whole
            - lgamma(count + 1)
            - lgamma(sent - count + 1)
            + count * log(share)
            + (sent - count) * log1p(-share)
        )
    return min(1.0, total)


def union_ns(rows: Iterable[tuple[int, int]]) -> int:
    """From the first begin to the last end of (begin, length); lengths alone where begins are not known."""
    spans = list(rows)
    known = [(begin, begin + length) for begin, length in spans if begin]
    if len(known) < len(spans) or not known:
        return max((length for _, length in spans), default=0)
    return max(end for _, end in known) - min(begin for begin, _ in known)


def rate_bps(count_bytes: int, span_ns: int) -> int:
    """Bits a second; 0 where no time passed."""
    return 0 if span_ns <= 0 else count_bytes * 8 * 1_000_000_000 // span_ns
