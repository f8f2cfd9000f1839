"""What runs now, from the journal: most of its records are looked at, and not decoded."""

from __future__ import annotations

import json

from dsec.errors import StoredFormError
from dsec.events import STANDING
from dsec.record import Record
from dsec.tail import Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_OTHERS = ('{"event":"worker-', '{"event":"run-sta', '{"event":"pause"', '{"event":"continu')


class Watched(Record):
    """An attempt that runs, or an idle worker (`step` is "")."""

    step: str
    iteration: int
    attempt: int
    worker: str
    pid: int
    ticks_by: int
    """Latest possible start time of the process, in clock ticks since boot."""
    devices: tuple[str, ...]
    began_us: int
    """When the attempt began, on the clock of the executor."""
    log: str
    """Relative to the run's folder."""


class Running:
    """Follows one journal.

    Most attempts have ended by the time their beginning is read, so a beginning is only decoded when
    somebody asks for what runs.
    """

    def __init__(self, path: str) -> None:
        self._tail = Tail(path)
        self._open: dict[str, str | Watched] = {}
        """Attempts that began and did not end, by the part of the record that names them."""
        self._workers: dict[str, Watched] = {}
        self.ended: dict[tuple[str, int], dict[str, Any]] = {}
        """Ends of attempts that somebody had seen running, since `forget_ended`."""
        self.frozen: set[tuple[str, int, int]] = set()
        """Attempts that stand still; one that ended meanwhile does not matter."""

    def read(self) -> None:
        """Take in what was written since."""
        try:
            found = self._tail.payloads()
            if found is None:  # another journal in its place
                self._clear()
                found = self._tail.payloads() or []
        except (OSError, StoredFormError):
            return  # the executor is who complains
        for payload in found:
            if payload.startswith('{"event":"spawn"'):
                self._open[_named(payload, ',"pid":')] = payload
            elif payload.startswith('{"event":"exit"'):
                self._exited(payload)
            elif payload.startswith(_OTHERS):
                self._other(payload)

    def _clear(self) -> None:
        self._open.clear()
        self._workers.clear()
        self.frozen.clear()

    def _exited(self, payload: str) -> None:
        begun = self._open.pop(_named(payload, ',"cause":'), None)
        if isinstance(begun, Watched):
            self.ended[begun.step, begun.iteration] = _decoded(payload)

    def _other(self, payload: str) -> None:
        data = _decoded(payload)
        kind = data.get("event")
        if kind == "run-start":
            self._clear()
        elif kind == "worker-start":
            self._workers[data["worker"]] = Watched(
                "",
                -1,
                0,
                data["worker"],
                data["pid"],
                data["ticks_by"],
                tuple(data["devices"]),
                data["at_us"],
                data["log"],
            )
        elif kind == "worker-stop":
            self._workers.pop(data["worker"], None)
        elif kind == "pause" and data["how"] in STANDING:
            self.frozen.add((data["step"], data["iteration"], data["attempt"]))
        elif kind == "continue":
            self.frozen.discard((data["step"], data["iteration"], data["attempt"]))

    def running(self) -> list[Watched]:
        """Attempts that run, in the order in which they began, then workers that idle."""
        for name, payload in self._open.items():
            if isinstance(payload, str):
                self._open[name] = _watched(payload)
        attempts = [one for one in self._open.values() if isinstance(one, Watched)]
        busy = {one.worker for one in attempts}
        return attempts + [one for name, one in self._workers.items() if name not in busy]

    def forget_ended(self, keep: Callable[[tuple[str, int]], bool] | None = None) -> None:
        """Drop the ends that were looked at."""
        self.ended = {key: end for key, end in self.ended.items() if keep is not None and keep(key)}


def _named(payload: str, until: str) -> str:
    """Step, iteration and attempt as the record spells them."""
    begin = payload.find('"step":')
    return payload[begin : payload.find(until, begin)]


def _decoded(payload: str) -> dict[str, Any]:
    try:
        data = json.loads(payload)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _watched(payload: str) -> Watched:
    data = _decoded(payload)
    return Watched(
        data.get("step", ""),
        data.get("iteration", -1),
        data.get("attempt", 0),
        data.get("worker", ""),
        data.get("pid", 0),
        data.get("ticks_by", 0),
        tuple(data.get("devices", ())),
        data.get("at_us", 0),
        data.get("log", ""),
    )
