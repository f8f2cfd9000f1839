"""How much of each GPU processes outside the run hold, so that the next attempts start elsewhere."""

from __future__ import annotations

from dsec.cards import GIB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.devices.reading import Reading
    from dsec.monitor.scene import Scene, Tell


class Check:
    """Remembers what was seen, and what was told, of each GPU in whole GiB."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._told: dict[str, int] = {}

    def look(self, scene: Scene) -> Iterator[Tell]:
        """What changed by a GiB or more and was so for two looks, so that no process was just ending."""
        for device in scene.devices:
            held = _foreign(scene, device)
            if held is None:
                self._seen.pop(device.uuid, None)
                continue
            before, now = self._seen.get(device.uuid), held // GIB
            self._seen[device.uuid] = now
            if now == before and now != self._told.get(device.uuid):
                self._told[device.uuid] = now
                yield {"tell": "occupied", "device": device.uuid, "held": held}


def _foreign(scene: Scene, device: Reading) -> int | None:
    """Bytes that are not this run's; None: that cannot be told apart."""
    used = device.memory_used_bytes
    if used is None or device.shared_with_host or device.state != "ok":
        return None
    mine = [use for use in scene.uses if device.uuid in use.watched.devices]
    ours = [use.devices.get(device.uuid) for use in scene.uses if device.uuid in use.devices]
    # In a container the driver may name processes by other ids than ours: then ours look like others'.
    if (mine and not ours) or any(held is None for held in ours):
        return None
    return max(0, used - sum(held or 0 for held in ours))
