"""NUMA: processors that this process may not use, and GPUs whose node nobody knows."""

from __future__ import annotations

import os

from dsec.devices.procfs import bus_address, members
from dsec_cli.doctor.check import ABSENT, NOTE, UNKNOWN, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host


def look(host: Host) -> Answer:
    """By sysfs and this process's own mask."""
    nodes = members(host.text("sys/devices/system/node/online") or "")
    if not nodes:
        return Answer(UNKNOWN, (say("the kernel does not say which NUMA nodes there are (no /sys)"),))
    allowed = len(os.sched_getaffinity(0))
    online = len(members(host.text("sys/devices/system/cpu/online") or ""))
    if len(nodes) == 1:
        if online and allowed < online:
            return Answer(
                NOTE,
                (
                    say(
                        "this process may use {allowed} of {online} processors",
                        allowed=allowed,
                        online=online,
                    ),
                ),
            )
        return Answer(ABSENT, (say("one NUMA node: nothing to place"),))
    lost = [gpu for gpu in host.gpus().devices if gpu.pci and _node(host, gpu.pci) is None]
    if lost:
        return problem(
            say(
                "of {count} GPUs nobody says which of {nodes} NUMA nodes they are at",
                count=len(lost),
                nodes=len(nodes),
            ),
            mend=say(
                "switch NUMA on in the firmware (ACPI SRAT), or pass the topology to the virtual machine"
            ),
        )
    bare = [
        node for node in nodes if not members(host.text(f"sys/devices/system/node/node{node}/cpulist") or "")
    ]
    if bare:
        return Answer(NOTE, (say("NUMA node {node} has memory but no processor", node=bare[0]),))
    return fine(
        say(
            "{nodes} NUMA nodes, {allowed} of {online} processors may be used",
            nodes=len(nodes),
            allowed=allowed,
            online=online,
        )
    )


def _node(host: Host, pci: str) -> int | None:
    found = host.number(f"sys/bus/pci/devices/{bus_address(pci)}/numa_node")
    return None if found is None or found < 0 else found


CHECK = Check("numa", look, budget_s=10.0)
