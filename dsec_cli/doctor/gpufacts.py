"""What the driver says of itself and of every GPU, read in a process of its own.

Its `main` prints one JSON document. The NVIDIA library may crash or hang its
caller (under Windows, after a card fell off the bus); then only this process is lost.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from dsec.codec import encode
from dsec.devices.door import INIT, LOST, RESET_REQUIRED, Door, bus_id
from dsec.record import Record

NO_LIBRARY, NO_PERMISSION = 12, 4
_UNKNOWN = 999
UNKNOWN_ERROR = 'answers "unknown error"'
"""Of a card whose driver counts it, and that says nothing of itself: it is as good as lost."""
_LINKS = 18
_VOLATILE, _AGGREGATE, _UNCORRECTED, _CORRECTED = 0, 1, 1, 0
_REASONS = {0x04: "power cap", 0x08: "hardware slowdown", 0x20: "software thermal slowdown",
            0x40: "hardware thermal slowdown", 0x80: "power brake"}  # fmt: skip


class Gpu(Record):
    """One GPU; None: the card or the driver does not say."""

    index: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    uuid: str
    model: str
    pci: str
    health: str
    """`ok`, `lost`, `reset required`, or what else stops it."""
    persistence: bool | None = None
    mig: bool | None = None
    mig_pending: bool | None = None
    mig_instances: int | None = None
    ecc: bool | None = None
    ecc_pending: bool | None = None
    uncorrected: int | None = None
    """ECC errors since the driver was loaded."""
    uncorrected_ever: int | None = None
    remap_pending: bool | None = None
    """Rows or pages of memory wait for a reset to be replaced."""
    remap_failed: bool | None = None
    throttled: tuple[str, ...] | None = None
    clock_mhz: int | None = None
    most_clock_mhz: int | None = None
    temperature_c: int | None = None
    links: tuple[bool, ...] | None = None
    """Every NVLink: whether it is active; None: it has none."""
    numa: int | None = None
    memory_why: str = ""
    """Why its memory is not known; "": it is, or nobody was asked."""


class Gpus(Record):
    """The driver and its GPUs."""

    code: int
    """NVML's answer when it was started; 0: it runs."""
    why: str
    driver: str
    """Version; "": not known."""
    cuda: int | None
    """Of the driver, as 12010 for 12.1."""
    bindings: str
    devices: tuple[Gpu, ...]


def read() -> Gpus:
    """This machine, through the one door to NVML."""
    code, library = _started()
    if library is None or code:
        driver = _module_version()
        return Gpus(code, INIT.get(code, f"NVML error {code}"), driver, None, _bindings(), ())
    door = Door(library)
    try:
        count = door.ask("nvmlDeviceGetCount")
        devices = tuple(_gpu(door, index) for index in range(count or 0))
        driver = str(door.ask("nvmlSystemGetDriverVersion") or "")
        cuda = door.ask("nvmlSystemGetCudaDriverVersion")
        why = "" if count is not None else f"the number of GPUs could not be read (NVML error {door.code})"
        return Gpus(0, why, driver, cuda, _bindings(), devices)
    finally:
        door.leave()


def _started() -> tuple[int, Any]:
    """NVML's answer to being started, and the library; none: it is not there."""
    from dsec.devices.door import start

    door = start()
    if isinstance(door, Door):
        return 0, door.library
    code = next((number for number, text in INIT.items() if text == door), 999)
    return code, None


def _bindings() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("nvidia-ml-py")
    except PackageNotFoundError:
        return ""


