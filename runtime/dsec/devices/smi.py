"""What `nvidia-smi` printed, as an inventory: `-q -x`, `-L` and `topo -m`, saved on another machine.

The three say different things: XML knows sizes and UUIDs, `-L` knows types and MIG instances,
`topo -m` knows links and processors. `-L` and `topo -m` may stand in one file.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from dsec import cards
from dsec.devices.described import AMPLE_CPU_M, DRIVER_MIB, uuid_of
from dsec.devices.procfs import members
from dsec.devices.topology import Matrix, matrix
from dsec.errors import InventoryProblem
from dsec.inventory import Device, Inventory

_NO_CPU = "processors not stated: taken as ample"


def is_xml(text: str) -> bool:
    """Whether the text is what `nvidia-smi -q -x` prints."""
    return "<nvidia_smi_log" in text[:2000]


def is_listing(text: str) -> bool:
    """Whether the text has lines of `nvidia-smi -L` or a `topo -m` matrix."""
    return any(_listed(line) is not None for line in text.splitlines()) or bool(matrix(text).names)


def from_smi_xml(text: str, name: str) -> Inventory:
    """The inventory in an `nvidia-smi -q -x` document; raises InventoryProblem.

    Entities are refused: nvidia-smi prints none, and they are how a small document becomes a huge one.
    """
    if "<!ENTITY" in text.upper():
        raise InventoryProblem(
            f"{name} declares XML entities", hint="nvidia-smi -q -x prints none; save it again"
        )
    try:
        # What stands before the root (declaration, DOCTYPE, remarks of whoever saved it) says nothing.
        root = ElementTree.fromstring(text[text.find("<nvidia_smi_log") :])  # noqa: S314 - no entities
    except ElementTree.ParseError as problem:
        raise InventoryProblem(f"{name} is no XML: {problem}", hint="save nvidia-smi -q -x again") from None
    devices: list[Device] = []
    for index, gpu in enumerate(root.iter("gpu")):
        devices += _xml_devices(gpu, index)
    if not devices:
        raise InventoryProblem(f"{name} lists no GPU", hint="save nvidia-smi -q -x on a machine with GPUs")
    return _inventory(devices, name, cpu_m=None)


def _xml_devices(gpu: ElementTree.Element, index: int) -> list[Device]:
    model = (gpu.findtext("product_name") or "").strip()
    total = _mib(gpu.findtext("fb_memory_usage/total"))
    reserved = _mib(gpu.findtext("fb_memory_usage/reserved"))
    whole = _device(index, model, total, total if reserved is None or total is None else total - reserved)
    whole = whole._replace(pci=gpu.get("id"), uuid=(gpu.findtext("uuid") or "").strip())
    if (gpu.findtext("mig_mode/current_mig") or "").strip() != "Enabled":
        return [whole]
    return [
        whole._replace(
            uuid="",
            type="",
            memory_bytes=_mib(instance.findtext("fb_memory_usage/total")),
            model=f"{model} MIG",
        )
        for instance in gpu.iterfind("mig_devices/mig_device")
    ]


def _mib(text: str | None) -> int | None:
    """`81559 MiB` in bytes; N/A and absent are unknown."""
    words = (text or "").split()
    if len(words) != 2 or not words[0].isdecimal() or words[1] != "MiB":
        return None
    return int(words[0]) * cards.MIB


def _device(index: int, model: str, total: int | None, usable: int | None) -> Device:
    kind = cards.from_model(model, total)
    row = cards.card(kind)
    if usable is None and row is not None:
        usable = cards.total_bytes(row) - DRIVER_MIB * cards.MIB
    return Device(
        uuid="",
        index=index,
        model=model,
        type=kind,
        memory_bytes=usable,
        free_bytes=None,
        numa=None,
        pci=None,
        links=(),
        speed=cards.UNKNOWN_SPEED if row is None else row.speed,
        health="ok",
    )


def from_listing(text: str, name: str) -> Inventory:
    """The inventory in `nvidia-smi -L` and `nvidia-smi topo -m` output, either or both in one text."""
    listed = [found for line in text.splitlines() if (found := _listed(line)) is not None]
    links = matrix(text)
    devices = _listed_devices(listed) or [_device(at, "", None, None) for at in range(len(links.names))]
    if not devices:
        raise InventoryProblem(
            f"{name} lists no GPU", hint="save the output of nvidia-smi -L and nvidia-smi topo -m"
        )
    whole = [device for device in devices if not device.type.startswith("mig:")]
    if links.names and len(whole) == len(devices) and len(whole) != len(links.names):
        raise InventoryProblem(
            f"{name} lists {len(whole)} GPUs but its matrix has {len(links.names)}",
            hint="save both outputs on the same machine",
        )
    cpus = {cpu for affinity in links.cpus for cpu in members(affinity)}
    return _inventory(devices, name, cpu_m=len(cpus) * 1000 or None, links=links)


def _listed(line: str) -> tuple[str, str, str] | None:
    """(`GPU` or `MIG`, model or profile, UUID) of a line of `nvidia-smi -L`; else None."""
    bare = line.strip()
    head, mark, rest = bare.partition(" (UUID: ")
    uuid = rest.removesuffix(")") if mark else ""
    if bare.startswith("GPU ") and ": " in head and head[4:].split(":")[0].isdecimal():
        return "GPU", head.split(": ", 1)[1], uuid
    if bare.startswith("MIG ") and " Device " in head:
        return "MIG", head.split()[1], bare.partition("(UUID: ")[2].removesuffix(")")
    return None


def _listed_devices(listed: Sequence[tuple[str, str, str]]) -> list[Device]:
    devices: list[Device] = []
    index, parent = -1, None
    for kind, text, uuid in listed:
        if kind == "GPU":
            index += 1
            parent = _device(index, text, None, None)._replace(uuid=uuid)
            devices.append(parent)
        elif parent is not None:
            if devices[-1] is parent:
                devices.pop()  # a GPU with instances is used through them
            devices.append(_listed_instance(parent, text, uuid))
    return devices


def _listed_instance(parent: Device, profile: str, uuid: str) -> Device:
    kind = cards.resolve(f"mig:{profile}")
    gigabytes = profile.rpartition(".")[2].removesuffix("gb")
    return parent._replace(
        uuid=uuid,
        model=f"{parent.model} MIG {profile}",
        type=kind[0] if kind else "",
        memory_bytes=int(gigabytes) * 10**9 if gigabytes.isdecimal() else None,
        speed=cards.mig_speed(kind[0], parent.speed) if kind else parent.speed,
    )


def _inventory(
    devices: Sequence[Device], name: str, *, cpu_m: int | None, links: Matrix | None = None
) -> Inventory:
    named = _named(devices)
    if links is not None and links.names:
        named = [_linked(device, at, named, links) for at, device in enumerate(named)]
    nodes = {device.numa for device in named if device.numa is not None}
    unknown = sorted({device.model or "GPU" for device in named if not device.type})
    notes = [] if cpu_m is not None else [_NO_CPU]
    notes += [f"{model}: type not known, so a Step that names one does not match" for model in unknown]
    notes += ["host memory not stated: taken as ample"]
    return Inventory(
        origin=f"described:{name}",
        cpu_m=AMPLE_CPU_M if cpu_m is None else cpu_m,
        memory_bytes=None,
        disk_bytes=None,
        numa_nodes=len(nodes) or None,
        devices=tuple(named),
        notes=tuple(notes),
    )


def _named(devices: Sequence[Device]) -> list[Device]:
    """Distinct UUIDs: saved output is often masked, and a matrix has none."""
    written = [device.uuid for device in devices]
    numbers: dict[str, int] = {}
    named = []
    for device in devices:
        if device.uuid and written.count(device.uuid) == 1:
            named.append(device)
            continue
        kind = device.type or ("mig:unknown" if device.model.endswith(" MIG") else "unknown")
        number = numbers[kind] = numbers.get(kind, -1) + 1
        named.append(device._replace(uuid=uuid_of(kind, number)))
    return named


def _linked(device: Device, at: int, named: Sequence[Device], links: Matrix) -> Device:
    """The device with its row of the matrix; MIG instances have no links of their own."""
    if len(named) != len(links.names):
        return device._replace(numa=links.numa[device.index] if device.index < len(links.numa) else None)
    row = links.rows[at]
    found = [(other.uuid, row[to]) for to, other in enumerate(named) if to != at and row[to]]
    return device._replace(links=tuple(sorted(found)), numa=links.numa[at])
