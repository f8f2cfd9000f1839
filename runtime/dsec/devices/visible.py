"""Which GPUs a process may see: the inherited mask, and the one a Step's process gets.

CUDA reads the mask from left to right and stops at the first entry it does not know; an entry is
an index, a UUID, the unambiguous start of one, or a MIG UUID. NVML ignores the mask, so the
inventory has to be cut to it here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dsec.inventory import Device, Inventory

MASK = "CUDA_VISIBLE_DEVICES"
ORDER = "CUDA_DEVICE_ORDER"
NUMA = "DSEC_NUMA"
GRANTED = "DSEC_DEVICES"
"""What `dsec.granted` compares with what a process sees."""


def allowed(mask: str | None, devices: Sequence[Device]) -> tuple[str, ...]:
    """UUIDs that `mask` shows, in its order; no mask (None) shows all."""
    if mask is None:
        return tuple(device.uuid for device in devices)
    found: list[str] = []
    for entry in mask.split(","):
        uuid = _named(entry.strip(), devices)
        if uuid is None:
            break
        if uuid in found:
            return ()  # CUDA refuses a mask that names a device twice
        found.append(uuid)
    return tuple(found)


def _named(entry: str, devices: Sequence[Device]) -> str | None:
    if entry.isdecimal():
        whole = [device for device in devices if device.index == int(entry)]
        return whole[0].uuid if whole else None
    if not entry.startswith(("GPU-", "MIG-")):
        return None
    matches = [device.uuid for device in devices if device.uuid.startswith(entry)]
    exact = [uuid for uuid in matches if uuid == entry]
    if exact or len(matches) == 1:
        return (exact or matches)[0]
    return None


def restrict(inventory: Inventory, environ: Mapping[str, str]) -> Inventory:
    """The inventory without the GPUs that the inherited mask hides, and a note that says so."""
    mask = environ.get(MASK)
    if mask is None or not inventory.devices:
        return inventory
    shown = set(allowed(mask, inventory.devices))
    kept = tuple(device for device in inventory.devices if device.uuid in shown)
    notes = [f"{MASK}={mask} shows {len(kept)} of {len(inventory.devices)} GPUs"]
    kinds = {device.model for device in inventory.devices}
    if (
        len(kinds) > 1
        and any(entry.strip().isdecimal() for entry in mask.split(","))
        and environ.get(ORDER) != "PCI_BUS_ID"
    ):
        notes.append(
            f"{MASK} counts in PCI order here; CUDA counts fastest first unless {ORDER}=PCI_BUS_ID: use UUIDs"
        )
    return inventory._replace(devices=kept, notes=(*inventory.notes, *notes))


def environment(granted: Sequence[str], mask: str | None, devices: Sequence[Device]) -> dict[str, str]:
    """Variables for a child that holds `granted`: nothing it may not see, indices in PCI order.

    A child without GPUs gets the empty mask, which hides all of them. One whose GPUs are all on one
    NUMA node is told which, so that it can keep to that node's processors and memory.
    """
    shown = set(allowed(mask, devices))
    told = {MASK: ",".join(uuid for uuid in granted if uuid in shown), ORDER: "PCI_BUS_ID"}
    nodes = {device.numa for device in devices if device.uuid in granted}
    if len(nodes) == 1 and None not in nodes:
        told[NUMA] = str(nodes.pop())
    if granted:
        index = {device.uuid: device.index for device in devices}
        told[GRANTED] = ",".join(f"{uuid}={index[uuid]}" for uuid in granted if uuid in shown)
    return told
