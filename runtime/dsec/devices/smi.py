"""Saved output of `nvidia-smi` as an inventory, several of its outputs in one text if need be.

Each says something else: `-q -x` and `-q` know sizes and UUIDs, `-L` knows types and MIG profiles, the
table and `--query-gpu` know types and sizes, `topo -m` knows links, NUMA nodes and processors.
"""

from __future__ import annotations

from xml.etree import ElementTree

from dsec.devices import smitext
from dsec.devices.described import uuid_of
from dsec.devices.instances import share
from dsec.devices.procfs import members
from dsec.devices.seen import CUT, Instance, Seen, devices_of
from dsec.devices.topology import Matrix, matrix
from dsec.errors import InventoryProblem
from dsec.inventory import AMPLE_CPU_M, Device, Inventory
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LOST = "Unable to determine the device handle"
_ROOT, _END = "<nvidia_smi_log", "</nvidia_smi_log>"
_READERS = (smitext.queried, smitext.comma_separated, smitext.headless, smitext.listed, smitext.tabled)
"""The one that says most first."""


def is_output(text: str) -> bool:
    """Whether the text holds output of nvidia-smi that says which GPUs there are."""
    return (
        _ROOT in text[:4000]
        or bool(matrix(text).names)
        or any(read(text) for read in _READERS)
        or _is_peer_matrix(text)
        or any(smitext.is_header(line) for line in text[:4000].splitlines())
    )


_PEER = frozenset(("X", "OK", "CNS", "GNS", "TNS", "NS", "DR", "U"))
"""Cells of `nvidia-smi topo -p2p`: whether one GPU may reach another's memory."""


def _is_peer_matrix(text: str) -> bool:
    rows = [line.split() for line in text[:100_000].splitlines()]
    cells = [set(row[1:]) for row in rows if row[:1] and row[0].startswith("GPU") and "X" in row]
    return bool(cells) and all(row <= _PEER for row in cells) and any(row != {"X"} for row in cells)


def from_output(text: str, name: str) -> Inventory:
    """The inventory in saved output; raises InventoryProblem."""
    if _is_peer_matrix(text) and not any(read(text) for read in _READERS):
        raise InventoryProblem(
            say("{name} is what nvidia-smi topo -p2p printed: which GPUs there are is not in it", name=name),
            hint="save nvidia-smi -q -x, or nvidia-smi -q and nvidia-smi topo -m",
        )
    xml, rest = _apart(text)
    links = matrix(rest)
    seen = _from_xml(xml, name) if xml else _printed(rest)
    found = [device for one in seen for device in devices_of(one)]
    if not seen:
        found = [devices_of(Seen(at, ""))[0] for at in range(len(links.names))]
    if not found and not seen:
        raise InventoryProblem(
            say("{name} lists no GPU", name=name), hint="save nvidia-smi -q -x on a machine with GPUs"
        )
    if links.names and seen and len(seen) != len(links.names):
        raise InventoryProblem(
            say(
                "{name} lists {count} GPUs but its matrix has {count_2}",
                name=name,
                count=len(seen),
                count_2=len(links.names),
            ),
            hint="save both outputs on the same machine",
        )
    notes = _notes(seen, found, links)
    if _LOST in text:
        notes.insert(0, "nvidia-smi could not read every GPU (one is lost): it is not in the inventory")
    return _inventory(found, name, links, notes=notes)


def _apart(text: str) -> tuple[str, str]:
    """The XML document in the text, and the rest."""
    start = text.find(_ROOT) if _ROOT in text[:4000] else -1
    if start < 0:
        return "", text
    end = text.find(_END, start)
    end = len(text) if end < 0 else end + len(_END)
    # What stands before the root (declaration, DOCTYPE, remarks of whoever saved it) says nothing.
    return text[:end], text[end:]


def _printed(text: str) -> list[Seen]:
    """GPUs of whatever was printed; names that the table cut short are taken from -L."""
    found = [seen for read in _READERS if (seen := read(text))]
    if not found:
        return []
    best, *others = found
    for other in others:
        if len(other) == len(best):
            best = [_joined(one, two) for one, two in zip(best, other, strict=True)]
    return best


def _joined(one: Seen, two: Seen) -> Seen:
    """What `one` says, and of `two` what `one` leaves open."""
    profiles = two.instances if one.instances is None or not one.instances else one.instances
    if one.instances and two.instances and len(one.instances) == len(two.instances):
        profiles = tuple(
            mine._replace(
                uuid=mine.uuid or other.uuid,
                profile=mine.profile or other.profile,
                total=other.total if mine.total is None else mine.total,
                group=mine.group or other.group,
                cores=mine.cores or other.cores,
            )
            for mine, other in zip(one.instances, two.instances, strict=True)
        )
    return one._replace(
        model=two.model if smitext.is_cut(one) else one.model or two.model,
        uuid=one.uuid or two.uuid,
        pci=one.pci or two.pci,
        total=two.total if one.total is None else one.total,
        reserved=two.reserved if one.reserved is None else one.reserved,
        instances=profiles,
    )


