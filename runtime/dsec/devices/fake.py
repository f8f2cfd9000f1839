"""Devices that follow a script: for tests and for simulated faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dsec.inventory import Device, Inventory


@dataclass(frozen=True, slots=True)
class Change:
    """What is different about one device from `at_s` on; None leaves it as it was."""

    at_s: float
    uuid: str
    health: str | None = None
    free_bytes: int | None = None
    holders: tuple[int, ...] | None = None


class FakeDevices:
    """Answers as `dsec.devices.nvml` does, at the time the script has reached."""

    def __init__(self, inventory: Inventory, script: Sequence[Change] = ()) -> None:
        known = {device.uuid for device in inventory.devices}
        strangers = sorted({change.uuid for change in script} - known)
        if strangers:
            raise AssertionError(f"the script changes {strangers[0]}, which the inventory does not have")
        self._inventory = inventory
        self._script = sorted(script, key=lambda change: change.at_s)
        self.now_s = 0.0
        """Moved by whoever plays the script; it may move backwards."""

    def read(self) -> Inventory:
        """The inventory now; a lost device knows nothing of its memory."""
        changes = self._reached()
        devices = tuple(_changed(device, changes.get(device.uuid, ())) for device in self._inventory.devices)
        return self._inventory._replace(devices=devices)

    def holders(self, uuid: str) -> tuple[int, ...] | None:
        """Process ids on the device now; None when it is lost or not there."""
        device = next((found for found in self.read().devices if found.uuid == uuid), None)
        if device is None or device.health == "lost":
            return None
        said = [change.holders for change in self._reached().get(uuid, ()) if change.holders is not None]
        return said[-1] if said else ()

    def _reached(self) -> Mapping[str, list[Change]]:
        found: dict[str, list[Change]] = {}
        for change in self._script:
            if change.at_s <= self.now_s:
                found.setdefault(change.uuid, []).append(change)
        return found


def _changed(device: Device, changes: Sequence[Change]) -> Device:
    for change in changes:
        if change.health is not None:
            device = device._replace(health=change.health)
        if change.free_bytes is not None:
            device = device._replace(free_bytes=change.free_bytes)
    if device.health == "lost":
        return device._replace(memory_bytes=None, free_bytes=None, links=())
    return device
