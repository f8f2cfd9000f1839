"""Interfaces that NCCL and Gloo are told to use: a name that fits none, or one that is down, ends every job.

NCCL_SOCKET_IFNAME (NCCL, "Environment Variables"): names with commas, each the beginning of a name; `=` in
front: the whole name; `^`: all but these. Gloo takes one whole name. NCCL_IB_HCA has the same form for
RDMA devices, and may name a port behind a colon.
"""

from __future__ import annotations

from dsec_cli.doctor.check import ABSENT, ERROR, NOTE, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.doctor.host import Host

_PATTERNS = {"NCCL_SOCKET_IFNAME": "sys/class/net", "NCCL_IB_HCA": "sys/class/infiniband"}
_NAMES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
_LOCAL = ("lo", "docker", "virbr", "veth", "cni", "flannel", "cali")
"""Bridges and ends of containers: they lead to no other host."""


def look(host: Host) -> Answer:
    """Each variable against what there is, then what NCCL would choose by itself."""
    there = host.names("sys/class/net")
    lines: list[str] = []
    for variable, folder in _PATTERNS.items():
        if value := host.environ.get(variable, ""):
            found = fitting(value, host.names(folder))
            wrong = _wrong(host, variable, value, found, names=host.names(folder))
            if wrong is not None:
                return wrong
            lines.append(say("{name}={value}: {found}", name=variable, value=value, found=", ".join(found)))
    for variable in _NAMES:
        if value := host.environ.get(variable, ""):
            found = [value] if value in there else []
            wrong = _wrong(host, variable, value, found, names=there)
            if wrong is not None:
                return wrong
            lines.append(say("{name}={value}: {found}", name=variable, value=value, found=value))
    if lines:
        return fine(say("the interfaces that NCCL and Gloo are told to use are there"), *lines)
    return _by_itself(host, there)


def fitting(pattern: str, names: Sequence[str]) -> list[str]:
    """Names that NCCL takes for a pattern."""
    without = pattern.startswith("^")
    pattern = pattern.removeprefix("^")
    whole = pattern.startswith("=")
    words = [word.partition(":")[0] for word in pattern.removeprefix("=").split(",") if word]

    def fits(name: str) -> bool:
        return any(name == word if whole else name.startswith(word) for word in words)

    return [name for name in names if fits(name) != without and name != "lo" * without]


def _wrong(
    host: Host, variable: str, value: str, found: Sequence[str], *, names: Sequence[str]
) -> Answer | None:
    if not found:
        have = ", ".join(name for name in names if name != "lo") or "-"
        return problem(
            say("{name}={value} fits no device here", name=variable, value=value),
            say("there are: {names}", names=have),
            mend=say("export {name}=DEVICE, one of these; or unset it", name=variable),
            severity=ERROR,
        )
    down = [name for name in found if _state(host, name) == "down"]
    if down and len(down) == len(found):
        return problem(
            say(
                "{name}={value} is {found}, which is down", name=variable, value=value, found=", ".join(down)
            ),
            mend=say("`ip link set dev {device} up`, or name another device", device=down[0]),
            severity=ERROR,
        )
    return None


def _state(host: Host, name: str) -> str:
    return (host.text(f"sys/class/net/{name}/operstate") or "").strip()


def _by_itself(host: Host, there: Sequence[str]) -> Answer:
    """NCCL takes the interfaces that are up but for lo and docker; of several it may take the wrong one."""
    up = [name for name in there if name != "lo" and _state(host, name) in ("up", "unknown")]
    if not up:
        return Answer(ABSENT, (say("no interface leads to another host"),))
    local = [name for name in up if name.startswith(_LOCAL)]
    if local and len(up) > len(local):
        text = say(
            "NCCL and Gloo choose an interface by themselves; {names} lead to no host", names=", ".join(local)
        )
        chosen = next(name for name in up if name not in local)
        return Answer(NOTE, (text,), f"export NCCL_SOCKET_IFNAME={chosen} GLOO_SOCKET_IFNAME={chosen}")
    return fine(say("NCCL and Gloo choose among: {names}", names=", ".join(up)))


CHECK = Check("nccl", look, words=("network",))
