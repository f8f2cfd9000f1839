"""IOMMU and ACS: what sends traffic between GPUs through the processor instead of straight on.

With access control services on at a PCIe bridge, requests from one GPU to another go up to the root
complex first: peer-to-peer copies become several times slower, and some machines hang.
"""

from __future__ import annotations

import os
import struct

from dsec_cli.doctor.check import ABSENT, NOTE, UNKNOWN, Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_DEVICES = "sys/bus/pci/devices"
_BRIDGE, _ACS, _FIRST = 0x0604, 0x000D, 0x100
_REDIRECT = 0b0001_1101
"""Source validation, request redirect, completion redirect, upstream forwarding."""


def look(host: Host) -> Answer:
    """Bridges by their configuration space, which only root may read in whole."""
    if len(host.gpus().devices) < 2:
        return Answer(ABSENT, (say("fewer than two GPUs: nothing goes between them"),))
    translated = bool(host.names("sys/class/iommu"))
    states = {name: acs(config) for name, config in _bridges(host)}
    if not states or all(state is None for state in states.values()):
        return Answer(
            UNKNOWN,
            (say("the bridges' settings can be read by root alone"), _iommu(translated)),
            "sudo dsec doctor --only iommu"
            if os.geteuid()
            else say("root sees no more here: ask on the host, outside of the container"),
        )
    on = sorted(name for name, state in states.items() if state)
    if on:
        return problem(
            say(
                "ACS is on at {count} PCIe bridges: copies between GPUs go through the processor",
                count=len(on),
            ),
            _iommu(translated),
            ", ".join(on[:8]),
            mend=say(
                "where no virtual machine has a device of its own: {command} for each (until the next "
                "start), or switch ACS off in the firmware",
                command=as_root(f"setpci -s {on[0]} ECAP_ACS+6.w=0000"),
            ),
        )
    if translated:
        text = say("an IOMMU is on: copies between GPUs may be translated on their way")
        return Answer(
            NOTE,
            (text,),
            _passthrough(host),
        )
    return fine(say("neither IOMMU nor ACS is in the way between GPUs"))


def _passthrough(host: Host) -> str:
    """How this distribution changes the kernel's command line."""
    if host.there("usr/sbin/grubby") or host.there("sbin/grubby"):  # RHEL and its like
        command = as_root("grubby --update-kernel=ALL --args=iommu=pt")
        return say("{command}, then restart", command=command)
    command = as_root("update-grub")
    return say(
        "add iommu=pt to GRUB_CMDLINE_LINUX of /etc/default/grub, then {command} and restart", command=command
    )


def _iommu(on: bool) -> str:
    return say("an IOMMU is on") if on else say("no IOMMU is on")


def _bridges(host: Host) -> list[tuple[str, bytes]]:
    found = []
    for name in host.names(_DEVICES):
        kind = host.text(f"{_DEVICES}/{name}/class") or ""
        if kind.strip()[:6] == f"0x{_BRIDGE:04x}":
            try:
                with open(os.path.join(host.root, _DEVICES, name, "config"), "rb") as file:
                    found.append((name, file.read(4096)))
            except OSError:
                found.append((name, b""))
    return found


def acs(config: bytes) -> bool | None:
    """Whether access control services redirect; None: the configuration does not say (too short)."""
    if len(config) <= _FIRST:
        return None
    at, seen = _FIRST, 0
    while at and at + 8 <= len(config) and seen < 64:
        head = struct.unpack_from("<I", config, at)[0]
        if head & 0xFFFF == _ACS:
            return bool(struct.unpack_from("<H", config, at + 6)[0] & _REDIRECT)
        at, seen = head >> 20, seen + 1
    return False


CHECK = Check("iommu", look, words=("acs",), budget_s=10.0)
