"""How two GPUs are linked: NVLinks counted from both ends, else what PCIe path joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dsec.inventory import Device

SWITCH = "switch"
_PCI_LINKS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}


def pci_link(level: int) -> str:
    """NVML's common-ancestor level as `nvidia-smi topo -m` names it; "" when it is a new one."""
    return _PCI_LINKS.get(level, "")


def nvlink_counts(ends: Mapping[str, Sequence[str]], devices: Sequence[Device]) -> dict[tuple[str, str], int]:
    """NVLinks between each pair of devices, in both orders; pairs without one are absent.

    `ends` holds each device's active links by far end (PCI bus id, or SWITCH). Two GPUs on
    switches reach each other with the links that the one with fewer has.
    """
    at_pci = {_bare(device.pci): device.uuid for device in devices if device.pci}
    counts: dict[tuple[str, str], int] = {}
    for uuid, far in ends.items():
        for end in far:
            other = at_pci.get(_bare(end))
            if end != SWITCH and other is not None and other != uuid:
                counts[uuid, other] = counts.get((uuid, other), 0) + 1
    switched = {uuid: list(far).count(SWITCH) for uuid, far in ends.items()}
    for one, from_one in switched.items():
        for two, from_two in switched.items():
            if one != two and from_one and from_two:
                counts[one, two] = min(from_one, from_two)
    return _both(counts)


def _both(counts: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """A link seen from one end only (the other did not answer) is still a link."""
    return {
        pair: max(counts.get(pair, 0), counts.get(pair[::-1], 0))
        for one in counts
        for pair in (one, one[::-1])
    }


def _bare(pci: str) -> str:
    """Bus ids differ in case and in the width of the domain."""
    domain, _, rest = pci.lower().partition(":")
    return f"{domain[-4:]}:{rest}"
