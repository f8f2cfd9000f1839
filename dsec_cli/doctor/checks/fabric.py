"""Fabric Manager: where there are NVSwitches no CUDA program starts before it has set them up."""

from __future__ import annotations

from dsec_cli.doctor.check import ABSENT, ERROR, UNKNOWN, Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_PCI = "sys/bus/pci/devices"
_NVIDIA, _SWITCH = "0x10de", "0x0680"
_PROGRAM = "nv-fabricmanager"[:15]
"""As the kernel cuts names of programs."""
_INIT = ("systemd", "init", "openrc-init", "runit")


def look(host: Host) -> Answer:
    """NVSwitches on the PCI bus, and the service among the processes."""
    switches = [name for name in host.names(_PCI) if _is_switch(host, name)]
    if not switches:
        return Answer(ABSENT, (say("no NVSwitch here: no fabric manager is needed"),))
    evidence = say("NVSwitches on the PCI bus: {names}", names=", ".join(switches[:8]))
    running = [pid for pid in host.names("proc") if pid.isdecimal() and _name(host, pid) == _PROGRAM]
    if running:
        return fine(say("the fabric manager runs (process {pid})", pid=running[0]), evidence)
    if _name(host, "1") not in _INIT:
        text = say("this container does not show whether the fabric manager runs: ask on the host")
        return Answer(UNKNOWN, (text, evidence), "systemctl status nvidia-fabricmanager")
    version = host.gpus().driver
    branch = version.partition(".")[0] or "BRANCH"
    return problem(
        say(
            "the fabric manager does not run: CUDA programs fail with error 802 (system not yet initialized)"
        ),
        evidence,
        mend=say(
            "{start}; where it is not installed, in the driver's own version {version}: {debian} (Debian, "
            "Ubuntu), {rhel} (RHEL)",
            start=as_root("systemctl enable --now nvidia-fabricmanager"),
            version=version or "?",
            debian=as_root(f"apt install nvidia-fabricmanager-{branch}"),
            rhel=as_root("dnf install nvidia-fabric-manager"),
        ),
        severity=ERROR,
    )


def _is_switch(host: Host, name: str) -> bool:
    vendor = (host.text(f"{_PCI}/{name}/vendor") or "").strip()
    return vendor == _NVIDIA and (host.text(f"{_PCI}/{name}/class") or "").startswith(_SWITCH)


def _name(host: Host, pid: str) -> str:
    return (host.text(f"proc/{pid}/comm") or "").strip()


CHECK = Check("fabric", look, words=("nvswitch",), budget_s=10.0)
