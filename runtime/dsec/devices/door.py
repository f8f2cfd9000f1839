"""The only door to `pynvml` (distribution `nvidia-ml-py`): one question at a time, errors as codes.

Whatever the card, driver or binding does not have is None with a code; nothing here changes a device.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

UNINITIALIZED = 1
NOT_SUPPORTED = 3
TOO_SMALL = 7
NO_DRIVER = 9
UNKNOWN_CALL = 13
LOST = 15
RESET_REQUIRED = 16
MISMATCH = 18

INIT: dict[int, str] = {
    3: "NVML is not supported here",
    4: "no permission to use the NVIDIA driver: check the device files /dev/nvidia*",
    9: "the NVIDIA driver is not loaded: load it (`modprobe nvidia`) or plan on a described inventory",
    12: "no NVIDIA library (libnvidia-ml.so.1): no driver here, or a container started without its GPUs "
    "(`--gpus all`)",
    13: "the NVIDIA library is too old for these bindings: update the driver",
    17: "the operating system does not let the NVIDIA driver be used",
    18: "the NVIDIA library and the loaded driver differ in version (an update without a restart): restart "
    "the machine or reload the driver; processes that already run are not affected",
    999: "NVML failed for an unknown reason: `nvidia-smi` should fail too; the kernel log may name an Xid",
}


class Door:
    """Asks NVML one thing at a time; whatever goes wrong is an error code, never an exception."""

    def __init__(self, library: Any) -> None:
        self.library = library
        mismatch = getattr(library, "NVMLLibraryMismatchError", library.NVMLError)
        # A mismatch is no NVMLError; names that are not UTF-8 fail in the binding's own decoding.
        self.errors = (library.NVMLError, mismatch, UnicodeDecodeError)
        self.code = 0
        """Of the last question; 0: answered, 13 also when the binding does not know the call."""
        self.seen: set[int] = set()
        """Codes of all questions since the caller last cleared it."""

    def ask(self, call: str, *args: Any, **options: Any) -> Any:
        """The answer to `call`, or None with the reason in `code`."""
        function = getattr(self.library, call, None)
        answer, self.code = None, 13
        if function is not None:
            try:
                answer, self.code = function(*args, **options), 0
            except self.errors as problem:
                self.code = getattr(problem, "value", 13)
        self.seen.add(self.code)
        return answer

    def listed_v1(self, call: str, handle: Any) -> list[tuple[int, int | None]] | None:
        """Processes and bytes by the first version of `call`, which the bindings no longer speak."""
        import ctypes

        class Process(ctypes.Structure):
            _fields_ = (("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong))

        function = getattr(getattr(self.library, "nvmlLib", None), call, None)
        self.code = UNKNOWN_CALL
        if function is None:
            self.seen.add(self.code)
            return None
        room = ctypes.c_uint(0)
        self.code = function(handle, ctypes.byref(room), None)
        rows = (Process * 0)()
        if self.code == TOO_SMALL:
            room = ctypes.c_uint(room.value * 2 + 5)  # more may have come meanwhile
            rows = (Process * room.value)()
            self.code = function(handle, ctypes.byref(room), rows)
        self.seen.add(self.code)
        if self.code:
            return None
        return [(row.pid, None if row.used == 2**64 - 1 else row.used) for row in rows[: room.value]]

    def leave(self) -> None:
        """Give back what `start` took."""
        self.ask("nvmlShutdown")


def start() -> Door | str:
    """A door to an initialised NVML, or the reason there is none; whoever has one calls `leave`."""
    if "pynvml" not in sys.modules and not library_there():
        return INIT[12]
    try:
        import pynvml
    except ImportError:
        return "the Python package nvidia-ml-py is not installed: no GPU was looked for"
    door = Door(pynvml)
    door.ask("nvmlInit")
    if door.code:
        return INIT.get(door.code, f"NVML could not be started (error {door.code})")
    return door


@contextmanager
def opened() -> Iterator[Door | str]:
    """A door for as long as the block lasts, or the reason there is none."""
    door = start()
    try:
        yield door
    finally:
        if isinstance(door, Door):
            door.leave()


def address(handle: Any) -> int:
    """What makes two handles the same device; 0: none."""
    import ctypes

    return 0 if handle is None else ctypes.cast(handle, ctypes.c_void_p).value or 0


def bus_id(info: Any) -> str | None:
    """The bus id; drivers before 9.0 fill only the short legacy field."""
    raw = info.busId or info.busIdLegacy
    text = raw.decode("ascii", "replace") if isinstance(raw, bytes) else str(raw)
    return text or None


def forget() -> None:
    """Drop the loaded library: the next start takes the files that are there then, as after an update."""
    library: Any = sys.modules.get("pynvml")
    loaded = getattr(library, "nvmlLib", None)
    if library is None or loaded is None:
        return
    library.nvmlLib = None
    getattr(library, "_nvmlGetFunctionPointer_cache", {}).clear()
    _unload(loaded)


def _unload(loaded: Any) -> None:
    import _ctypes

    number = getattr(loaded, "_handle", None)  # stand-ins in Python have none
    if number is not None:
        _ctypes.dlclose(number)


def library_there() -> bool:
    """Whether the driver's library loads: without one, importing the bindings is 40 ms for nothing."""
    import ctypes

    try:
        loaded = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    _unload(loaded)  # the bindings load it themselves, and `forget` can undo only that
    return True
