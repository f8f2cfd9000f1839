"""The NVIDIA driver: there, started, one version with its library, and new enough to say who uses a GPU.

Before 535.104.05 the calls that list the processes of a GPU differ between drivers of one series, and
some list none (R535 brought their third version, 535.98 took it back): runs could not be told apart.
"""

from __future__ import annotations

from dsec.devices.door import MISMATCH, NO_DRIVER
from dsec_cli.doctor.check import ABSENT, ERROR, UNKNOWN, Answer, Check, as_root, fine, problem
from dsec_cli.doctor.gpufacts import NO_LIBRARY, NO_PERMISSION
from dsec_cli.doctor.host import CRASHED, SILENT
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.gpufacts import Gpus
    from dsec_cli.doctor.host import Host

LEAST = (535, 104, 5)
_LEAST = "535.104.05"


def look(host: Host) -> Answer:
    """By NVML; a library that does not start says why."""
    gpus = host.gpus()
    if gpus.code:
        return _not_started(gpus, host)
    if gpus.why and not gpus.devices:
        return problem(gpus.why, severity=ERROR)
    if not gpus.driver:
        return Answer(UNKNOWN, (say("the driver does not say its version"),))
    if version(gpus.driver) < LEAST:
        return problem(
            say("driver {version} is older than {least}", version=gpus.driver, least=_LEAST),
            say(
                "its NVML lists the processes of a GPU wrongly or not at all: who holds memory stays unknown"
            ),
            mend=say("install driver {least} or newer, and restart the machine", least=_LEAST),
            severity=ERROR,
        )
    return fine(say("driver {version}", version=gpus.driver))


def version(text: str) -> tuple[int, ...]:
    """Numbers of a version, to compare."""
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _not_started(gpus: Gpus, host: Host) -> Answer:
    if gpus.code == NO_LIBRARY:
        if host.there("proc/driver/nvidia") or host.names("sys/bus/pci/drivers/nvidia"):
            return problem(
                say("the driver is loaded, but its library (libnvidia-ml.so.1) is not here"),
                mend=say("in a container: start it with --gpus all; else install the driver's libraries"),
                severity=ERROR,
            )
        return Answer(ABSENT, (say("no NVIDIA driver here"),))
    if gpus.code == MISMATCH:
        known = say(
            "the driver that is loaded ({version}) and its library differ in version", version=gpus.driver
        )
        return problem(
            known if gpus.driver else say("the driver that is loaded and its library differ in version"),
            mend=_reload(host),
            severity=ERROR,
        )
    if gpus.code == NO_DRIVER:
        return problem(
            say("the NVIDIA library is here, but the driver is not loaded"),
            mend=_load(host),
            severity=ERROR,
        )
    if gpus.code == NO_PERMISSION:
        return problem(
            say("no permission to use the driver"),
            mend=say(
                "ls -l /dev/nvidia* says who may; in a container: --gpus all, or --device for each; where "
                "they belong to the group video: {command}, then log in again",
                command=as_root("usermod -aG video $USER"),
            ),
            severity=ERROR,
        )
    return _failed(gpus)


def _reload(host: Host) -> str:
    """The modules that are loaded, those that use others first: the driver goes only when none uses it."""
    order = ("nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia_peermem", "gdrdrv", "nvidia_fs", "nvidia")
    loaded = {line.split()[0] for line in (host.text("proc/modules") or "").splitlines() if line.split()}
    names = [name for name in order if name in loaded] or [*order[:3], "nvidia"]
    return say(
        "restart the machine; or end all that uses a GPU (fuser -v /dev/nvidia*), then {stop}; {remove} && "
        "{load}",
        stop=as_root("systemctl stop nvidia-persistenced nvidia-fabricmanager gdm display-manager"),
        remove=as_root(f"modprobe -r {' '.join(names)}"),
        load=as_root("modprobe nvidia"),
    )


def _load(host: Host) -> str:
    """What stands in its way is told by the checks of modules."""
    blocked = "nouveau" in (host.text("proc/modules") or "")
    if blocked:
        return say("nouveau has the cards: see modules")
    return say("{command}; where that fails, see modules", command=as_root("modprobe nvidia"))


def _failed(gpus: Gpus) -> Answer:
    if gpus.code == CRASHED:
        text = say("the NVIDIA library crashed when it was asked")
    elif gpus.code == SILENT:
        text = say("the NVIDIA library does not answer")
    else:
        text = say("NVML does not start: {why}", why=gpus.why)
    mend = say(
        "see what the kernel says: {command} | grep -i nvrm; nvidia-smi should fail in the same way",
        command=as_root("dmesg"),
    )
    return problem(text, mend=mend, severity=ERROR)


CHECK = Check("driver", look, words=("gpu", "nvidia"), budget_s=10.0, of_gpus=True)
