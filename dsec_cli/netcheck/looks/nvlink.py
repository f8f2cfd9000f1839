"""NVLink of this host's GPUs: what joins them, for flows that never leave the machine."""

from __future__ import annotations

from dsec.devices import nvml
from dsec_cli.netcheck.facts import Look, Seen


def see(_name: str) -> Seen:
    """Through NVML; the interface of the path plays no part."""
    inventory = nvml.read()
    if not inventory.devices:
        return Seen("nvlink", (), "", "; ".join(inventory.notes[-1:]).partition(": ")[0] or "no GPU here")
    rows: list[tuple[str, int]] = []
    for device in inventory.devices:
        counts = [int(link[2:]) for _, link in device.links if link[:2] == "NV" and link[2:].isdecimal()]
        rows += [(f"gpu{device.index}_nvlinks", max(counts, default=0))]
    joined = sum(1 for _, count in rows if count)
    if not joined:
        return Seen("nvlink", (), "", "the driver reports no NVLink between the GPUs here")
    return Seen("nvlink", tuple(rows), f"{joined} of {len(rows)} GPUs are joined by NVLink", "")


LOOK = Look("nvlink", see)
