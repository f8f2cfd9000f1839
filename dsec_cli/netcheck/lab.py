"""A network to try things on: three namespaces on this machine, a router between two hosts, and its faults.

    here 10.77.1.1 -- 10.77.1.2 router 10.77.2.2 -- 10.77.2.1 b

It lies within a user namespace: no root is needed, nothing of the host's own network is touched, and
the kernel removes it when its last process ends.
"""

from __future__ import annotations

from dsec import units
from dsec.errors import DSecError
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Line = tuple[str, ...]

HERE, ROUTER, PEER = "a", "r", "b"
ADDRESS = "10.77.1.1"
PEER_ADDRESS = "10.77.2.1"
DIES, STRANGER = "peer-dies", "wrong-token"
DELAY, DAMAGE, REORDER, TRAFFIC, FRAMES = "delay", "damage", "reorder", "traffic", "frames"
RELAYED = (DELAY, DAMAGE, REORDER)
"""Faults of a program in the router that every packet goes through."""
TUN = "/dev/net/tun"
_IN, _OUT, _DEVICE = "in0", "out0", "eth0"
_TABLE = "dsec"
_LEAST_BPS = 64_000


class Fault(Record):
    """Something that can be wrong in the lab."""

    name: str
    takes: str
    """What is written after `=`; "": nothing."""
    about: str
    lines: Callable[[str], tuple[Line, ...]]
    """Namespace and words of each command that brings it about."""
    needs: str = "tc"


