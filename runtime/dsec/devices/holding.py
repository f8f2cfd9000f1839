"""Who holds a device, and how much of its memory: drivers differ in the version of that question."""

from __future__ import annotations

from typing import Any

from dsec.devices.door import UNKNOWN_CALL, Door

_KINDS = ("Compute", "Graphics", "MPSCompute")
_VERSIONS = ("_v3", "_v2")
_OLDEST = ""
_NOT_SAID = 2**64 - 1


class Holding:
    """Asks by the newest version that this driver has: 535.98 lacked one that 535.54 had."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._versions: dict[str, str | None] = {}
        """By kind of process; None: no version is there."""

    def processes(self, handle: Any) -> dict[int, int | None] | None:
        """Bytes by process id, None where they are not told; None: the driver does not say who.

        In a container these are the host's ids: never signal one without checking that it is ours.
        """
        found: dict[int, int | None] = {}
        known = False
        for kind in _KINDS:
            answer = self._asked(kind, handle)
            if answer is None:
                continue
            known = known or kind != "MPSCompute"
            for pid, used in answer:
                found[pid] = _larger(found.get(pid), used)
        return found if known else None

    def _asked(self, kind: str, handle: Any) -> list[tuple[int, int | None]] | None:
        if kind in self._versions:
            version = self._versions[kind]
            return None if version is None else self._listed(kind, version, handle)
        for version in (*_VERSIONS, _OLDEST):
            answer = self._listed(kind, version, handle)
            if self._door.code != UNKNOWN_CALL:
                self._versions[kind] = version
                return answer
        self._versions[kind] = None
        return None

    def _listed(self, kind: str, version: str, handle: Any) -> list[tuple[int, int | None]] | None:
        call = f"nvmlDeviceGet{kind}RunningProcesses{version}"
        if version == _OLDEST:
            return self._door.listed_v1(call, handle)
        answer = self._door.ask(call, handle)
        if answer is None:
            return None
        return [(process.pid, _told(process.usedGpuMemory)) for process in answer]


def _told(used: int | None) -> int | None:
    """Bindings of some versions hand "not available" (all ones) on as a number."""
    return None if used is None or used >= _NOT_SAID else int(used)


def _larger(one: int | None, two: int | None) -> int | None:
    """A process may be listed under several kinds, always with all that it holds."""
    if one is None or two is None:
        return two if one is None else one
    return max(one, two)
