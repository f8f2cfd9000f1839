"""Kernel modules: nouveau in the NVIDIA driver's place, and a driver that was not built for this kernel."""

from __future__ import annotations

from dsec_cli.doctor.check import ABSENT, ERROR, NOTE, UNKNOWN, Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_PCI = "sys/bus/pci/devices"
_NVIDIA, _DISPLAY = "0x10de", ("0x0300", "0x0302")
_FOLDERS = ("updates/dkms", "updates", "extra", "extra/nvidia", "weak-updates", "weak-updates/nvidia",
            "kernel/drivers/video", "kernel/nvidia")  # fmt: skip
_MODULE = ("nvidia.ko", "nvidia.ko.xz", "nvidia.ko.zst", "nvidia.ko.gz")


def look(host: Host) -> Answer:
    """What is loaded, and for which kernels the driver is there."""
    cards = [name for name in host.names(_PCI) if _is_card(host, name)]
    modules = host.text("proc/modules")
    if not cards:
        return Answer(ABSENT, (say("no NVIDIA card on the PCI bus"),))
    if modules is None:
        return Answer(UNKNOWN, (say("the kernel does not show its modules (no /proc/modules)"),))
    loaded = {line.split()[0] for line in modules.splitlines() if line.split()}
    running = (host.text("proc/sys/kernel/osrelease") or "").strip()
    built = {kernel for kernel in host.names("lib/modules") if _built(host, kernel)}
    if "nouveau" in loaded:
        return _nouveau(host, cards)
    if "nvidia" not in loaded and running and built and running not in built:
        return problem(
            say("the NVIDIA driver is not built for the kernel that runs, {kernel}", kernel=running),
            say("it is there for: {kernels}", kernels=", ".join(sorted(built))),
            mend=_rebuild(host, running),
            severity=ERROR,
        )
    next_one = _newest(host.names("lib/modules"))
    if built and next_one not in built and next_one != running:
        text = say(
            "kernel {kernel}, which the next start may take, has no NVIDIA driver yet", kernel=next_one
        )
        return Answer(NOTE, (text,), _rebuild(host, next_one))
    if "nvidia" not in loaded:
        text = say("an NVIDIA card is here, and no driver is loaded for it")
        return Answer(NOTE, (text, ", ".join(cards[:8])), as_root("modprobe nvidia"))
    return fine(say("the NVIDIA driver is loaded, and nouveau is not"))


def _nouveau(host: Host, cards: list[str]) -> Answer:
    """Both cannot have a card; without a new initial file system the next start loads it again."""
    if _red_hat(host):
        argument = as_root("grubby --update-kernel=ALL --args=modprobe.blacklist=nouveau")
        again = f"{as_root('dracut --force')} && {argument}"
    else:
        again = as_root("update-initramfs -u")
    file = as_root("tee /etc/modprobe.d/blacklist-nouveau.conf")
    return problem(
        say("nouveau is loaded: the NVIDIA driver cannot have the cards"),
        ", ".join(cards[:8]),
        mend=say(
            "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | {file} && {again}, then restart",
            file=file,
            again=again,
        ),
        severity=ERROR,
    )


def _rebuild(host: Host, kernel: str) -> str:
    """Headers of that kernel first: without them there is nothing to build against."""
    if _red_hat(host):
        headers = as_root(f"dnf install kernel-devel-{kernel}")
    elif _id(host, "debian", "ubuntu"):
        headers = as_root(f"apt install linux-headers-{kernel}")
    else:
        headers = say("install the headers of {kernel}", kernel=kernel)
    build = as_root(f"dkms autoinstall -k {kernel}")
    return say("{headers}; {build}; {load}", headers=headers, build=build, load=as_root("modprobe nvidia"))


def _is_card(host: Host, name: str) -> bool:
    vendor = (host.text(f"{_PCI}/{name}/vendor") or "").strip()
    return vendor == _NVIDIA and (host.text(f"{_PCI}/{name}/class") or "")[:6] in _DISPLAY


def _built(host: Host, kernel: str) -> bool:
    base = f"lib/modules/{kernel}"
    return any(host.there(f"{base}/{folder}/{name}") for folder in _FOLDERS for name in _MODULE)


def _newest(kernels: list[str]) -> str:
    """By the numbers of their versions."""

    def key(name: str) -> tuple[int, ...]:
        words = name.replace("-", ".").replace("_", ".").split(".")
        return tuple(int(word[:9]) for word in words if word.isascii() and word.isdecimal())

    return max(kernels, key=key, default="")


def _id(host: Host, *wanted: str) -> bool:
    """Whether /etc/os-release names one of these, or something that is like it."""
    words: list[str] = []
    for line in (host.text("etc/os-release") or "").splitlines():
        key, _, value = line.partition("=")
        if key in ("ID", "ID_LIKE"):
            words += value.strip("\"' ").split()
    return any(word in wanted for word in words)


def _red_hat(host: Host) -> bool:
    return _id(host, "rhel", "fedora", "centos", "rocky", "almalinux")


CHECK = Check("modules", look, words=("gpu", "nouveau"), budget_s=5.0)
