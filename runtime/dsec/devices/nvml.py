"""GPUs through NVML: what a machine has, read once.

Every reading is optional: a field the card, driver or binding does not have is None, a lost GPU
is a device with health `lost`, and a driver that does not answer is a note in words. Nothing here
changes a device.
"""

from __future__ import annotations

from typing import Any

from dsec import cards
from dsec.devices import host, instances
from dsec.devices.apart import read_apart
from dsec.devices.door import LOST, NOT_SUPPORTED, RESET_REQUIRED, Door, bus_id, opened
from dsec.devices.holding import Holding
from dsec.devices.links import nvlink_counts, pci_link
from dsec.devices.measuring import shares_host, why_unknown
from dsec.inventory import Device, Inventory


def read() -> Inventory:
    """This machine: host and GPUs; without a driver, no devices and a note with the remedy."""
    machine = host.read()
    return read_apart(machine) if host.under_wsl() else devices_of(machine)


def devices_of(machine: Inventory) -> Inventory:
    """`machine` with the GPUs that NVML shows, whatever masks the process inherited."""
    with opened() as door:
        if isinstance(door, str):
            return machine._replace(notes=(*machine.notes, door))
        return _inventory(door, machine)


def _inventory(door: Door, machine: Inventory) -> Inventory:
    count = door.ask("nvmlDeviceGetCount")
    notes = list(machine.notes)
    if count is None:
        notes.append(f"the number of GPUs could not be read (NVML error {door.code})")
    elif count == 0:
        notes.append("the NVIDIA driver runs but has no GPU")
    handles = {}
    devices: list[Device] = []
    for index in range(count or 0):
        handle = door.ask("nvmlDeviceGetHandleByIndex", index)
        if handle is None:
            devices.append(_unreadable(index, door.code))
            continue
        device = _device(door, handle, index, machine, notes)
        parts = _instances(door, handle, device, notes)
        if parts is None:
            handles[device.uuid] = handle
            devices.append(device)
        else:
            devices += parts
    notes += [f"GPU {device.index}: {_trouble(device.health)}" for device in devices if device.health != "ok"]
    return machine._replace(origin="nvml", devices=_linked(door, devices, handles), notes=tuple(notes))


def _trouble(health: str) -> str:
    if health == "lost":
        return "lost (fell off the bus); it stays out of plans until the machine is restarted"
    return f"{health}; it stays out of plans"


def _health(code: int) -> str:
    if code == LOST:
        return "lost"
    return "reset required" if code == RESET_REQUIRED else f"unreadable (NVML error {code})"


def _unreadable(index: int, code: int) -> Device:
    return Device(
        uuid=f"unread-{index}",
        index=index,
        model="",
        type="",
        memory_bytes=None,
        free_bytes=None,
        numa=None,
        pci=None,
        links=(),
        speed=cards.UNKNOWN_SPEED,
        health=_health(code),
    )


def _device(door: Door, handle: Any, index: int, machine: Inventory, notes: list[str]) -> Device:
    door.seen.clear()
    uuid = door.ask("nvmlDeviceGetUUID", handle)
    health = _health(door.code) if uuid is None else "ok"
    model = door.ask("nvmlDeviceGetName", handle) or ""
    pci = _pci(door, handle)
    usable, free, total, memory_code = memory(door, handle)
    if LOST in door.seen:
        health = "lost"
    kind = cards.from_model(model, total)
    row = cards.card(kind)
    if total is None and health == "ok":
        if shares_host(model, memory_code):
            usable = machine.memory_bytes
            notes.append(f"GPU {index} ({model}) shares the host's memory, of which it may use all")
        else:
            notes.append(f"GPU {index} ({model}): its memory is unknown: {why_unknown(memory_code)}")
    return Device(
        uuid=uuid or f"unread-{index}",
        index=index,
        model=model,
        type=kind,
        memory_bytes=usable,
        free_bytes=free,
        numa=_node(door, handle, pci),
        pci=pci,
        links=(),
        speed=cards.UNKNOWN_SPEED if row is None else row.speed,
        health=health,
    )


