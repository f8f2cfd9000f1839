"""An inventory in words, 80 columns wide: what there is, the devices as a table, what could not be had."""

from __future__ import annotations

import textwrap

from dsec.cards import GIB, memory_text
from dsec.core.groups import islands_of, link_groups
from dsec.devices.described import AMPLE_CPU_M

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsec.inventory import Device, Inventory, Node

WIDTH = 80
_UNKNOWN = "unknown"
_LEAST = 12
"""Characters of a UUID that are shown at least: `GPU-1a2b3c4d`."""


def render(inventory: Inventory) -> str:
    """All of it; columns that no device has a reading for are left out, and UUIDs shortened to fit."""
    lines = list(_summary(inventory))
    if inventory.devices:
        lines += ["", *_devices(inventory.devices)]
    if inventory.notes:
        lines.append("")
    for note in inventory.notes:
        lines += textwrap.wrap(f"note: {note}", WIDTH, subsequent_indent="      ", break_on_hyphens=False)
    return "\n".join(map(_plain, lines)) + "\n"


def _plain(line: str) -> str:
    """The line without what a terminal would obey: names come from files."""
    return "".join(ch if ch.isprintable() else " " for ch in line)


def _summary(inventory: Inventory) -> Iterator[str]:
    cores = "ample" if inventory.cpu_m >= AMPLE_CPU_M else f"{inventory.cpu_m / 1000:g}"
    yield f"inventory   {inventory.origin}"
    if inventory.nodes is not None:
        yield from _row_of("machines", [_machine(node) for node in inventory.nodes])
    yield f"processors  {cores}"
    yield f"memory      {_size(inventory.memory_bytes)}"
    yield f"disk        {_size(inventory.disk_bytes)}"
    yield f"NUMA nodes  {_UNKNOWN if inventory.numa_nodes is None else inventory.numa_nodes}"
    yield f"GPUs        {len(inventory.devices)}"
    yield from _row_of("NVLink", _groups(inventory.devices))


def _row_of(title: str, parts: Sequence[str]) -> Iterator[str]:
    for at, part in enumerate(parts):
        yield f"{'' if at else title:<12}{part}"


def _machine(node: Node) -> str:
    """`left: 100 Gbps, RDMA`."""
    rate = "network unknown" if node.network_bps is None else f"{node.network_bps / 10**9:g} Gbps"
    rdma = {None: "RDMA unknown", True: "RDMA", False: "no RDMA"}[node.rdma]
    return f"{node.name}: {rate}, {rdma}"


def _groups(devices: Sequence[Device]) -> list[str]:
    """`link-group-0: GPU 0,1,2,3`: the groups that `nvlink_affinity` can name."""
    members: dict[int, list[str]] = {}
    for device, group in zip(devices, link_groups(islands_of(devices)), strict=True):
        if group:
            members.setdefault(group - 1, []).append(str(device.index))
    return [f"link-group-{group}: GPU {','.join(some)}" for group, some in sorted(members.items())]


def _size(amount: int | None) -> str:
    return _UNKNOWN if amount is None else memory_text(amount)


def _devices(devices: Sequence[Device]) -> list[str]:
    columns = [column for column in _COLUMNS if column[2] is None or any(map(column[2], devices))]
    rows = [[head for head, _, _ in columns], *([text(one) for _, text, _ in columns] for one in devices)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(columns))]
    room = max(_LEAST + 3, WIDTH - sum(width + 2 for width in widths[:-1]))
    for row in rows:
        row[-1] = row[-1] if len(row[-1]) <= room else f"{row[-1][: max(_LEAST, room - 3)]}..."
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _links(device: Device) -> str:
    counts: dict[str, int] = {}
    for _, link in device.links:
        counts[link] = counts.get(link, 0) + 1
    return " ".join(f"{link}x{count}" for link, count in sorted(counts.items())) or "-"


def _gib(amount: int | None) -> str:
    return _UNKNOWN if amount is None else f"{amount / GIB:.2f} GiB"


def _numa(device: Device) -> str:
    return _UNKNOWN if device.numa is None else str(device.numa)


_COLUMNS: tuple[tuple[str, Callable[[Device], str], Callable[[Device], object] | None], ...] = (
    ("#", lambda device: str(device.index), None),
    ("machine", lambda device: device.node or "", lambda device: device.node),
    ("type", lambda device: device.type or device.model or _UNKNOWN, None),
    ("usable", lambda device: _gib(device.memory_bytes), None),
    ("free", lambda device: _gib(device.free_bytes), lambda device: device.free_bytes is not None),
    ("NUMA", _numa, lambda device: device.numa is not None),
    ("links", _links, None),
    ("health", lambda device: device.health, lambda device: device.health != "ok"),
    ("UUID", lambda device: device.uuid, None),
)
"""Title, cell, and whether a device has something to show; None: the column is always there."""
