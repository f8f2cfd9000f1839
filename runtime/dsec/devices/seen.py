"""What saved output says of one GPU, and the devices that it makes."""

from __future__ import annotations

from dsec import cards
from dsec.devices import instances
from dsec.devices.described import DRIVER_MIB
from dsec.inventory import Device
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CUT = "..."
"""Ends a name that the table of `nvidia-smi` had no room for."""


class Instance(Record):
    """One MIG instance."""

    uuid: str = ""
    profile: str = ""
    total: int | None = None
    """Bytes of the GPU instance it belongs to."""
    group: str = ""
    """Number of that GPU instance; instances of one share its memory."""
    cores: int | None = None


class Seen(Record):
    """One GPU as printed; what the output does not say is None or empty."""

    index: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    model: str
    uuid: str = ""
    pci: str | None = None
    total: int | None = None
    reserved: int | None = None
    """What the driver keeps; 0 where the output is silent and its total is what can be used."""
    instances: tuple[Instance, ...] | None = None
    """None: not in MIG mode."""


def devices_of(one: Seen) -> list[Device]:
    """The GPU, or the instances that it is used through."""
    kind = "" if one.model.endswith(CUT) else cards.from_model(one.model, one.total)
    row = cards.card(kind)
    total = one.total if one.total is not None or row is None else cards.total_bytes(row)
    reserved = DRIVER_MIB * cards.MIB if one.reserved is None else one.reserved
    whole = Device(
        uuid=one.uuid,
        index=one.index,
        model=one.model,
        type=kind,
        memory_bytes=None if total is None else max(0, total - reserved),
        free_bytes=None,
        numa=None,
        pci=one.pci,
        links=(),
        speed=cards.UNKNOWN_SPEED if row is None else row.speed,
        health="ok",
    )
    if one.instances is None:
        return [whole]
    return [_instance(whole, row, part, one.instances) for part in one.instances]


def _instance(whole: Device, row: cards.Card | None, one: Instance, all_: Sequence[Instance]) -> Device:
    mates = [other.cores or 0 for other in all_ if one.group and other.group == one.group]
    profile = one.profile or instances.profile_of(row, one.total, one.cores, sum(mates) or one.cores)
    found = cards.resolve(f"mig:{profile}") if profile else ()
    total = one.total
    if total is None and profile:
        total = instances.size_bytes(profile, "" if row is None else row.family)
    if not found and len(mates) > 1 and total is not None:
        total //= len(mates)
    return whole._replace(
        uuid=one.uuid,
        model=f"{whole.model} MIG {profile}".rstrip(),
        type=found[0] if found else "",
        memory_bytes=instances.part(profile, total),
        speed=cards.mig_speed(found[0], whole.speed) if found else whole.speed,
    )
