"""What a graph asks for of each resource, level by level and at its peak, whatever machine it meets."""

from __future__ import annotations

from dsec.core.measures import loads, peaks
from dsec.record import Record
from dsec_cli.dag.pool import AMPLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.inventory import Inventory
    from dsec.plan import Demand
    from dsec_cli.dag.analysis import Analysis


class Use(Record):
    """One resource; the unit is that of its name."""

    name: str
    """`steps`, `cpu_m`, `memory_bytes`, `gpus` or `gpu_memory_bytes`."""
    widths: tuple[int, ...]
    """What the Steps of each level ask for together."""
    peak: int
    """The most that is held at one instant, were each Step to start as early as its needs allow."""
    available: int | None
    """On the assumed machine; None: it has no limit, or none that is known."""

    @property
    def width(self) -> int:
        """Of the widest level."""
        return max(self.widths, default=0)


def uses(found: Analysis, demands: Sequence[Demand], inventory: Inventory) -> tuple[Use, ...]:
    """The Steps side by side, then each resource that some Step asks for."""
    memory = [device.memory_bytes for device in inventory.devices]
    table = (
        ("steps", [1] * len(demands), None),
        ("cpu_m", [one.cpu_m for one in demands], inventory.cpu_m if inventory.cpu_m < AMPLE else None),
        ("memory_bytes", [one.memory_bytes for one in demands], inventory.memory_bytes),
        ("gpus", [one.gpu_count for one in demands], len(memory)),
        ("gpu_memory_bytes", [one.gpu_count * one.gpu_memory_bytes for one in demands], _sum(memory)),
    )
    asked = [row for row in table if any(row[1])]
    most = peaks(found.starts_ms, [one.ms for one in found.estimates], [amounts for _, amounts, _ in asked])
    return tuple(
        Use(name, tuple(loads(found.levels, amounts)), peak, available)
        for (name, amounts, available), peak in zip(asked, most, strict=True)
    )


def _sum(amounts: Sequence[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known and len(known) == len(amounts) else None
