"""A stand-in for the NVML library in Python, for machines without a C compiler.

`pynvml` looks functions up as attributes of its library object and passes `byref(...)` arguments;
`Library` answers the calls that `dsec.devices.nvml` makes, from the same scenario text as the C fake.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

OK, NOT_SUPPORTED, NOT_FOUND, TOO_SMALL, LOST = 0, 3, 6, 7, 15
MIB = 2**20


class Library:
    """Answers as the scenario says; what it does not know is a missing symbol."""

    def __init__(self, scenario: str) -> None:
        self.rules: list[tuple[str, str, str]] = []
        for line in scenario.splitlines():
            words = line.split(None, 3)
            if words[:1] == ["gpu"]:
                self.rules.append((words[1], words[2], words[3]))
            elif words:
                self.rules.append(("", words[0], line.split(None, 1)[1]))

    def all(self, gpu: int, key: str) -> list[str]:
        return [text for which, name, text in self.rules if name == key and which in ("*", str(gpu))]

    def last(self, gpu: int, key: str, fallback: str = "") -> str:
        return (self.all(gpu, key) or [fallback])[-1]

    def machine(self, key: str, fallback: str) -> str:
        return ([text for which, name, text in self.rules if name == key and not which] or [fallback])[-1]

    def gate(self, device: Any, key: str) -> int:
        gpu = at(device)[0]
        if self.last(gpu, "lost"):
            return LOST
        for text in reversed(self.all(gpu, "error")):
            wanted, code = text.split()
            if wanted == key:
                return int(code)
        return OK

    def __getattr__(self, name: str) -> Callable[..., int]:
        found = _CALLS.get(name)
        if found is None:
            raise AttributeError(name)
        return lambda *args: found(self, *args)


def handle(gpu: int, instance: int = -1) -> int:
    return (gpu + 1) | ((instance + 1) << 16)


def at(device: Any) -> tuple[int, int]:
    value = ctypes.cast(device, ctypes.c_void_p).value or 0
    return (value & 0xFFFF) - 1, (value >> 16) - 1


def put(reference: Any, value: int) -> None:
    reference._obj.value = value


def point(reference: Any, value: int) -> None:
    """Write a handle through `byref(pointer)`."""
    target = ctypes.cast(ctypes.addressof(reference._obj), ctypes.POINTER(ctypes.c_void_p))
    target[0] = value


def uuid(gpu: int, instance: int) -> str:
    kind, tail = ("GPU", gpu) if instance < 0 else ("MIG", instance)
    return f"{kind}-{gpu + 0xA0:08x}-0000-4000-8000-{tail:012x}"


def _init(self: Library, flags: int) -> int:
    return int(self.machine("init", "0"))


def _shutdown(self: Library) -> int:
    return OK


def _count(self: Library, out: Any) -> int:
    put(out, int(self.machine("count", "0")))
    return OK


def _by_index(self: Library, index: Any, out: Any) -> int:
    if self.last(index.value, "lost") == "1":
        return LOST
    point(out, handle(index.value))
    return OK


def _by_uuid(self: Library, wanted: Any, out: Any) -> int:
    for gpu in range(int(self.machine("count", "0"))):
        if uuid(gpu, -1) == wanted.value.decode():
            point(out, handle(gpu))
            return OK
    return NOT_FOUND


def _uuid(self: Library, device: Any, out: Any, size: Any) -> int:
    out.value = uuid(*at(device)).encode()
    return self.gate(device, "uuid")


def _name(self: Library, device: Any, out: Any, size: Any) -> int:
    gpu, instance = at(device)
    suffix = f" MIG {self.all(gpu, 'instance')[instance].split()[0]}" if instance >= 0 else ""
    out.value = (self.last(gpu, "name") + suffix).encode()
    return self.gate(device, "name")


def _pci(self: Library, device: Any, out: Any) -> int:
    out._obj.busId = f"00000000:{at(device)[0] + 1:02X}:00.0".encode()
    return self.gate(device, "pci")


def _memory(self: Library, device: Any, out: Any) -> int:
    gpu, instance = at(device)
    code = self.gate(device, "memory")
    if code:
        return code
    if instance >= 0:
        total, reserved, used = int(self.all(gpu, "instance")[instance].split()[1]), 0, 0
    elif self.last(gpu, "total"):
        total, reserved, used = (int(self.last(gpu, key, "0")) for key in ("total", "reserved", "used"))
    else:
        return NOT_SUPPORTED
    info = out._obj
    info.total, info.reserved = total * MIB, reserved * MIB
    info.used, info.free = used * MIB, (total - reserved - used) * MIB
    return OK


def _mig_mode(self: Library, device: Any, current: Any, pending: Any) -> int:
    gpu, instance = at(device)
    if instance >= 0 or not self.last(gpu, "mig"):
        return NOT_SUPPORTED
    put(current, int(self.last(gpu, "mig")))
    return OK


def _mig_count(self: Library, device: Any, out: Any) -> int:
    put(out, 7)
    return OK


def _mig_handle(self: Library, device: Any, index: Any, out: Any) -> int:
    gpu = at(device)[0]
    if index.value >= len(self.all(gpu, "instance")):
        return NOT_FOUND
    point(out, handle(gpu, index.value))
    return OK


def _links(self: Library, device: Any, link: int, out: Any) -> int:
    count = self.last(at(device)[0], "switch")
    if not count:
        return NOT_SUPPORTED
    put(out, int(link < int(count)))
    return OK if link < 18 else 2


def _link_type(self: Library, device: Any, link: int, out: Any) -> int:
    put(out, 2)
    return OK


def _processes(self: Library, device: Any, count: Any, out: Any) -> int:
    pids = self.all(at(device)[0], "pid")
    code = self.gate(device, "processes")
    if code or not pids:
        put(count, 0)
        return code
    if out is None or count._obj.value < len(pids):
        put(count, len(pids))
        return TOO_SMALL
    for place, text in enumerate(pids):
        out[place].pid = int(text.split()[0])
    put(count, len(pids))
    return OK


_CALLS: dict[str, Callable[..., int]] = {
    "nvmlInitWithFlags": _init,
    "nvmlShutdown": _shutdown,
    "nvmlDeviceGetCount_v2": _count,
    "nvmlDeviceGetHandleByIndex_v2": _by_index,
    "nvmlDeviceGetHandleByUUID": _by_uuid,
    "nvmlDeviceGetUUID": _uuid,
    "nvmlDeviceGetName": _name,
    "nvmlDeviceGetPciInfo_v3": _pci,
    "nvmlDeviceGetMemoryInfo_v2": _memory,
    "nvmlDeviceGetMigMode": _mig_mode,
    "nvmlDeviceGetMaxMigDeviceCount": _mig_count,
    "nvmlDeviceGetMigDeviceHandleByIndex": _mig_handle,
    "nvmlDeviceGetNvLinkState": _links,
    "nvmlDeviceGetNvLinkRemoteDeviceType": _link_type,
    "nvmlDeviceGetComputeRunningProcesses_v3": _processes,
}
