"""Watches the GPUs of this machine for as long as a run lasts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from dsec.devices import door as doors
from dsec.devices import host
from dsec.devices.door import Door
from dsec.devices.holding import Holding
from dsec.devices.kernellog import PATH, KernelLog, place
from dsec.devices.measuring import Counters, judged, measure, with_memory
from dsec.devices.reading import Reading, XidEvent

__all__ = ["Reading", "Sampler", "XidEvent"]

RETRY_S = 60.0
"""Between two tries to reach a driver that did not answer."""
RESCAN_S = 60.0
"""Between two looks at which devices and instances there are."""
SLOW_S = 30.0
"""How long the answer to a question that blocks holds."""
_XID = 8
_SAME_NS = 5_000_000_000
_MOST_EVENTS = 256
"""Of one look, so that a driver that repeats itself holds nobody up."""
_GONE = frozenset({doors.UNINITIALIZED, doors.NO_DRIVER, doors.MISMATCH})
"""Codes after which nothing more is answered until NVML is started again."""


class _Slot:
    """One GPU as far as it is known."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.handle: Any = None
        self.address = 0
        """Of its last handle: an event of a lost device names nothing else."""
        self.place = ""
        """On the bus, as the kernel's log names it."""
        self.code = 0
        """Why there is no handle."""
        self.blank = Reading(f"unread-{index}", index)
        self.instances: dict[str, tuple[Any, Reading]] = {}
        self.watched = False
        """Its errors are reported."""
        self.scanned_ns = 0