def _node(door: Door, handle: Any, pci: str | None) -> int | None:
    """The NUMA node: by sysfs, else the one that has all processors near the GPU."""
    found = None if pci is None else host.numa_of(pci)
    if found is not None:
        return found
    words = door.ask("nvmlDeviceGetCpuAffinity", handle, (host.most_processors() + 63) // 64)
    if words is None:
        return None
    return host.node_of(
        frozenset(64 * at + bit for at, word in enumerate(words) for bit in range(64) if word >> bit & 1)
    )


def _pci(door: Door, handle: Any) -> str | None:
    info = door.ask("nvmlDeviceGetPciInfo", handle)
    return None if info is None else bus_id(info)


def memory(door: Door, handle: Any) -> tuple[int | None, int | None, int | None, int]:
    """(usable, free, total, error code); version 2 knows what the driver keeps, version 1 does not."""
    version = getattr(door.library, "nvmlMemory_v2", None)
    info = door.ask("nvmlDeviceGetMemoryInfo", handle, version=version)
    first = door.code
    if info is None and first not in (LOST, NOT_SUPPORTED):
        info = door.ask("nvmlDeviceGetMemoryInfo", handle)
    if info is None or not info.total:
        return None, None, None, door.code
    return info.total - getattr(info, "reserved", 0), info.free, info.total, 0


def _instances(door: Door, handle: Any, parent: Device, notes: list[str]) -> list[Device] | None:
    """The MIG instances of a GPU in MIG mode, each a device of its own; None: not in MIG mode."""
    mode = door.ask("nvmlDeviceGetMigMode", handle)
    if mode is None or mode[0] != 1:
        return None
    found = []
    for at in range(door.ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
        instance = door.ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, at)
        if instance is not None:
            found.append(_instance(door, instance, parent, at))
    if not found:
        notes.append(f"GPU {parent.index} is in MIG mode without an instance: nothing can run on it")
    return found


def _instance(door: Door, handle: Any, parent: Device, at: int) -> Device:
    uuid = door.ask("nvmlDeviceGetUUID", handle)
    health = parent.health if uuid is not None else _health(door.code)
    model = door.ask("nvmlDeviceGetName", handle) or parent.model
    usable, free, _, _ = memory(door, handle)
    profile = cards.resolve("mig:" + model.rpartition(" MIG ")[2]) if " MIG " in model else ()
    if profile:
        usable, free = instances.part(profile[0], usable), instances.part(profile[0], free)
    return parent._replace(
        uuid=uuid or f"unread-{parent.index}-{at}",
        model=model,
        type=profile[0] if profile else "",
        memory_bytes=usable,
        free_bytes=free,
        speed=cards.mig_speed(profile[0], parent.speed) if profile else parent.speed,
        health=health,
    )


def _linked(door: Door, devices: list[Device], handles: dict[str, Any]) -> tuple[Device, ...]:
    """The devices with their links; a topology that cannot be read leaves them without."""
    whole = [device for device in devices if device.uuid in handles and device.health == "ok"]
    nvlinks = nvlink_counts({device.uuid: _nvlinks(door, device, handles) for device in whole}, whole)
    links: dict[str, list[tuple[str, str]]] = {device.uuid: [] for device in devices}
    for at, one in enumerate(whole):
        for two in whole[at + 1 :]:
            count = nvlinks.get((one.uuid, two.uuid), 0)
            link = f"NV{count}" if count else _ancestor(door, handles[one.uuid], handles[two.uuid])
            if link:
                links[one.uuid].append((two.uuid, link))
                links[two.uuid].append((one.uuid, link))
    return tuple(device._replace(links=tuple(sorted(links[device.uuid]))) for device in devices)


def _ancestor(door: Door, one: Any, two: Any) -> str:
    level = door.ask("nvmlDeviceGetTopologyCommonAncestor", one, two)
    return "" if level is None else pci_link(level)


def _nvlinks(door: Door, device: Device, handles: dict[str, Any]) -> list[str]:
    """Far ends of the active NVLinks: a PCI bus id, or `switch`."""
    handle = handles[device.uuid]
    ends = []
    for link in range(getattr(door.library, "NVML_NVLINK_MAX_LINKS", 18)):
        active = door.ask("nvmlDeviceGetNvLinkState", handle, link)
        if active is None:
            break  # not supported, or no link of that number: none after it either
        if active == 1:
            ends.append(_far_end(door, handle, link))
    return ends


def _far_end(door: Door, handle: Any, link: int) -> str:
    if door.ask("nvmlDeviceGetNvLinkRemoteDeviceType", handle, link) == 2:
        return "switch"
    info = door.ask("nvmlDeviceGetNvLinkRemotePciInfo", handle, link)
    return (bus_id(info) or "") if info is not None else ""


def holders(uuid: str) -> tuple[int, ...] | None:
    """Process ids that hold the device, sorted; None when the driver does not say.

    In a container these are the host's ids: never signal one without checking that it is ours.
    """
    with opened() as door:
        if isinstance(door, str):
            return None
        handle = door.ask("nvmlDeviceGetHandleByUUID", uuid)
        if handle is None:
            return None
        processes = Holding(door).processes(handle)
        return None if processes is None else tuple(sorted(processes))
