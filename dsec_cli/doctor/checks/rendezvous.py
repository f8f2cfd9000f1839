"""Ports at which the processes of a job find each other: taken by somebody, or the kernel's to give away."""

from __future__ import annotations

from dsec_cli.doctor.check import NOTE, UNKNOWN, Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_USUAL = {29500: "MASTER_PORT", 29400: "torchrun --rdzv-endpoint"}
"""What PyTorch takes where nobody says anything."""
_LISTENS = "0A"
_RANGE, _RESERVED = "proc/sys/net/ipv4/ip_local_port_range", "proc/sys/net/ipv4/ip_local_reserved_ports"


def look(host: Host) -> Answer:
    """By the kernel's tables of sockets, and its range of ports for connections that go out."""
    text = host.environ.get("MASTER_PORT", "")
    if text and not (text.isascii() and text.isdecimal() and 0 < int(text[:9]) < 65536):
        return problem(say("MASTER_PORT={text} is no port", text=text), mend="export MASTER_PORT=29500")
    ports = {int(text): "MASTER_PORT"} if text else _USUAL
    tables = [host.text(f"proc/net/{name}") for name in ("tcp", "tcp6")]
    if all(table is None for table in tables):
        return Answer(UNKNOWN, (say("the kernel does not show its sockets (no /proc/net/tcp)"),))
    taken = listening("".join(table or "" for table in tables))
    busy = sorted(set(ports) & taken)
    if busy:
        return problem(
            say("port {port} ({name}) is taken on this host", port=busy[0], name=ports[busy[0]]),
            mend=say(
                "`ss -ltnp sport = :{port}` says by whom; a job of yours that was left ends with "
                "dsec doctor --reap; or export MASTER_PORT=PORT",
                port=busy[0],
            ),
        )
    return _given_away(host, ports)


def _given_away(host: Host, ports: dict[int, str]) -> Answer:
    """Whether a connection that goes out may get the port before the job listens at it."""
    bounds = (host.text(_RANGE) or "").split()
    names = ", ".join(map(str, sorted(ports)))
    if len(bounds) == 2 and all(bound.isdecimal() for bound in bounds):
        inside = [port for port in sorted(ports) if int(bounds[0]) <= port <= int(bounds[1])]
        free = [port for port in inside if not _reserved(host.text(_RESERVED) or "", port)]
        if free:
            text = say(
                "port {port} is among those that the kernel gives to connections going out ({range})",
                port=free[0],
                range="-".join(bounds),
            )
            kept = ",".join([*filter(None, [(host.text(_RESERVED) or "").strip()]), str(free[0])])
            return Answer(NOTE, (text,), as_root(f"sysctl -w net.ipv4.ip_local_reserved_ports={kept}"))
    return fine(say("ports of the rendezvous are free: {ports}", ports=names))


def listening(table: str) -> set[int]:
    """Local ports of a table like /proc/net/tcp at which somebody listens."""
    found = set()
    for line in table.splitlines():
        words = line.split()
        if len(words) > 3 and words[3] == _LISTENS:
            try:
                found.add(int(words[1].rpartition(":")[2], 16))
            except ValueError:
                continue
    return found


def _reserved(text: str, port: int) -> bool:
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        if low.isdecimal() and int(low) <= port <= int(high if high.isdecimal() else low):
            return True
    return False


CHECK = Check("rendezvous", look, words=("network",))
