"""The host's own name: distributed programs look it up to find each other."""

from __future__ import annotations

import socket

from dsec_cli.doctor.check import NOTE, Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host


def _address() -> str:
    """The address of the route to the world, or to a network nearby; no packet is sent."""
    for target in ("192.0.2.1", "10.255.255.255"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            try:
                sock.connect((target, 9))
            except OSError:
                continue
            found = str(sock.getsockname()[0])
            if not found.startswith("127."):
                return found
    return ""


def _entry(name: str, address: str) -> str:
    """A loopback address would send other hosts' programs, and their own rank 0, to themselves."""
    if not address:
        return say("give this host an address, and let DNS or /etc/hosts of all hosts have {name}", name=name)
    line = f"echo '{address} {name}' | {as_root('tee -a /etc/hosts')}"
    return say(
        "let DNS have it, or on every host: {line}; remove a line that names it as 127.0.1.1 first", line=line
    )


def look(host: Host) -> Answer:
    """As any program would."""
    name = socket.gethostname()
    try:
        found = {str(row[4][0]) for row in socket.getaddrinfo(name, None)}
    except OSError:
        return problem(
            say("the name of this host, {name}, cannot be resolved", name=name), mend=_entry(name, _address())
        )
    if all(address.startswith("127.") or address == "::1" for address in found):
        text = say("{name} is this host alone (loopback): fine for one machine, not for several", name=name)
        evidence = [
            say("/etc/hosts: {line}", line=line)
            for line in (host.text("etc/hosts") or "").splitlines()
            if name in line.split()[1:] and line.startswith(("127.", "::1"))
        ]
        return Answer(NOTE, (text, *evidence), _entry(name, _address()))
    return fine(say("{name} is {addresses}", name=name, addresses=", ".join(sorted(found))))


CHECK = Check("hostname", look, budget_s=6.0)
