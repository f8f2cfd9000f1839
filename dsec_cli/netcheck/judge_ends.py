"""What both ends say of themselves: counters that rose, links that are not what they should be, clocks."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.netcheck.judge_loss import missing
from dsec_cli.netcheck.statement import ABSENT, NOTE, OK, PROBLEM, Statement
from dsec_cli.netcheck.wording import ms, rate
from dsec_cli.words import Said, joined, said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.facts import Facts, Seen
    from dsec_cli.netcheck.replay import Leg

_MEANING = {
    "rx_errors": say("damaged frames"),
    "tx_errors": say("frames that could not be sent"),
    "rx_crc_errors": say("frames with a wrong checksum: cable, optics or port"),
    "rx_missed_errors": say("frames that the card had no room for"),
    "rx_dropped": say("frames that the host dropped on arrival"),
    "tx_dropped": say("frames that the host dropped before sending"),
}
_OF_ANYBODY = ("rx_dropped", "tx_dropped", "rx_missed_errors")
"""Frames that nobody here wanted count, too: an LLDP frame of a switch raises rx_dropped each time."""
_EXPLAINS = 0.5
"""Of what was lost of ours, what a counter must have risen by to be the reason."""
_TROUBLE = ("discards", "err", "out_of_sequence", "link_downed")
_CONGESTED = ("cnp", "ecn_marked", "pause", "pfc", "xmit_wait")
_SKEW_NS = 1_000_000_000


def ends(leg: Leg) -> list[Statement]:
    """Interfaces, then pause frames, RDMA and NVLink of both ends."""
    rows: list[Statement] = []
    sizes = leg.found.sizes
    vanish = sizes is not None and "silent" in (sizes.forward_by, sizes.back_by)
    rows_of = zip(_names(leg), leg.before, leg.after, ("here", "peer"), strict=True)
    known = [end for end in rows_of if end[1] is not None]
    if len(known) == 2 and known[0][0] == known[1][0]:
        known.pop()  # one host is both ends
    for name, before, after, cause in known:
        assert before is not None
        end = _End(name, cause, vanish, _lost_into(leg, cause), _lost_from(leg, cause))
        rows += _interface(end, before, after)
    for name, before, after, _ in known:
        assert before is not None
        rows += [row for seen in before.seen for row in _seen(name, seen, _same(after, seen.name))]
    return _merged(rows)


def _names(leg: Leg) -> tuple[str, str]:
    """Both ends, as what they lack is said of them."""
    flow = leg.flow
    return flow.source_place or flow.source, flow.target_place or flow.target


def _merged(rows: list[Statement]) -> list[Statement]:
    """What both ends have or lack alike is said once."""
    found: dict[str, Statement] = {}
    for row in rows:
        text = said(row.text)
        ends = text.args if row.state in (OK, ABSENT) else {}
        key = f"{row.aspect} {ends.get('what', text)}"
        before = found.get(key)
        if before is not None and ends:
            both = f"{said(before.text).args['end']}, {ends['end']}"
            what = ends["what"]
            assert isinstance(what, str)
            row = row._replace(text=_of(both, what))
        found[key] = row
    return list(found.values())


def _of(name: str, what: str) -> Said:
    return say("{end}: {what}", end=name, what=what)


class _End(Record):
    """One end of the path, and what of ours was lost that it may have dropped."""

    name: str
    cause: str
    long_ones_vanish: bool
    """Then the search for the longest packet itself made this host drop frames."""
    lost_into: int
    lost_from: int


def _lost_into(leg: Leg, cause: str) -> int:
    """Datagrams and segments of ours that were lost on their way to an end."""
    found = leg.found
    resent = 0 if found.bulk is None else found.bulk.forward_resent
    back_resent = 0 if found.bulk is None else found.bulk.back_resent or 0
    there, back = missing(found.stream) + resent, missing(found.back) + back_resent
    return there if cause == "peer" else back


def _lost_from(leg: Leg, cause: str) -> int:
    """Those that were lost on their way from it."""
    return _lost_into(leg, "here" if cause == "peer" else "peer")


def _interface(end: _End, before: Facts, after: Facts | None) -> list[Statement]:
    name, cause = end.name, end.cause
    one = before.interface
    if not one.name:
        return [
            Statement(
                "nic", ABSENT, _of(name, say("not measured, because no interface has the path's address"))
            )
        ]
    facts = [one.name, f"MTU {one.mtu_bytes if one.mtu_bytes is not None else 'unknown'}"]
    facts.append(rate(one.speed_bps) if one.speed_bps else say("speed unknown"))
    facts += [one.driver] if one.driver else []
    facts += [say("NUMA node {numa}", numa=one.numa)] if one.numa is not None else []
    rows = [Statement("nic", OK, _of(name, joined(", ", facts)))]
    if one.duplex == "half":
        mend = say("`ethtool -s {name} autoneg on`, and the same at the switch", name=one.name)
        rows.append(
            Statement(
                "nic", PROBLEM, _of(name, say("{device} runs at half duplex", device=one.name)), cause, mend
            )
        )
    now = dict(after.interface.counters) if after is not None else {}
    for key, count in one.counters:
        rose = now.get(key, count) - count
        if key in _MEANING and rose > 0 and not (key.startswith("rx_") and end.long_ones_vanish):
            rows.append(_risen(end, key, one.name, rose=rose))
    return rows


def _risen(end: _End, key: str, device: str, *, rose: int) -> Statement:
    """A counter that rose. It counts everybody's frames: what of ours was lost decides what it means."""
    text = say(
        "{key} of {device} rose by {rose}: {meaning}",
        key=key,
        device=device,
        rose=rose,
        meaning=_MEANING[key],
    )
    ours = end.lost_into if key.startswith("rx_") else end.lost_from
    if key not in _OF_ANYBODY or rose >= _EXPLAINS * ours > 0:
        return Statement("nic", PROBLEM, _of(end.name, text), end.cause, _mend(key, device))
    if ours:
        why = say("{text}; far fewer than the {lost} of ours that were lost", text=text, lost=ours)
    else:
        why = say("{text}; none of ours was lost (frames of other protocols are counted, too)", text=text)
    return Statement("nic", OK, _of(end.name, why))