class Sampler:
    """Asks the driver anew at each look; one lost card, or a driver that fails, never raises.

    For one thread. `problem` says in one line why nothing can be read, "" while something can; the
    driver is then tried again by itself, at most every `retry_s`; after an update of the driver the
    library is loaded anew.
    """

    def __init__(
        self,
        *,
        retry_s: float = RETRY_S,
        rescan_s: float = RESCAN_S,
        clock: Callable[[], int] | None = None,
        kernel_log: str = PATH,
    ) -> None:
        self._clock = clock or time.monotonic_ns
        self._retry_ns, self._rescan_ns = int(retry_s * 1e9), int(rescan_s * 1e9)
        self._door: Door | None = None
        self._holding: Holding | None = None
        self._events: Any = None
        self._slots: dict[int, _Slot] = {}
        self._counters = Counters(slow_ns=int(SLOW_S * 1e9))
        self._kernel = KernelLog(kernel_log)
        self._told: dict[XidEvent, int] = {}
        """When each error was told last: the driver and the kernel tell of the same ones."""
        self._tried_ns = 0
        self.problem = ""
        self._start()

    def devices(self) -> tuple[Reading, ...]:
        """All GPUs by index, a GPU in MIG mode as its instances; () while `problem` is said."""
        door = self._reached()
        if door is None:
            return ()
        readings = [reading for slot in self._present(door) for reading in self._read(door, slot)]
        host_memory: tuple[int, int] | None = None
        for at, reading in enumerate(readings):
            if reading.shared_with_host and reading.state == "ok":
                host_memory = host_memory or host.memory()
                readings[at] = _with_host(reading, host_memory)
        return () if self._door is None else tuple(readings)

    def processes(self, uuid: str) -> dict[int, int | None] | None:
        """Bytes by the id of each process on the device, None where not told; None: nobody says who.

        In a container the ids may be the host's: never signal one without checking that it is ours.
        """
        if self._reached() is None or self._holding is None:
            return None
        handle = self._handle(uuid)
        return None if handle is None else self._holding.processes(handle)

    def driver(self) -> str:
        """The driver's version; "": it does not say."""
        door = self._reached()
        return str((door.ask("nvmlSystemGetDriverVersion") if door is not None else None) or "")

    def events(self) -> tuple[XidEvent, ...]:
        """Errors since the last look, by the driver and by the kernel's log; it never waits.

        One of a GPU in MIG mode is told of each of its instances, the same one once in a few seconds.
        """
        slots = [*self._reported(), *self._logged()]
        now = self._clock()
        found = []
        for slot, xid in slots:
            for uuid in slot.instances or (slot.blank.uuid,):
                event = XidEvent(uuid, xid)
                if now - self._told.get(event, now - _SAME_NS) >= _SAME_NS:
                    self._told[event] = now
                    found.append(event)
        return tuple(found)

    def _reported(self) -> list[tuple[_Slot, int]]:
        door = self._reached()
        found: list[tuple[_Slot, int]] = []
        if door is None or self._events is None:
            return found
        for _ in range(_MOST_EVENTS):
            event = door.ask("nvmlEventSetWait_v2", self._events, 0)
            if event is None:
                break
            slot = self._concerned(door, event) if event.eventType == _XID else None
            if slot is not None:
                found.append((slot, int(event.eventData)))
        return found

    def _logged(self) -> list[tuple[_Slot, int]]:
        places = {slot.place: slot for slot in self._slots.values()}
        return [(places[at], xid) for at, xid in self._kernel.events() if at in places]

    def close(self) -> None:
        """Leave the driver and the log; nothing is asked afterwards."""
        self._kernel.close()
        self._leave()

    def _leave(self) -> None:
        if self._door is None:
            return
        if self._events is not None:
            self._door.ask("nvmlEventSetFree", self._events)
        self._door.leave()
        self._door = self._holding = self._events = None

    def _start(self) -> None:
        self._tried_ns = self._clock()
        door = doors.start()
        if isinstance(door, str):
            self.problem = door
            if door == doors.INIT[doors.MISMATCH]:
                doors.forget()
            return
        self.problem = ""
        self._door, self._holding = door, Holding(door)
        self._events = door.ask("nvmlEventSetCreate")
        for slot in self._slots.values():  # names are kept: a card lost before may be lost still
            slot.handle, slot.instances, slot.watched = None, {}, False
        self._present(door)

    def _reached(self) -> Door | None:
        if self._door is None and self._clock() - self._tried_ns >= self._retry_ns:
            self._start()
        return self._door

    def _fail(self, code: int) -> None:
        """Nothing is answered any more: say why, and start again later."""
        self._leave()
        self.problem = doors.INIT.get(code, f"NVML does not answer any more (error {code})")
        self._tried_ns = self._clock()

    def _present(self, door: Door) -> list[_Slot]:
        """The GPUs there are, each with a handle where it has one."""
        count = door.ask("nvmlDeviceGetCount")
        if count is None:
            self._fail(door.code)
            return []
        for index in range(count):
            slot = self._slots.setdefault(index, _Slot(index))
            if slot.handle is None or self._clock() - slot.scanned_ns >= self._rescan_ns:
                self._scan(door, slot)
        return [self._slots[index] for index in range(count)]

    def _scan(self, door: Door, slot: _Slot) -> None:
        slot.scanned_ns = self._clock()
        handle = door.ask("nvmlDeviceGetHandleByIndex", slot.index)
        slot.code = door.code
        if handle is None:
            slot.handle, slot.watched = None, False
            return
        uuid = door.ask("nvmlDeviceGetUUID", handle)
        if uuid is not None and uuid != slot.blank.uuid:
            name = door.ask("nvmlDeviceGetName", handle) or ""
            slot.blank, slot.watched = Reading(uuid, slot.index, name), False
        slot.handle, slot.address = handle, doors.address(handle)
        info = door.ask("nvmlDeviceGetPciInfo", handle)
        slot.place = slot.place if info is None else place(doors.bus_id(info) or "")
        if not slot.watched and self._events is not None:
            door.ask("nvmlDeviceRegisterEvents", handle, _XID, self._events)
            slot.watched = door.code == 0
        self._scan_instances(door, slot)

    def _scan_instances(self, door: Door, slot: _Slot) -> None:
        mode = door.ask("nvmlDeviceGetMigMode", slot.handle)
        if mode is None and door.code == doors.LOST:
            return  # its instances are lost with it, by name
        slot.blank = slot.blank._replace(mig=None if mode is None else mode[0] == 1)
        slot.instances = {}
        if not slot.blank.mig:
            return
        for at in range(door.ask("nvmlDeviceGetMaxMigDeviceCount", slot.handle) or 0):
            handle = door.ask("nvmlDeviceGetMigDeviceHandleByIndex", slot.handle, at)
            uuid = None if handle is None else door.ask("nvmlDeviceGetUUID", handle)
            if uuid is not None:
                name = door.ask("nvmlDeviceGetName", handle) or slot.blank.name
                blank = slot.blank._replace(uuid=uuid, name=name, parent=slot.blank.uuid)
                slot.instances[uuid] = handle, blank

    def _read(self, door: Door, slot: _Slot) -> list[Reading]:
        """The GPU, or each of its instances with what is read of the whole GPU alone."""
        if slot.handle is None:
            lost = slot.code == doors.LOST
            reason = "fell off the bus" if lost else f"cannot be asked (NVML error {slot.code})"
            whole = slot.blank._replace(state="lost" if lost else "unknown", reason=reason)
        else:
            whole = measure(door, slot.handle, slot.blank, self._counters, self._clock())
        gone = _GONE & door.seen
        if gone:
            self._fail(min(gone))
            return []
        if whole.state != "ok":
            slot.handle = None  # asked for anew at the next look
        if not slot.instances:
            return [whole]
        return [_part(door, whole, handle, blank) for handle, blank in slot.instances.values()]

    def _handle(self, uuid: str) -> Any:
        for slot in self._slots.values():
            if slot.blank.uuid == uuid:
                return slot.handle
            if uuid in slot.instances:
                return slot.instances[uuid][0]
        return None

    def _concerned(self, door: Door, event: Any) -> _Slot | None:
        """The GPU that an event is about."""
        address = doors.address(event.device)
        for slot in self._slots.values():
            if slot.address == address:
                return slot
        uuid = door.ask("nvmlDeviceGetUUID", event.device)
        return next((slot for slot in self._slots.values() if slot.blank.uuid == uuid), None)


def _part(door: Door, whole: Reading, handle: Any, blank: Reading) -> Reading:
    """One instance of a GPU."""
    if whole.state != "ok":
        return blank._replace(state=whole.state, reason=whole.reason)
    named = whole._replace(uuid=blank.uuid, name=blank.name, parent=blank.parent, busy_permille=None)
    empty = named._replace(memory_used_bytes=None, memory_total_bytes=None, memory_reserved_bytes=None)
    door.seen.clear()
    return judged(door, with_memory(door, handle, empty)._replace(shared_with_host=False), blank)


def _with_host(reading: Reading, memory: tuple[int, int] | None) -> Reading:
    if memory is None:
        return reading
    total, available = memory
    return reading._replace(memory_total_bytes=total, memory_used_bytes=total - available)
