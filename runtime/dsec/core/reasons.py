"""What placement decides, in words: why these devices, and why none will do."""

from __future__ import annotations

from dsec.cards import memory_text
from dsec.core.groups import LEVELS, NODE, parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.placement import Slot
    from dsec.inventory import Device, Inventory
    from dsec.plan import Demand

_MASK = "CUDA_VISIBLE_DEVICES="
_BROKEN = ("NVIDIA", "NVML", "number of GPUs", "no GPU was looked for")
"""What notes about a driver that shows no GPU have in common (`devices.door`, `devices.nvml`)."""
_JOINED = {
    "nvlink": "joined by NVLink",
    "switch": "behind one PCIe switch",
    "numa": "of one NUMA node",
    "node": "of one machine",
}


def reason(chosen: Sequence[Slot], demand: Demand | None = None) -> str:
    """Why these: `a100-sxm-80gb 0,1: NV12, NUMA 0`."""
    if not chosen:
        return "no GPU asked for"
    devices = [slot.device for slot in chosen]
    kinds = sorted({device.type or device.model or "GPU" for device in devices})
    where = ",".join(str(device.index) for device in devices)
    machine = f" of {devices[0].node}" if devices[0].node else ""
    facts = [_links(devices)] if len(devices) > 1 else []
    nodes = {device.numa for device in devices}
    if len(nodes) == 1 and None not in nodes:
        facts.append(f"NUMA {devices[0].numa}")
    facts += _stated(demand) if demand is not None and demand.terms is not None else []
    if all(slot.mig for slot in chosen):
        # The index is that of the GPU, which several instances of a type may be part of.
        facts.append(f"MIG instance {devices[0].uuid}, never shared")
    if any(slot.holders for slot in chosen):
        facts.append("shared, memory packed")
    return f"{' + '.join(kinds)} {where}{machine}" + (f": {', '.join(facts)}" if facts else "")


def _stated(demand: Demand) -> list[str]:
    """What the Step says of its devices, as far as it decided."""
    terms = demand.terms
    if terms is None:
        return []
    facts = []
    if terms.within:
        facts.append(f"{'strictly' if terms.strict else 'if possible'} {_JOINED[terms.within]}")
    if terms.group:
        facts.append(f"link-group-{terms.group - 1}")
    if terms.numa is not None:
        facts.append("numa_affinity")
    if terms.share == "exclusive":
        facts.append("exclusive")
    return facts


def _links(devices: Sequence[Device]) -> str:
    uuids = {device.uuid for device in devices}
    found = {link for device in devices for other, link in device.links if other in uuids}
    return "/".join(sorted(found)) if found else "link unknown"


def over(what: str, need: int, have: int) -> str:
    """More of something than there is."""
    return f"needs {memory_text(need)} of {what}, the inventory has {memory_text(have)}"


def wanted(demand: Demand) -> str:
    """`needs 2 GPUs (a100-sxm-80gb) with 40.00 GiB (40,960 MiB) each`."""
    kind = " or ".join(demand.gpu_types) or "any type"
    memory = f" with {memory_text(demand.gpu_memory_bytes)} each" if demand.gpu_memory_bytes else ""
    return f"needs {demand.gpu_count} GPU{'s' if demand.gpu_count > 1 else ''} ({kind}){memory}"


def too_few(demand: Demand, table: Sequence[Slot]) -> str:
    """Each device's reason, equal ones counted together; then how the rest is not joined."""
    reasons: dict[str, int] = {}
    fit: list[Slot] = []
    for slot in table:
        text = _unfit(slot, demand)
        if text:
            reasons[text] = reasons.get(text, 0) + 1
        else:
            fit.append(slot)
    texts = [f"{count} x {text}" for text, count in reasons.items()]
    if not table:
        return f"{wanted(demand)}; the inventory has no GPU"
    if len(fit) >= demand.gpu_count:
        texts.insert(0, _apart(demand, fit))
    return f"{wanted(demand)}; {len(fit)} of {len(table)} fit" + (f": {'; '.join(texts)}" if texts else "")


def absence(inventory: Inventory) -> str:
    """Why GPUs of this machine cannot be used, as whoever read it noted; "": nothing says so."""
    masked = [note for note in inventory.notes if note.startswith(_MASK)]
    broken = [note for note in inventory.notes if any(mark in note for mark in _BROKEN)]
    return (masked or ([] if inventory.devices else broken) or [""])[0]


def all_held(demand: Demand, table: Sequence[Slot]) -> str:
    """How many devices are free, and what is left on those that are shared."""
    fit = sum(1 for slot in table if slot.free_for(demand))
    left = [slot.capacity - slot.used for slot in table if slot.capacity is not None and not slot.whole]
    most = f", at most {memory_text(max(left))} of one is left" if demand.gpu_memory_bytes and left else ""
    return f"{wanted(demand)}: {fit} of {len(table)} devices free, the others are held{most}"


def _apart(demand: Demand, fit: Sequence[Slot]) -> str:
    """Why devices that would do one by one do not do together."""
    terms = demand.terms
    if parts(fit, NODE, demand.gpu_count) and terms is not None and terms.within:
        level = terms.within
    else:
        level = LEVELS[NODE]
    islands = [slot.islands[LEVELS.index(level)] for slot in fit]
    best = max(map(islands.count, islands), default=0)
    if level == "nvlink" and best >= demand.gpu_count:
        return f"no {demand.gpu_count} of them all {_JOINED[level]} to each other"
    links = sorted({link for slot in fit for _, link in slot.device.links}) if level != LEVELS[NODE] else []
    known = f" (links: {', '.join(links)})" if links else " (no link is known)" if level == "nvlink" else ""
    return f"at most {best} of them {_JOINED[level]}{known}"


def _unfit(slot: Slot, demand: Demand) -> str:
    device, terms = slot.device, demand.terms
    kind = device.type or device.model or "GPU"
    if not slot.healthy:
        return f"{kind} is {device.health}"
    if demand.gpu_types and device.type not in demand.gpu_types:
        return f"{kind} is another type" if device.type else f"{kind} is of an unknown type"
    if slot.mig and demand.gpu_count > 1:
        return f"{kind} is a MIG instance, of which a process sees one"
    if terms is not None and terms.share == "mig" and not slot.mig:
        return f"{kind} is no MIG instance"
    if terms is not None and terms.group and terms.group != slot.group:
        own = f"in link-group-{slot.group - 1}" if slot.group else "in no NVLink group"
        return f"{kind} is {own}, not link-group-{terms.group - 1}"
    if terms is not None and terms.numa is not None and terms.numa != device.numa:
        own = "of an unknown NUMA node" if device.numa is None else f"of NUMA node {device.numa}"
        return f"{kind} is {own}, not {terms.numa}"
    if slot.capacity is not None and demand.gpu_memory_bytes > slot.capacity:
        held = f", {slot.foreign} GiB of it held by other processes" if slot.foreign else ""
        return f"{kind} has {memory_text(device.memory_bytes or 0)} usable{held}"
    return ""