def _from_xml(text: str, name: str) -> list[Seen]:
    """GPUs of a `-q -x` document.

    Entities are refused: nvidia-smi prints none, and they are how a small document becomes a huge one.
    """
    if "<!ENTITY" in text.upper():
        raise InventoryProblem(
            say("{name} declares XML entities", name=name), hint="nvidia-smi -q -x prints none; save it again"
        )
    try:
        root = ElementTree.fromstring(text[text.find(_ROOT) :])  # noqa: S314 - no entities
    except ElementTree.ParseError as problem:
        raise InventoryProblem(
            say("{name} is no XML: {problem}", name=name, problem=problem), hint="save nvidia-smi -q -x again"
        ) from None
    return [_xml_gpu(gpu, index) for index, gpu in enumerate(root.iter("gpu"))]


def _xml_gpu(gpu: ElementTree.Element, index: int) -> Seen:
    mig = (gpu.findtext("mig_mode/current_mig") or "").strip() == "Enabled"
    return Seen(
        index,
        (gpu.findtext("product_name") or "").strip(),
        (gpu.findtext("uuid") or "").strip(),
        gpu.get("id"),
        smitext.mib(gpu.findtext("fb_memory_usage/total")),
        smitext.mib(gpu.findtext("fb_memory_usage/reserved")) or 0,
        tuple(map(_xml_instance, gpu.iterfind("mig_devices/mig_device"))) if mig else None,
    )


def _xml_instance(instance: ElementTree.Element) -> Instance:
    cores = (instance.findtext("device_attributes/shared/multiprocessor_count") or "").strip()
    return Instance(
        uuid=(instance.findtext("uuid") or "").strip(),
        total=smitext.mib(instance.findtext("fb_memory_usage/total")),
        group=(instance.findtext("gpu_instance_id") or "").strip(),
        cores=int(cores) if cores.isdecimal() and len(cores) < 7 else None,
    )


def _notes(seen: Sequence[Seen], found: Sequence[Device], links: Matrix) -> list[str]:
    notes = _of_processors(links)
    if not seen:
        notes.append(
            "the types and sizes of the GPUs are not known: topo -m does not print them, so a Step that "
            "names a type does not match; save nvidia-smi -L with it"
        )
    for model in sorted({device.model or "a GPU" for device in found if seen and not device.type}):
        why = ": its name is cut short; save nvidia-smi -L with it" if model.endswith(CUT) else ""
        notes.append(f"{model}: type not known, so a Step that names one does not match{why}")
    notes += [
        f"GPU {one.index} is in MIG mode, but no instance is listed: it is left out; save nvidia-smi -L"
        for one in seen
        if one.instances == ()
    ]
    if any(share(device.type) != (1, 1) for device in found):
        notes.append("compute instances share the memory of their GPU instance: each counts with its part")
    return [*notes, "host memory not stated: taken as ample"]


_LEAST_CPUS = 2
"""Processors that a machine has at least for each of its GPUs; a reading below that is none."""


def _processors(links: Matrix) -> int:
    """How many processors the GPUs are near to, all together; 0: not printed, or not to be believed."""
    known = [members(affinity) for affinity in links.cpus if affinity]
    count = len({cpu for affinity in known for cpu in affinity})
    return count if count >= _LEAST_CPUS * len(known) else 0


def _of_processors(links: Matrix) -> list[str]:
    if _processors(links):
        return []
    printed = sorted({affinity for affinity in links.cpus if affinity})
    if not printed:
        return ["processors not stated: taken as ample"]
    return [
        f"CPU affinity {', '.join(printed)} for {len(links.cpus)} GPUs is implausible: processors not known, "
        "taken as ample"
    ]


def _inventory(devices: Sequence[Device], name: str, links: Matrix, *, notes: Sequence[str]) -> Inventory:
    named = _named(devices)
    if links.names:
        named = [_linked(device, at, named, links) for at, device in enumerate(named)]
    nodes = {device.numa for device in named if device.numa is not None}
    return Inventory(
        origin=f"described:{name}",
        cpu_m=_processors(links) * 1000 or AMPLE_CPU_M,
        memory_bytes=None,
        disk_bytes=None,
        numa_nodes=len(nodes) or None,
        devices=tuple(named),
        notes=tuple(notes),
    )


def _named(devices: Sequence[Device]) -> list[Device]:
    """Distinct UUIDs: saved output is often masked, and a matrix has none."""
    written: dict[str, int] = {}
    for device in devices:
        written[device.uuid] = written.get(device.uuid, 0) + 1
    numbers: dict[str, int] = {}
    named = []
    for device in devices:
        if device.uuid and written[device.uuid] == 1:
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