def _module_version() -> str:
    """Of the driver that is loaded, by the kernel: known even where the library does not start."""
    try:
        with open("/sys/module/nvidia/version", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _gpu(door: Door, index: int) -> Gpu:
    handle = door.ask("nvmlDeviceGetHandleByIndex", index)
    if handle is None:
        return Gpu(index, "", "", "", _health(door.code))
    door.seen.clear()
    info = door.ask("nvmlDeviceGetPciInfo", handle)
    uuid, model = (door.ask(name, handle) for name in ("nvmlDeviceGetUUID", "nvmlDeviceGetName"))
    blank = Gpu(index, uuid or "", model or "", (bus_id(info) or "") if info is not None else "", "ok")
    found = _with_modes(door, handle, blank)._replace(
        throttled=_throttled(door, handle),
        clock_mhz=door.ask("nvmlDeviceGetClockInfo", handle, 1),
        most_clock_mhz=door.ask("nvmlDeviceGetMaxClockInfo", handle, 1),
        temperature_c=door.ask("nvmlDeviceGetTemperature", handle, 0),
        links=_links(door, handle),
        numa=door.ask("nvmlDeviceGetNumaNodeId", handle),
        memory_why=_memory_why(door, handle, model or ""),
    )
    if LOST in door.seen or RESET_REQUIRED in door.seen:
        return blank._replace(health=_health(LOST if LOST in door.seen else RESET_REQUIRED))
    silent = found.temperature_c is None and found.clock_mhz is None
    if _UNKNOWN in door.seen and (uuid is None or model is None or info is None or silent):
        return found._replace(health=UNKNOWN_ERROR)
    if uuid is None and model is None and info is None:
        return found._replace(health=_health(door.code))
    return found


def _memory_why(door: Door, handle: Any, model: str) -> str:
    from dsec.devices.measuring import shares_host, why_unknown
    from dsec.devices.nvml import memory

    _, _, total, code = memory(door, handle)
    return "" if total is not None or shares_host(model, code) else why_unknown(code)


def _health(code: int) -> str:
    named = {LOST: "lost", RESET_REQUIRED: "reset required", _UNKNOWN: UNKNOWN_ERROR}
    return named.get(code, f"unreadable (NVML error {code})")


def _with_modes(door: Door, handle: Any, blank: Gpu) -> Gpu:
    persistence = door.ask("nvmlDeviceGetPersistenceMode", handle)
    mig = door.ask("nvmlDeviceGetMigMode", handle)
    ecc = door.ask("nvmlDeviceGetEccMode", handle)
    rows = door.ask("nvmlDeviceGetRemappedRows", handle)
    return blank._replace(
        persistence=None if persistence is None else bool(persistence),
        mig=None if mig is None else bool(mig[0]),
        mig_pending=None if mig is None else bool(mig[1]),
        mig_instances=_instances(door, handle) if mig is not None and mig[0] else None,
        ecc=None if ecc is None else bool(ecc[0]),
        ecc_pending=None if ecc is None else bool(ecc[1]),
        uncorrected=door.ask("nvmlDeviceGetTotalEccErrors", handle, _UNCORRECTED, _VOLATILE),
        uncorrected_ever=door.ask("nvmlDeviceGetTotalEccErrors", handle, _UNCORRECTED, _AGGREGATE),
        remap_pending=None if rows is None else bool(rows[2]),
        remap_failed=None if rows is None else bool(rows[3]),
    )


def _instances(door: Door, handle: Any) -> int | None:
    most = door.ask("nvmlDeviceGetMaxMigDeviceCount", handle)
    if most is None:
        return None
    return sum(door.ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, at) is not None for at in range(most))


def _throttled(door: Door, handle: Any) -> tuple[str, ...] | None:
    bits = door.ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
    if bits is None:
        bits = door.ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    return None if bits is None else tuple(word for bit, word in _REASONS.items() if bits & bit)


def _links(door: Door, handle: Any) -> tuple[bool, ...] | None:
    states = []
    for link in range(_LINKS):
        state = door.ask("nvmlDeviceGetNvLinkState", handle, link)
        if state is None:
            break  # not supported, or no link of that number: none after it either
        states.append(state == 1)
    return tuple(states) or None


def main() -> int:
    """Print what is there."""
    sys.stdout.write(json.dumps(encode(read())) + "\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