def network() -> tuple[Line, ...]:
    """Commands that build the lab: namespace ("" is the outer one), then the words."""
    return (
        *(("", "ip", "netns", "add", name) for name in (HERE, ROUTER, PEER)),
        _pair(HERE, _IN),
        _pair(PEER, _OUT),
        (HERE, "ip", "addr", "add", f"{ADDRESS}/24", "dev", _DEVICE),
        (ROUTER, "ip", "addr", "add", "10.77.1.2/24", "dev", _IN),
        (ROUTER, "ip", "addr", "add", "10.77.2.2/24", "dev", _OUT),
        (PEER, "ip", "addr", "add", f"{PEER_ADDRESS}/24", "dev", _DEVICE),
        *((name, "ip", "link", "set", "lo", "up") for name in (HERE, ROUTER, PEER)),
        *((name, "ip", "link", "set", _DEVICE, "up") for name in (HERE, PEER)),
        *((ROUTER, "ip", "link", "set", name, "up") for name in (_IN, _OUT)),
        (HERE, "ip", "route", "add", "default", "via", "10.77.1.2"),
        (PEER, "ip", "route", "add", "default", "via", "10.77.2.2"),
        (ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1"),
    )


def _pair(end: str, port: str) -> Line:
    return (
        "",
        "ip",
        "link",
        "add",
        _DEVICE,
        "netns",
        end,
        "type",
        "veth",
        "peer",
        "name",
        port,
        "netns",
        ROUTER,
    )


def _shaped(namespace: str, device: str, rate: str, *, limit: str) -> tuple[Line, ...]:
    bits = int(_quantity(rate))
    if bits < _LEAST_BPS:
        raise LabProblem(f"{rate!r} is less than 64kbps", hint="10Mbps")
    words = ("tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{bits}bit", "burst", "20kb")
    return ((namespace, *words, "limit", limit),)


def _quantity(text: str) -> units.BitsPerSecond:
    try:
        return units.parse(units.BitsPerSecond, text)
    except units.UnitProblem as problem:
        raise LabProblem(f"{text!r} is no rate: {problem.reason}", hint="10Mbps") from None


def _whole(text: str, least: int, most: int) -> int:
    number = int(text) if text.isdecimal() and len(text) < 9 else -1
    if not least <= number <= most:
        raise LabProblem(f"{text!r} is no whole number from {least} to {most}")
    return number


def _buffer(namespace: str, setting: str) -> Callable[[str], tuple[Line, ...]]:
    """What a TCP connection of that host may hold."""

    def lines(text: str) -> tuple[Line, ...]:
        count = _whole(text, 2048, 1 << 26)
        return ((namespace, "sysctl", "-qw", f"net.ipv4.{setting}=2048 {count} {count}"),)

    return lines


def _forward(*rules: str) -> tuple[Line, ...]:
    chain = "{ type filter hook forward priority 0 ; }"
    return (
        (ROUTER, "nft", f"add table ip {_TABLE}"),
        (ROUTER, "nft", f"add chain ip {_TABLE} hop {chain}"),
        *((ROUTER, "nft", f"add rule ip {_TABLE} hop {rule}") for rule in rules),
    )


def _loss(text: str) -> tuple[Line, ...]:
    share = _whole(text.removesuffix("%"), 1, 100)
    return _forward(f"ip daddr {PEER_ADDRESS} numgen random mod 100 < {share} counter drop")


def _marked(text: str) -> tuple[Line, ...]:
    share = _whole(text.removesuffix("%"), 1, 100)
    return _forward(
        f"ip daddr {PEER_ADDRESS} ip ecn != not-ect numgen random mod 100 < {share} ip ecn set ce counter"
    )


def _back_loss(text: str) -> tuple[Line, ...]:
    share = _whole(text.removesuffix("%"), 1, 100)
    return _forward(f"ip daddr {ADDRESS} numgen random mod 100 < {share} counter drop")


def _line(text: str) -> tuple[Line, ...]:
    """As lines are sold: more one way than the other."""
    there, slash, back = text.partition("/")
    if not slash:
        raise LabProblem(f"{text!r} is no line", hint="100Mbps/40Mbps")
    return (
        *_shaped(ROUTER, _OUT, there, limit="150kb"),
        *_shaped(ROUTER, _IN, back, limit="150kb"),
    )


def _burst(text: str) -> tuple[Line, ...]:
    """A rate, and the bytes that pass before it counts."""
    rate, slash, credit = text.partition("/")
    if not slash:
        raise LabProblem(f"{text!r} is no rate and credit", hint="100Mbps/2000000")
    bits, count = int(_quantity(rate)), _whole(credit, 20_000, 100_000_000)
    words = ("tc", "qdisc", "add", "dev", _OUT, "root", "tbf", "rate", f"{bits}bit", "burst", f"{count}b")
    return ((ROUTER, *words, "limit", "150kb"),)


def _relayed(kind: str, most: int) -> Callable[[str], tuple[Line, ...]]:
    """Every packet through a program in the router, which does to it what the kernel here cannot."""

    def lines(text: str) -> tuple[Line, ...]:
        _whole(text.removesuffix("%").removesuffix("ms"), 1, most)
        tables = ((_IN, "101"), (_OUT, "102"))
        return (
            *((ROUTER, "ip", "rule", "add", "iif", device, "lookup", table) for device, table in tables),
            *((ROUTER, "sysctl", "-qw", f"net.ipv4.conf.{name}.rp_filter=0") for name in ("all", "default")),
        )

    lines.__name__ = kind
    return lines


def _traffic(text: str) -> tuple[Line, ...]:
    """Who sends it is started with the far end's server; here is the room that it fills."""
    _quantity(text)
    return ()


def _no_data_ports(_text: str) -> tuple[Line, ...]:
    return _forward(f"ip daddr {PEER_ADDRESS} tcp dport != 7471 counter reject with tcp reset")


def _no_udp_from_here(_text: str) -> tuple[Line, ...]:
    chain = "{ type filter hook output priority 0 ; }"
    return (
        (HERE, "nft", f"add table ip {_TABLE}"),
        (HERE, "nft", f"add chain ip {_TABLE} out {chain}"),
        (HERE, "nft", f"add rule ip {_TABLE} out meta l4proto udp counter drop"),
    )


def _no_fragments(_text: str) -> tuple[Line, ...]:
    """As filters do that look for ports, which only the first fragment has."""
    return _forward("ip frag-off & 0x3fff != 0 counter drop")


def _no_udp_back(_text: str) -> tuple[Line, ...]:
    return _forward(f"ip daddr {ADDRESS} meta l4proto udp counter drop")


def _bleached(_text: str) -> tuple[Line, ...]:
    return _forward(f"ip daddr {PEER_ADDRESS} ip ecn set not-ect counter")


def _no_udp(_text: str) -> tuple[Line, ...]:
    return _forward("meta l4proto udp counter drop")


def _here_mtu(text: str) -> tuple[Line, ...]:
    return ((HERE, "ip", "link", "set", _DEVICE, "mtu", str(_whole(text, 576, 9000))),)


def _peer_mtu(text: str) -> tuple[Line, ...]:
    return ((PEER, "ip", "link", "set", _DEVICE, "mtu", str(_whole(text, 576, 9000))),)


def _hop_mtu(text: str) -> tuple[Line, ...]:
    mtu = str(_whole(text, 576, 9000))
    ways = (("10.77.2.0/24", _OUT), ("10.77.1.0/24", _IN))
    return tuple((ROUTER, "ip", "route", "change", net, "dev", device, "mtu", mtu) for net, device in ways)


def _hole(text: str) -> tuple[Line, ...]:
    chain = "{ type filter hook output priority 0 ; }"
    return (
        *_hop_mtu(text),
        (ROUTER, "nft", f"add table ip {_TABLE}o"),
        (ROUTER, "nft", f"add chain ip {_TABLE}o out {chain}"),
        (ROUTER, "nft", f"add rule ip {_TABLE}o out icmp type destination-unreachable drop"),
    )


FAULTS: tuple[Fault, ...] = (
    Fault("here-rate", "RATE", "this host's own queue lets out only so much",
          lambda text: _shaped(HERE, _DEVICE, text, limit="300kb")),
    Fault("router-rate", "RATE", "the router forwards only so much, and drops the rest",
          lambda text: _shaped(ROUTER, _OUT, text, limit="60kb")),
    Fault("back-rate", "RATE", "the way back carries only so much",
          lambda text: _shaped(ROUTER, _IN, text, limit="60kb")),
    Fault("loss", "PERCENT", "the router loses packets at random", _loss, "nft"),
    Fault("back-loss", "PERCENT", "the router loses packets of the way back at random", _back_loss, "nft"),
    Fault("line", "RATE/RATE", "the router carries so much there and so much back, as lines are sold", _line),
    Fault("burst", "RATE/BYTES", "the router lets so many bytes through at once, then holds to its rate",
          _burst),
    Fault(DELAY, "MS", "every packet takes so many milliseconds longer, half of them each way",
          _relayed(DELAY, 2000), TUN),
    Fault(DAMAGE, "PERCENT", "the router changes a byte of packets to the other host",
          _relayed(DAMAGE, 100), TUN),
    Fault(REORDER, "PERCENT", "the router keeps packets to the other host back for a moment",
          _relayed(REORDER, 100), TUN),
    Fault(TRAFFIC, "RATE", "the router sends datagrams of its own to the other host, too", _traffic),
    Fault(FRAMES, "", "the router sends frames that no host knows (LLDP), as switches do", lambda _: ()),
    Fault("here-mtu", "BYTES", "this host's interface is set shorter", _here_mtu),
    Fault("peer-mtu", "BYTES", "the other host's interface is set shorter", _peer_mtu),
    Fault("router-mtu", "BYTES", "the router carries shorter packets only, and says so", _hop_mtu),
    Fault("router-mtu-silent", "BYTES", "the same without a word (an ICMP black hole)", _hole, "nft"),
    Fault("here-buffer", "BYTES", "this host holds only so much of a TCP connection's data to send",
          _buffer(HERE, "tcp_wmem"), "sysctl"),
    Fault("peer-window", "BYTES", "the other host holds only so much of a TCP connection's received data",
          _buffer(PEER, "tcp_rmem"), "sysctl"),
    Fault("ecn-mark", "PERCENT", "the router marks packets as congested", _marked, "nft"),
    Fault("ecn-bleach", "", "the router removes ECN marks", _bleached, "nft"),
    Fault("udp-blocked", "", "the router lets no UDP through", _no_udp, "nft"),
    Fault("no-fragments", "", "the router lets no fragments through", _no_fragments, "nft"),
    Fault("udp-blocked-back", "", "the router lets no UDP back", _no_udp_back, "nft"),
    Fault("udp-blocked-here", "", "this host's own filter lets no UDP out", _no_udp_from_here, "nft"),
    Fault("data-ports-blocked", "", "the router refuses TCP but to the control port", _no_data_ports, "nft"),
    Fault(DIES, "PROBE", "the other host's server is killed during a probe", lambda _: ()),
    Fault(STRANGER, "", "the other host has another token", lambda _: ()),
)  # fmt: skip


class LabProblem(DSecError):
    """The lab cannot be built here, or a fault is written wrongly."""


def fault_of(text: str) -> tuple[Fault, str]:
    """The fault that is meant by NAME or NAME=VALUE, and its value."""
    name, equals, value = text.partition("=")
    found = next((fault for fault in FAULTS if fault.name == name), None)
    if found is None:
        known = ", ".join(f"{one.name}={one.takes}" if one.takes else one.name for one in FAULTS)
        raise LabProblem(f"there is no fault {name!r}", hint=known)
    if bool(found.takes) != bool(equals and value):
        form = f"{name}={found.takes}" if found.takes else name
        raise LabProblem(f"{text!r} is not how this fault is written", hint=form)
    found.lines(value)
    return found, value
