"""The host's own name: distributed programs look it up to find each other."""

from __future__ import annotations

import socket

from dsec_cli.doctor.check import NOTE, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host


def look(_host: Host) -> Answer:
    """As any program would."""
    name = socket.gethostname()
    try:
        found = {str(row[4][0]) for row in socket.getaddrinfo(name, None)}
    except OSError:
        return problem(
            say("the name of this host, {name}, cannot be resolved", name=name),
            mend=f"echo '127.0.1.1 {name}' | sudo tee -a /etc/hosts",
        )
    if all(address.startswith("127.") or address == "::1" for address in found):
        text = say("{name} is this host alone (loopback): fine for one machine, not for several", name=name)
        return Answer(NOTE, (text,))
    return fine(say("{name} is {addresses}", name=name, addresses=", ".join(sorted(found))))


CHECK = Check("hostname", look, budget_s=6.0)
