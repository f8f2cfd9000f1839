"""What the longest packets that arrive say: whose interface, which hop, and whether it says so itself."""

from __future__ import annotations

from dsec_cli.netcheck.judge_loss import udp_state
from dsec_cli.netcheck.statement import NOTE, OK, PROBLEM, Statement
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.readings import Sizes
    from dsec_cli.netcheck.replay import Leg


def sizes(leg: Leg) -> list[Statement]:
    """The way there, the way back, and both interfaces' own settings."""
    found = leg.found.sizes
    if found is None or _deaf(leg):
        return []
    names = _names(leg)
    if found.forward_bytes is None or found.back_bytes is None:
        return [_none_arrives(found, leg)]
    rows = _there(found, names, leg)
    rows += _back(found, names, leg)
    if rows:
        return rows
    text = say("packets of {forward} bytes arrive whole, there and back", forward=found.forward_bytes)
    if found.fragments is False:
        rows.append(_uncut(found))
    return [
        *rows,
        Statement(
            "mtu",
            OK,
            say(
                "{text} (configured: {here} and {peer})",
                text=text,
                here=_plain(found.here_bytes),
                peer=_plain(found.peer_bytes),
            ),
        ),
    ]


def _uncut(found: Sizes) -> Statement:
    """Datagrams that must be cut are lost: a filter or a hop drops fragments. TCP sends none."""
    text = say(
        "a datagram that must be cut into fragments does not arrive: programs that send more than {most} "
        "bytes over UDP at once (NFS, GlusterFS, logs) lose all of it",
        most=(found.forward_bytes or 0) - 28,
    )
    mend = say(
        "let fragments through: `nft list ruleset | grep frag` on both hosts and hops, and "
        "`sysctl net.ipv4.ipfrag_high_thresh` of the receiver; or send shorter datagrams"
    )
    return Statement("mtu", NOTE, text, "path", mend)


def _none_arrives(found: Sizes, leg: Leg) -> Statement:
    """Not even packets of the least length that every path must carry."""
    mend = say("look for a tunnel or filter on the path: `tracepath -n`")
    if leg.found.echo is None:
        text = say("no datagram of 576 bytes arrives: the path, or a filter of UDP")
        return Statement("mtu", udp_state(leg), text, "path", mend)
    if found.forward_bytes is None:
        text = say("no packet of 576 bytes arrives, while short ones do")
    else:
        text = say("no packet of 576 bytes comes back, while short ones do")
    return Statement("mtu", PROBLEM, text, "path", mend)


def _deaf(leg: Leg) -> bool:
    """Whether no datagram came back at all: then lengths are not what is wrong."""
    echo = leg.found.echo
    return echo is not None and echo.delays is None


def _names(leg: Leg) -> tuple[str, str]:
    """Interfaces of both ends."""
    return tuple(  # type: ignore[return-value] # there are two ends
        facts.interface.name if facts is not None and facts.interface.name else "DEVICE"
        for facts in leg.before
    )