def _mend(key: str, device: str) -> Said:
    """What makes a counter of an interface stay as it is."""
    if key == "rx_missed_errors":
        return say("`ethtool -G {device} rx 4096` gives the card more room", device=device)
    if key == "rx_dropped":
        return say(
            "`sysctl -w net.core.netdev_max_backlog=5000`, and `ethtool -G {device} rx 4096`", device=device
        )
    if key == "tx_dropped":
        return say("`tc -s qdisc show dev {device}`: a queue there is full", device=device)
    return say("`ethtool -S {device}`; then change cable, optics or port", device=device)


def _same(facts: Facts | None, name: str) -> Seen | None:
    return None if facts is None else next((one for one in facts.seen if one.name == name), None)


def _seen(name: str, before: Seen, after: Seen | None) -> list[Statement]:
    if before.missing:
        return [
            Statement(
                before.name, ABSENT, _of(name, say("not measured, because {why}", why=said(before.missing)))
            )
        ]
    rows = [Statement(before.name, OK, _of(name, said(before.text) if before.text else say("there it is")))]
    now = dict(after.values) if after is not None else {}
    for key, count in before.values:
        rose = now.get(key, count) - count
        if rose <= 0:
            continue
        if any(word in key for word in _TROUBLE):
            text = _of(name, say("{key} rose by {rose}", key=key, rose=rose))
            mend = say("check the fabric's PFC and ECN settings end to end: `dcb pfc show`, `mlnx_qos`")
            rows.append(Statement(before.name, PROBLEM, text, "path", mend))
        elif any(word in key for word in _CONGESTED):
            text = _of(name, say("{key} rose by {rose}: the link was told to wait", key=key, rose=rose))
            rows.append(Statement(before.name, NOTE, text, "path"))
    return rows


def names(leg: Leg) -> list[Statement]:
    """Names that one end's resolver knows and the other's does not."""
    if len(leg.knows) != 2:
        return []
    known = [end for end in leg.knows if len(end) > 2]
    unknown = [end for end in leg.knows if len(end) == 2]
    if not unknown or not known:
        return []
    end, name = unknown[0][:2]
    source, target = _names(leg)
    lacks, other = (source, target) if end == "here" else (target, source)
    text = say(
        "{host} does not know the name {name} of {other}, which knows {theirs}: programs that find each "
        "other by name connect one way only",
        host=lacks,
        name=name,
        other=other,
        theirs=known[0][1],
    )
    address = leg.addresses[1 if end == "here" else 0] or "ADDRESS"
    mend = say(
        "on {host}: `echo '{address} {name}' >> /etc/hosts`, or let DNS have it",
        host=lacks,
        address=address,
        name=name,
    )
    return [Statement("name", NOTE, text, end, mend)]


def clocks(leg: Leg) -> list[Statement]:
    """Wall clocks of both ends, as far as half a round trip tells."""
    if leg.skew_ns is None or leg.skew_within_ns is None:
        return []
    if abs(leg.skew_ns) - leg.skew_within_ns < _SKEW_NS:
        most = ms(abs(leg.skew_ns) + leg.skew_within_ns)
        return [
            Statement("clock", OK, say("the wall clocks of both ends differ by at most {most}", most=most))
        ]
    text = say(
        "{target}'s clock differs by {skew} (within {skew_within})",
        target=leg.flow.target,
        skew=ms(abs(leg.skew_ns)),
        skew_within=ms(leg.skew_within_ns),
    )
    return [Statement("clock", NOTE, text, mend=say("`timedatectl set-ntp true` on both hosts"))]
