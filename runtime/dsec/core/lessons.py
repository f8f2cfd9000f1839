"""What the events of one run teach about devices."""

from __future__ import annotations

from dsec.core.experience import Experience, Pace, devices_text, middle
from dsec.events import Exit, Spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dsec.events import Event


def experienced(
    events: Iterable[Event], types: Mapping[str, str], ran_out: Callable[[Spawn, Exit], bool]
) -> Experience:
    """What the events of one run teach; `types` by UUID, `ran_out` says whether an attempt lacked memory."""
    lessons = _Lessons(types, ran_out)
    begun: dict[tuple[str, int], Spawn] = {}
    for event in events:
        if isinstance(event, Spawn):
            begun[event.step, event.iteration] = event
        elif isinstance(event, Exit):
            spawn = begun.pop((event.step, event.iteration), None)
            if spawn is not None and spawn.devices:
                lessons.take(spawn, event)
    return lessons.all()


def walls_by_devices(events: Iterable[Event], types: Mapping[str, str]) -> dict[str, dict[str, list[int]]]:
    """By Step, and by the devices that each attempt had, what those that succeeded took; `types` by UUID.

    A Step that has no device is under "" as one is whose devices are not known.
    """
    found: dict[str, dict[str, list[int]]] = {}
    begun: dict[tuple[str, int], Spawn] = {}
    for event in events:
        if isinstance(event, Spawn):
            begun[event.step, event.iteration] = event
        elif isinstance(event, Exit):
            spawn = begun.pop((event.step, event.iteration), None)
            if spawn is not None and event.cause == "ok":
                devices = devices_text([types.get(uuid, "") for uuid in spawn.devices])
                found.setdefault(event.step, {}).setdefault(devices, []).append(event.wall_us)
    return found


class _Lessons:
    """An experience in the making."""

    def __init__(self, types: Mapping[str, str], ran_out: Callable[[Spawn, Exit], bool]) -> None:
        self._types = types
        self._ran_out = ran_out
        self._lacked: dict[str, dict[str, int]] = {}
        self._walls: dict[tuple[str, str], list[int]] = {}

    def take(self, spawn: Spawn, end: Exit) -> None:
        kinds = sorted({self._types.get(uuid, "") for uuid in spawn.devices} - {""})
        counts = self._lacked.setdefault(end.step, {})
        if end.cause == "ok":
            counts.update(dict.fromkeys(kinds, 0))
            if len(spawn.devices) == 1 and kinds:
                self._walls.setdefault((end.step, spawn.devices[0]), []).append(end.wall_us)
        elif end.cause not in ("interrupted", "timeout") and self._ran_out(spawn, end):
            counts.update({kind: counts.get(kind, 0) + 1 for kind in kinds})

    def all(self) -> Experience:
        paces: dict[str, dict[str, Pace]] = {}
        for (step, uuid), found in sorted(self._walls.items()):
            paces.setdefault(step, {})[uuid] = Pace(self._types[uuid], middle(found) // 1000, len(found))
        return Experience(self._lacked, paces)