def _plain(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _there(found: Sizes, names: tuple[str, str], leg: Leg) -> list[Statement]:
    """What the way there carries less than this host's interface allows."""
    here, peer, most = found.here_bytes, found.peer_bytes, found.forward_bytes
    if not found.forward_by or most is None:
        if here is not None and peer is not None and here < peer and not found.back_by:
            return [_shorter(found, names, leg)]
        return []
    if found.forward_by not in ("silent", "local"):
        return [
            _told(found.forward_by, most, found.here_bytes, way=say("the way there"), names=names, leg=leg)
        ]
    if found.forward_by == "silent" and peer is not None and here is not None and peer < here:
        return [_mismatch(names, here=here, peer=peer, most=most, leg=leg)]
    if found.forward_by == "silent":
        return [_hole(say("the way there"), most, here, names=names, leg=leg)]
    return [Statement("mtu", NOTE, say("this host sends no packet above {most} bytes", most=most), "here")]


def _shorter(found: Sizes, names: tuple[str, str], leg: Leg) -> Statement:
    """This end is set to less than the other, and both ways carry what each may send."""
    return Statement(
        "mtu",
        NOTE,
        say(
            "{source} is set to an MTU of {here}, {target} to {peer}; packets of {forward} arrive",
            source=leg.flow.source,
            here=found.here_bytes,
            target=leg.flow.target,
            peer=found.peer_bytes,
            forward=found.forward_bytes,
        ),
        "here",
        say(
            "on one network: `ip link set dev {names} mtu {peer}` on {source}",
            names=names[0],
            peer=found.peer_bytes,
            source=leg.flow.source,
        ),
    )


def _mismatch(names: tuple[str, str], *, here: int, peer: int, most: int, leg: Leg) -> Statement:
    return Statement(
        "mtu",
        PROBLEM,
        say(
            "packets above {most} bytes vanish silently: {target} is set to an MTU of {peer}, "
            "{source} to {here}",
            most=most,
            target=leg.flow.target,
            peer=peer,
            source=leg.flow.source,
            here=here,
        ),
        "peer",
        say(
            "`ip link set dev {names} mtu {here}` on {target}, or `ip link set dev {other} mtu "
            "{peer}` on {source}",
            names=names[1],
            here=here,
            target=leg.flow.target,
            other=names[0],
            peer=peer,
            source=leg.flow.source,
        ),
    )


def _told(by: str, most: int, here: int | None, *, way: str, names: tuple[str, str], leg: Leg) -> Statement:
    """A hop carries less and says so, as it should."""
    return Statement(
        "mtu",
        NOTE,
        say(
            "the hop {by} carries no packet above {most} bytes on {way} (this end: {here}) and says "
            "so: TCP adapts, at the price of a lost packet per connection",
            by=by,
            most=most,
            way=way,
            here=_plain(here),
        ),
        by,
        say("raise the MTU behind {by}, or {both}", by=by, both=_both(names, most, leg)),
    )


def _hole(way: str, most: int, here: int | None, *, names: tuple[str, str], leg: Leg) -> Statement:
    """A hop drops long packets without a word.

    Not named as a mend: net.ipv4.tcp_mtu_probing. With it the end that accepted a connection begins with long
    segments all the same, and tries shorter ones after six seconds of silence.
    """
    return Statement(
        "mtu",
        PROBLEM,
        say(
            "packets above {most} bytes vanish silently on {way} (both ends are set to {here} or "
            "more): a hop is shorter and its ICMP does not come through",
            most=most,
            way=way,
            here=_plain(here),
        ),
        "path",
        say("let ICMP type 3 code 4 through on the hops, or {both}", both=_both(names, most, leg)),
    )


def _both(names: tuple[str, str], most: int, leg: Leg) -> str:
    """Both ends set shorter; TCP agrees on the shorter one's segments."""
    ends = zip(names, (leg.flow.source, leg.flow.target), strict=True)
    each = [
        say("`ip link set dev {device} mtu {most}` on {end}", device=device, most=most, end=end)
        for device, end in ends
    ]
    shorter = joined(" and ", each)
    return say("{shorter} (for TCP alone, one of the two)", shorter=shorter)


def _back(found: Sizes, names: tuple[str, str], leg: Leg) -> list[Statement]:
    """What the way back carries less than the peer's interface allows."""
    here, peer, most = found.here_bytes, found.peer_bytes, found.back_bytes
    if most is None or found.back_by in ("", "local"):
        return []
    if found.forward_by and most == found.forward_bytes:  # said of the way there
        return []
    if found.back_by != "silent":
        return [_told(found.back_by, most, peer, way=say("the way back"), names=names, leg=leg)]
    if here is not None and peer is not None and here < peer:
        return [
            Statement(
                "mtu",
                PROBLEM,
                say(
                    "packets above {most} bytes vanish silently on {way}: {source} is set to an MTU "
                    "of {here}, {target} to {peer}",
                    most=most,
                    way=say("the way back"),
                    source=leg.flow.source,
                    here=here,
                    target=leg.flow.target,
                    peer=peer,
                ),
                "here",
                say(
                    "`ip link set dev {names} mtu {peer}` on {source}, or `ip link set dev {other} "
                    "mtu {here}` on {target}",
                    names=names[0],
                    peer=peer,
                    source=leg.flow.source,
                    other=names[1],
                    here=here,
                    target=leg.flow.target,
                ),
            )
        ]
    return [_hole(say("the way back"), most, peer, names=names, leg=leg)]
