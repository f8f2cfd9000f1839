"""What both ends say of themselves: counters that rose, links that are not what they should be, clocks."""

from __future__ import annotations

from dsec_cli.netcheck.statement import ABSENT, NOTE, OK, PROBLEM, Statement
from dsec_cli.netcheck.wording import ms, rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.facts import Facts, Seen
    from dsec_cli.netcheck.replay import Leg

_MEANING = {
    "rx_errors": "damaged frames",
    "tx_errors": "frames that could not be sent",
    "rx_crc_errors": "frames with a wrong checksum: cable, optics or port",
    "rx_missed_errors": "frames that the card had no room for",
    "rx_dropped": "frames that the host dropped on arrival",
    "tx_dropped": "frames that the host dropped before sending",
}
_MEND = {
    "rx_missed_errors": "`ethtool -G {device} rx 4096` gives the card more room",
    "rx_dropped": "`sysctl -w net.core.netdev_max_backlog=5000`, and `ethtool -G {device} rx 4096`",
    "tx_dropped": "`tc -s qdisc show dev {device}`: a queue there is full",
}
_TROUBLE = ("discards", "err", "out_of_sequence", "link_downed")
_CONGESTED = ("cnp", "ecn_marked", "pause", "pfc", "xmit_wait")
_SKEW_NS = 1_000_000_000


def ends(leg: Leg) -> list[Statement]:
    """Interfaces, then pause frames, RDMA and NVLink of both ends."""
    rows: list[Statement] = []
    sizes = leg.found.sizes
    vanish = sizes is not None and "silent" in (sizes.forward_by, sizes.back_by)
    known = [end for end in zip(_names(leg), leg.before, leg.after, strict=True) if end[1] is not None]
    if len(known) == 2 and known[0][0] == known[1][0]:
        known.pop()  # one host is both ends
    for name, before, after in known:
        assert before is not None
        rows += _interface(name, before, after, long_ones_vanish=vanish)
    for name, before, after in known:
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
        name, _, rest = row.text.partition(": ")
        key = f"{row.aspect} {rest}" if row.state in (OK, ABSENT) else f"{row.aspect} {row.text}"
        before = found.get(key)
        found[key] = (
            row if before is None else row._replace(text=f"{before.text.partition(': ')[0]}, {name}: {rest}")
        )
    return list(found.values())


def _interface(name: str, before: Facts, after: Facts | None, *, long_ones_vanish: bool) -> list[Statement]:
    """`long_ones_vanish`: then the search for the longest packet itself made this host drop frames."""
    one = before.interface
    if not one.name:
        return [
            Statement("nic", ABSENT, f"{name}: not measured, because no interface has the path's address")
        ]
    facts = [one.name, f"MTU {one.mtu_bytes if one.mtu_bytes is not None else 'unknown'}"]
    facts.append(rate(one.speed_bps) if one.speed_bps else "speed unknown")
    facts += [one.driver] if one.driver else []
    facts += [f"NUMA node {one.numa}"] if one.numa is not None else []
    rows = [Statement("nic", OK, f"{name}: {', '.join(facts)}")]
    if one.duplex == "half":
        mend = f"`ethtool -s {one.name} autoneg on`, and the same at the switch"
        rows.append(Statement("nic", PROBLEM, f"{name}: {one.name} runs at half duplex", "here", mend))
    now = dict(after.interface.counters) if after is not None else {}
    for key, count in one.counters:
        rose = now.get(key, count) - count
        if key in _MEANING and rose > 0 and not (key.startswith("rx_") and long_ones_vanish):
            mend = _MEND.get(key, "`ethtool -S {device}`; then change cable, optics or port")
            text = f"{name}: {key} of {one.name} rose by {rose}: {_MEANING[key]}"
            rows.append(Statement("nic", PROBLEM, text, "here", mend.format(device=one.name)))
    return rows


def _same(facts: Facts | None, name: str) -> Seen | None:
    return None if facts is None else next((one for one in facts.seen if one.name == name), None)


def _seen(name: str, before: Seen, after: Seen | None) -> list[Statement]:
    if before.missing:
        return [Statement(before.name, ABSENT, f"{name}: not measured, because {before.missing}")]
    rows = [Statement(before.name, OK, f"{name}: {before.text}" if before.text else f"{name}: there")]
    now = dict(after.values) if after is not None else {}
    for key, count in before.values:
        rose = now.get(key, count) - count
        if rose <= 0:
            continue
        if any(word in key for word in _TROUBLE):
            text = f"{name}: {key} rose by {rose}"
            mend = "check the fabric's PFC and ECN settings end to end: `dcb pfc show`, `mlnx_qos`"
            rows.append(Statement(before.name, PROBLEM, text, "path", mend))
        elif any(word in key for word in _CONGESTED):
            text = f"{name}: {key} rose by {rose}: the link was told to wait"
            rows.append(Statement(before.name, NOTE, text, "path"))
    return rows


def clocks(leg: Leg) -> list[Statement]:
    """Wall clocks of both ends, as far as half a round trip tells."""
    if leg.skew_ns is None or leg.skew_within_ns is None:
        return []
    if abs(leg.skew_ns) - leg.skew_within_ns < _SKEW_NS:
        most = ms(abs(leg.skew_ns) + leg.skew_within_ns)
        return [Statement("clock", OK, f"the wall clocks of both ends differ by at most {most}")]
    text = f"{leg.flow.target}'s clock differs by {ms(abs(leg.skew_ns))} (within {ms(leg.skew_within_ns)})"
    return [Statement("clock", NOTE, text, "here", "`timedatectl set-ntp true` on both hosts")]
