"""Which device is sick, and whether the driver answers at all."""

from __future__ import annotations

from dsec.core.health import Health, Measured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.monitor.scene import Scene, Tell


_UNWATCHED = "this run uses no GPU"
"""What a scene says of devices that nobody looks at."""


class Check:
    """Judges the devices of the machine, as long as the driver answers."""

    def __init__(self) -> None:
        self._health = Health()
        self._problem = ""

    def look(self, scene: Scene) -> Iterator[Tell]:
        """What changed of devices; that nothing can be read condemns none of them and ends no attempt."""
        readings = [
            Measured(one.uuid, one.state, one.reason, one.temperature_c, one.ecc_uncorrected)
            for one in scene.devices
        ]
        xids = [(one.uuid, one.xid) for one in scene.events]
        for verdict in self._health.look(scene.at_us, readings, xids):
            yield {"tell": "device", **verdict._asdict(), "seen_us": scene.at_us}
        if readings and self._problem:
            yield _notice("the devices can be read again")
        if scene.problem not in ("", _UNWATCHED, self._problem):
            yield _notice(f"{scene.problem}; no attempt is ended for it")
        self._problem = "" if readings else scene.problem


def _notice(detail: str) -> Tell:
    return {"tell": "notice", "kind": "device", "detail": detail}
