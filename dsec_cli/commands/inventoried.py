"""An inventory in words, 80 columns wide: what there is, the devices as a table, what could not be had."""

from __future__ import annotations

import textwrap

from dsec.cards import GIB, memory_text
from dsec.core.groups import islands_of, link_groups
from dsec.inventory import AMPLE_CPU_M
from dsec_cli.cells import cells, padded, plain
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsec.inventory import Device, Inventory, Node
    from dsec_cli.report.format import Tell

WIDTH = 80
_UNKNOWN = say("unknown")
_TITLE = 12
"""Cells of a title."""
_LEAST = 12
"""Characters of a UUID that are shown at least: `GPU-1a2b3c4d`."""


def render(inventory: Inventory, tell: Tell = str) -> str:
    """All of it; columns that no device has a reading for are left out, and UUIDs shortened to fit."""
    lines = [padded(tell(title), _TITLE) + tell(text) for title, text in _summary(inventory)]
    if inventory.devices:
        lines += ["", *_devices(inventory.devices, tell)]
    if inventory.notes:
        lines.append("")
    for note in inventory.notes:
        told = tell(say("note: {note}", note=note))
        lines += textwrap.wrap(
            told, WIDTH + len(told) - cells(told), subsequent_indent="      ", break_on_hyphens=False
        )
    return "\n".join(map(plain, lines)) + "\n"


def _summary(inventory: Inventory) -> Iterator[tuple[str, str]]:
    cores = say("ample") if inventory.cpu_m >= AMPLE_CPU_M else f"{inventory.cpu_m / 1000:g}"
    yield say("inventory"), inventory.origin
    if inventory.nodes is not None:
        yield from _row_of(say("machines"), [_machine(node) for node in inventory.nodes])
    yield say("processors"), cores
    yield say("memory"), _size(inventory.memory_bytes)
    yield say("disk"), _size(inventory.disk_bytes)
    yield say("NUMA nodes"), _UNKNOWN if inventory.numa_nodes is None else str(inventory.numa_nodes)
    yield say("GPUs"), str(len(inventory.devices))
    yield from _row_of("NVLink", _groups(inventory.devices))


def _row_of(title: str, parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for at, part in enumerate(parts):
        yield "" if at else title, part


def _machine(node: Node) -> str:
    """`left: 100 Gbps, RDMA`."""
    rate = say("network unknown") if node.network_bps is None else f"{node.network_bps / 10**9:g} Gbps"
    rdma = {None: say("RDMA unknown"), True: "RDMA", False: say("no RDMA")}[node.rdma]
    return say("{machine}: {rate}, {rdma}", machine=node.name, rate=rate, rdma=rdma)


def _groups(devices: Sequence[Device]) -> list[str]:
    """`link-group-0: GPU 0,1,2,3`: the groups that `nvlink_affinity` can name."""
    members: dict[int, list[str]] = {}
    for device, group in zip(devices, link_groups(islands_of(devices)), strict=True):
        if group:
            members.setdefault(group - 1, []).append(str(device.index))
    return [f"link-group-{group}: GPU {','.join(some)}" for group, some in sorted(members.items())]


def _size(amount: int | None) -> str:
    return _UNKNOWN if amount is None else memory_text(amount)


def _devices(devices: Sequence[Device], tell: Tell) -> list[str]:
    columns = [column for column in _COLUMNS if column[2] is None or any(map(column[2], devices))]
    rows = [
        [tell(head) for head, _, _ in columns],
        *([tell(text(one)) for _, text, _ in columns] for one in devices),
    ]
    widths = [max(cells(row[at]) for row in rows) for at in range(len(columns))]
    room = max(_LEAST + 3, WIDTH - sum(width + 2 for width in widths[:-1]))
    for row in rows:
        row[-1] = row[-1] if len(row[-1]) <= room else f"{row[-1][: max(_LEAST, room - 3)]}..."
    return [
        "  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
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
    (say("machine"), lambda device: device.node or "", lambda device: device.node),
    (say("type"), lambda device: device.type or device.model or _UNKNOWN, None),
    (say("usable"), lambda device: _gib(device.memory_bytes), None),
    (say("free"), lambda device: _gib(device.free_bytes), lambda device: device.free_bytes is not None),
    ("NUMA", _numa, lambda device: device.numa is not None),
    (say("links"), _links, None),
    (say("health"), lambda device: device.health, lambda device: device.health != "ok"),
    ("UUID", lambda device: device.uuid, None),
)
"""Title, cell, and whether a device has something to show; None: the column is always there."""
