"""Inventories written by hand: machines one does not have, for CI and for planning."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dsec import cards
from dsec.errors import InventoryProblem
from dsec.inventory import AMPLE_CPU_M, Device, Inventory, Node
from dsec.units import BitsPerSecond, Bytes, UnitProblem, parse
from dsec.words import say

DRIVER_MIB = 640
"""What the driver keeps of a card's total where it is not measured: the most that data-centre cards
were seen to keep (614 MiB), rounded up."""

_KEYS = ("cpu", "disk", "gpus", "machines", "memory", "name", "network")
_MACHINE_KEYS = ("cpu", "disk", "gpus", "memory", "name", "network")
_NETWORK_KEYS = ("rate", "rdma")
_GPU_KEYS = ("count", "memory", "numa", "nvlink", "nvlinks", "pcie", "switch", "type")
_NVLINK = ("full", "none", "pairs")
_PCIE = ("PIX", "PXB", "PHB", "NODE")
_SWITCHED = "PIX"
_NVLINK_COUNTS = {
    "a100": 12,
    "a800": 8,
    "b200": 18,
    "gh200": 18,
    "h100": 18,
    "h20": 18,
    "h200": 18,
    "h800": 8,
    "v100": 6,
}
"""Links that a GPU of the family has; the bridges of workstation cards have 4."""


@dataclass(frozen=True, slots=True)
class _Group:
    """One entry of `gpus`, read."""

    type: str
    count: int
    memory_bytes: int
    nvlink: str
    nvlinks: int
    """Links between two GPUs that are linked."""
    pcie: str
    """What joins GPUs of one NUMA node."""
    switch: int
    """GPUs that share a PCIe switch; 1: none do."""
    numa: tuple[int | None, ...]
    node: str | None
    """The machine, where there are several."""


MOST_DEVICES = 4096
"""How any two are joined is written down, so that the work grows with the square of their number."""


def from_document(document: object, name: str) -> Inventory:
    """The inventory that a document describes; raises InventoryProblem naming the key that is wrong.

    Equal documents give equal inventories: the n-th device of a type has the UUID `GPU-<type>-<n>`.
    """
    if not isinstance(document, Mapping):
        want = f"a mapping with {', '.join(_KEYS)}"
        hint = say(
            "describe the machine, or save what dsec inventory --json or nvidia-smi -q -x prints there"
        )
        raise _wrong(name, "the inventory", document, want, hint)
    stated = _mapping(document, "the inventory", _KEYS, name)
    title = stated.get("name")
    if title is not None and not isinstance(title, str):
        raise _wrong(name, "name", title, "a text")
    machines = _machines(stated, str(title or "this machine"), name)
    groups = [group for machine in machines for group in machine.groups]
    count = sum(group.count for group in groups)
    if count > MOST_DEVICES:
        raise InventoryProblem(
            say(
                "{name}: {count} GPUs are described, more than {most}",
                name=name,
                count=count,
                most=MOST_DEVICES,
            ),
            hint=say("describe one of several equal pools"),
        )
    processors = [machine.cpu_m for machine in machines if machine.cpu_m is not None]
    memories = [machine.memory_bytes for machine in machines if machine.memory_bytes is not None]
    known = len(processors) == len(machines)
    notes = [] if known else ["processors not stated: taken as ample"]
    unknown = [group.type for group in groups if cards.card(group.type) is None]
    notes += [f"type {type_} is not in the card table" for type_ in unknown]
    numa = {(group.node, node) for group in groups for node in group.numa if node is not None}
    several = len(machines) > 1
    notes += [_together(machines)] if several else []
    return Inventory(
        origin=f"described:{title or name}",
        cpu_m=sum(processors) if known else AMPLE_CPU_M,
        memory_bytes=sum(memories) if len(memories) == len(machines) else None,
        disk_bytes=None if several else machines[0].disk_bytes,
        numa_nodes=len(numa) or None,
        devices=_devices(groups),
        notes=tuple(dict.fromkeys(notes)),
        nodes=tuple(machine.node for machine in machines) if several or "network" in stated else None,
    )


def _together(machines: Sequence[_Machine]) -> str:
    """What an inventory of several machines does not know, with what one of them has."""
    cores = [machine.cpu_m for machine in machines if machine.cpu_m is not None]
    sizes = [machine.memory_bytes for machine in machines if machine.memory_bytes is not None]
    most = [f"{max(cores) / 1000:g} cores"] if cores else []
    most += [f"{max(sizes) / 2**30:.1f} GiB"] if sizes else []
    text = f"cores and memory of the {len(machines)} machines are counted together"
    return f"{text}: no single Step should take more than {' or '.join(most)}" if most else text


@dataclass(frozen=True, slots=True)
class _Machine:
    """One machine, read."""

    node: Node
    cpu_m: int | None
    memory_bytes: int | None
    disk_bytes: int | None
    groups: tuple[_Group, ...]


def _machines(stated: Mapping[object, object], title: str, name: str) -> list[_Machine]:
    """The machines, or the one that the document is about."""
    if "machines" not in stated:
        return [_machine(stated, title, "", name)]
    beside = sorted(str(key) for key in stated if key not in ("machines", "name"))
    if beside:
        raise InventoryProblem(
            say("{name}: {key} stands beside machines", name=name, key=beside[0]),
            hint="state it of each machine",
        )
    entries = stated["machines"]
    if not isinstance(entries, list) or not entries:
        raise _wrong(name, "machines", entries, "a list of machines")
    found: dict[str, _Machine] = {}
    for at, entry in enumerate(entries):
        key = f"machines[{at}]"
        own = _mapping(entry, key, _MACHINE_KEYS, name)
        called = own.get("name")
        if not isinstance(called, str) or not called.strip():
            raise _wrong(name, f"{key}.name", called, "a text", "every machine of several needs one")
        if called in found:
            raise InventoryProblem(
                say("{name}: two machines are called {called}", name=name, called=called),
                hint="give each its own name",
            )
        found[called] = _machine(own, called, f"{key}.", name, node=called if len(entries) > 1 else None)
    return list(found.values())


def _machine(
    stated: Mapping[object, object], title: str, key: str, name: str, *, node: str | None = None
) -> _Machine:
    entries = enumerate(_entries(stated, key, name))
    return _Machine(
        node=_network(stated, title, key, name),
        cpu_m=_cpu(stated.get("cpu"), f"{key}cpu", name),
        memory_bytes=_size(stated.get("memory"), f"{key}memory", name),
        disk_bytes=_size(stated.get("disk"), f"{key}disk", name),
        groups=tuple(_group(entry, f"{key}gpus[{at}]", name, node=node) for at, entry in entries),
    )


def _network(stated: Mapping[object, object], title: str, key: str, name: str) -> Node:
    if "network" not in stated:
        return Node(title, None, None)
    network = _mapping(stated["network"], f"{key}network", _NETWORK_KEYS, name)
    rdma = network.get("rdma")
    if rdma is not None and not isinstance(rdma, bool):
        raise _wrong(name, f"{key}network.rdma", rdma, "true or false")
    rate = network.get("rate")
    try:
        return Node(title, None if rate is None else int(parse(BitsPerSecond, str(rate))), rdma)
    except UnitProblem as problem:
        example = BitsPerSecond.example
        near = say("write {nearest}", nearest=problem.nearest) if problem.nearest else ""
        raise InventoryProblem(
            say("{name}: {key}: {reason}", name=name, key=f"{key}network.rate", reason=problem.reason),
            hint=near or say("for example {example}", example=example),
        ) from None


def _wrong(name: str, key: str, value: object, want: str, hint: str = "") -> InventoryProblem:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return InventoryProblem(
        say("{name}: {key} is {shown}, not {want}", name=name, key=key, shown=shown, want=want), hint=hint
    )


def _mapping(value: object, key: str, known: Sequence[str], name: str) -> Mapping[object, object]:
    if not isinstance(value, Mapping):
        raise _wrong(name, key, value, f"a mapping with {', '.join(known)}")
    for other in value:
        if other not in known:
            near = difflib.get_close_matches(str(other), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
            raise InventoryProblem(
                say("{name}: {key} has the unknown key {other!r}", name=name, key=key, other=other), hint=hint
            )
    return value


def _entries(stated: Mapping[object, object], key: str, name: str) -> Sequence[object]:
    gpus = stated.get("gpus", [])
    if not isinstance(gpus, list):
        raise _wrong(name, f"{key}gpus", gpus, "a list")
    return gpus


def _cpu(value: object, key: str, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 10**6:
        raise _wrong(name, key, value, "a number of processors above 0")
    return max(1, round(value * 1000))


def _size(value: object, key: str, name: str) -> int | None:
    if value is None:
        return None
    try:
        size = int(parse(Bytes, str(value)))
    except UnitProblem as problem:
        hint = f"write {problem.nearest}" if problem.nearest else f"for example {Bytes.example}"
        raise InventoryProblem(
            say("{name}: {key}: {reason}", name=name, key=key, reason=problem.reason), hint=hint
        ) from None
    if size == 0:
        raise _wrong(name, key, value, "more than nothing", "leave the key out where it is not known")
    return size


def _group(entry: object, key: str, name: str, *, node: str | None) -> _Group:
    stated = _mapping(entry, key, _GPU_KEYS, name)
    count = stated.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 4096:
        raise _wrong(name, f"{key}.count", count, "a whole number from 1 to 4096")
    memory = _size(stated.get("memory"), f"{key}.memory", name)
    type_ = _type(stated, key, name, known_memory=memory is not None)
    row = cards.card(type_)
    if memory is None and row is not None:
        memory = cards.total_bytes(row) - DRIVER_MIB * cards.MIB
    if memory is None:
        raise InventoryProblem(
            say("{name}: {key} lacks memory", name=name, key=key),
            hint=say("state the memory of one {type_}", type_=type_),
        )
    usual = _NVLINK_COUNTS.get(row.family if row is not None else "", 4)
    return _Group(
        type=type_,
        count=count,
        memory_bytes=memory,
        nvlink=_nvlink(stated, key, name, row=row),
        nvlinks=_number(stated, key, "nvlinks", name, usual=usual),
        pcie=_pcie(stated, key, name),
        switch=_number(stated, key, "switch", name, usual=1),
        numa=_numa(stated, key, name, count=count),
        node=node,
    )


def _number(stated: Mapping[object, object], key: str, of: str, name: str, *, usual: int) -> int:
    value = stated.get(of, usual)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 64:
        raise _wrong(name, f"{key}.{of}", value, "a whole number from 1 to 64")
    return value


def _pcie(stated: Mapping[object, object], key: str, name: str) -> str:
    value = stated.get("pcie", "NODE")
    if value not in _PCIE:
        raise _wrong(name, f"{key}.pcie", value, f"one of {', '.join(_PCIE)}")
    return str(value)


def _type(stated: Mapping[object, object], key: str, name: str, *, known_memory: bool) -> str:
    value = stated.get("type")
    if not isinstance(value, str) or not value.strip():
        raise _wrong(name, f"{key}.type", value, "a GPU type", "for example a100-sxm-80gb")
    found = () if value.strip().startswith(">=") else cards.resolve(value)
    if len(found) == 1:
        return found[0]
    if found:
        raise _wrong(name, f"{key}.type", value, "one type", f"name one of: {', '.join(found)}")
    if known_memory and value.replace("-", "").isalnum():
        return value.lower()
    near = cards.nearest(value)
    hint = f"did you mean {near!r}?" if near else "a type outside the card table needs its memory stated"
    raise _wrong(name, f"{key}.type", value, "a type of the card table", hint)


def _nvlink(stated: Mapping[object, object], key: str, name: str, *, row: cards.Card | None) -> str:
    """SXM boards come linked; everything else has what is stated."""
    default = "full" if row is not None and ("sxm" in row.type or row.type == "b200") else "none"
    value = stated.get("nvlink", default)
    if value not in _NVLINK:
        raise _wrong(name, f"{key}.nvlink", value, f"one of {', '.join(_NVLINK)}")
    if value != "none" and row is not None and not row.nvlink:
        raise InventoryProblem(
            say(
                "{name}: {key}.nvlink is {value}, but {type} has no NVLink",
                name=name,
                key=key,
                value=value,
                type=row.type,
            ),
            hint="leave it out",
        )
    return str(value)


def _numa(stated: Mapping[object, object], key: str, name: str, *, count: int) -> tuple[int | None, ...]:
    value = stated.get("numa")
    if value is None:
        return (None,) * count
    nodes = value if isinstance(value, list) else [value] * count
    if len(nodes) != count or not all(type(node) is int and node >= 0 for node in nodes):
        raise _wrong(name, f"{key}.numa", value, f"one node number, or a list of {count}")
    return tuple(nodes)


@dataclass(frozen=True, slots=True)
class _Place:
    """One device of a group."""

    uuid: str
    group: _Group
    at: int


def _devices(groups: Sequence[_Group]) -> tuple[Device, ...]:
    numbers: dict[str, int] = {}
    places: list[_Place] = []
    for group in groups:
        first = numbers.get(group.type, 0)
        numbers[group.type] = first + group.count
        places += [_Place(uuid_of(group.type, first + at), group, at) for at in range(group.count)]
    return tuple(_one(place, index, places) for index, place in enumerate(places))


def uuid_of(type_: str, number: int) -> str:
    """The made-up UUID of the n-th device of a type; MIG instances keep their prefix."""
    prefix = "MIG" if type_.startswith("mig:") else "GPU"
    return f"{prefix}-{type_.removeprefix('mig:')}-{number}"


def _one(place: _Place, index: int, places: Sequence[_Place]) -> Device:
    group, at = place.group, place.at
    row = cards.card(group.type)
    links = [(other.uuid, link) for other in places if other is not place and (link := _link(place, other))]
    return Device(
        uuid=place.uuid,
        index=index,
        model=row.names[0] if row is not None else group.type,
        type=group.type,
        memory_bytes=group.memory_bytes,
        free_bytes=None,
        numa=group.numa[at],
        pci=None,
        links=tuple(sorted(links)),
        speed=row.speed if row is not None else cards.UNKNOWN_SPEED,
        health="ok",
        node=group.node,
    )


def _link(one: _Place, two: _Place) -> str:
    """What joins two devices; empty: nothing does, or it is not stated."""
    group, here, there = one.group, one.group.numa[one.at], two.group.numa[two.at]
    if group.node != two.group.node or any(place.uuid.startswith("MIG-") for place in (one, two)):
        return ""  # instances reach nothing but the host
    if two.group is group:
        if group.nvlink == "full" or (group.nvlink == "pairs" and one.at // 2 == two.at // 2):
            return f"NV{group.nvlinks}"
        if group.switch > 1 and one.at // group.switch == two.at // group.switch:
            return _SWITCHED
    if here is None or there is None:
        return ""
    if here != there:
        return "SYS"
    return group.pcie if group.pcie == two.group.pcie else "NODE"
