"""Two interfaces in one subnet: answers leave by the first of them, whichever one was asked.

The kernel's routes name the first interface for the whole subnet, and either answers ARP for the other: one
link does all the work, strict reverse path filters drop what comes by the second, and connections stall.
"""

from __future__ import annotations

import socket
import struct

from dsec_cli.doctor.check import ABSENT, NOTE, UNKNOWN, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_UP, _GATEWAY = 0x1, 0x2
_CONF = "proc/sys/net/ipv4/conf"


def look(host: Host) -> Answer:
    """By the kernel's table of routes: those without a gateway are of subnets that an interface is in."""
    text = host.text("proc/net/route")
    if text is None:
        return Answer(UNKNOWN, (say("the kernel does not show its routes (no /proc/net/route)"),))
    subnets = connected(text)
    if not subnets:
        return Answer(ABSENT, (say("no interface is in an IPv4 subnet"),))
    shared = {subnet: names for subnet, names in subnets.items() if len(names) > 1}
    if not shared:
        return fine(say("each subnet has one interface: {names}", names=", ".join(sorted(subnets))))
    subnet, names = next(iter(sorted(shared.items())))
    lines = [
        say("{subnet}: {names}", subnet=one, names=", ".join(found)) for one, found in sorted(shared.items())
    ]
    said = say(
        "{count} interfaces are in {subnet}: one link may carry the traffic of all",
        count=len(names),
        subnet=subnet,
    )
    if all(_careful(host, name) for name in names):
        return Answer(NOTE, (say("{text}; ARP is set for that", text=said), *lines))
    return problem(
        said,
        *lines,
        mend=say(
            "a subnet for each, or a bond; else for each: sysctl -w net.ipv4.conf.{name}.arp_ignore=1 "
            "net.ipv4.conf.{name}.arp_announce=2 net.ipv4.conf.{name}.rp_filter=2, and a route by its source "
            "(ip rule)",
            name=names[0],
        ),
    )


def connected(text: str) -> dict[str, list[str]]:
    """Interfaces by the subnet that they are in."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines()[1:]:
        words = line.split()
        try:
            target, flags, mask = (int(words[at], 16) for at in (1, 3, 7))
            bits = bin(mask).count("1")
            address = socket.inet_ntoa(struct.pack("=I", target))
        except (IndexError, ValueError, struct.error):
            continue
        if flags & _UP and not flags & _GATEWAY and 0 < bits < 32:
            names = found.setdefault(f"{address}/{bits}", [])
            if words[0] not in names:
                names.append(words[0])
    return found


def _careful(host: Host, name: str) -> bool:
    """Whether it answers ARP for itself alone, and lets in what the other one could have had."""
    each = {key: max(host.number(f"{_CONF}/{name}/{key}") or 0, host.number(f"{_CONF}/all/{key}") or 0)
            for key in ("arp_ignore", "arp_announce", "rp_filter")}  # fmt: skip
    return each["arp_ignore"] >= 1 and each["arp_announce"] == 2 and each["rp_filter"] != 1


CHECK = Check("subnets", look, words=("network",))
