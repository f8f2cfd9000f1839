"""What runs now, from the journal, read as it grows."""

from __future__ import annotations

import json

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_HEAD = 18
"""Length and checksum of a record, before its payload."""
_OTHERS = (b'{"event":"worker-', b'{"event":"run-sta', b'{"event":"pause"', b'{"event":"continu')


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


class Tail:
    """Reads a journal on and on.

    Most attempts have ended by the time their beginning is read, so a beginning is only decoded when
    somebody asks for what runs.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self._rest = b""
        self._open: dict[bytes, bytes | Watched] = {}
        """Attempts that began and did not end, by the part of the record that names them."""
        self._workers: dict[str, Watched] = {}
        self.ended: dict[tuple[str, int], dict[str, Any]] = {}
        """Ends of attempts that somebody had seen running, since `forget_ended`."""
        self.frozen: set[tuple[str, int, int]] = set()
        """Attempts that stand still; one that ended meanwhile does not matter."""

    def read(self) -> None:
        """Take in what was written since."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._at)
                data = file.read()
        except OSError:
            return
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            kind = line[_HEAD : _HEAD + 18]
            if kind.startswith(b'{"event":"spawn"'):
                self._open[_named(line, b',"pid":')] = line
            elif kind.startswith(b'{"event":"exit"'):
                self._exited(line)
            elif kind.startswith(_OTHERS):
                self._other(line)

    def _exited(self, line: bytes) -> None:
        begun = self._open.pop(_named(line, b',"cause":'), None)
        if isinstance(begun, Watched):
            end = _payload(line)
            self.ended[begun.step, begun.iteration] = end

    def _other(self, line: bytes) -> None:
        data = _payload(line)
        kind = data.get("event")
        if kind == "run-start":
            self._open.clear()
            self._workers.clear()
            self.frozen.clear()
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
        elif kind == "pause" and data["how"] == "frozen":
            self.frozen.add((data["step"], data["iteration"], data["attempt"]))
        elif kind == "continue":
            self.frozen.discard((data["step"], data["iteration"], data["attempt"]))

    def running(self) -> list[Watched]:
        """Attempts that run, in the order in which they began, then workers that idle."""
        for name, line in self._open.items():
            if isinstance(line, bytes):
                self._open[name] = _watched(line)
        attempts = [one for one in self._open.values() if isinstance(one, Watched)]
        busy = {one.worker for one in attempts}
        return attempts + [one for name, one in self._workers.items() if name not in busy]

    def forget_ended(self, keep: Callable[[tuple[str, int]], bool] | None = None) -> None:
        """Drop the ends that were looked at."""
        self.ended = {key: end for key, end in self.ended.items() if keep is not None and keep(key)}


def _named(line: bytes, until: bytes) -> bytes:
    """Step, iteration and attempt as the record spells them."""
    begin = line.find(b'"step":', _HEAD)
    return line[begin : line.find(until, begin)]


def _payload(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line[_HEAD:])
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _watched(line: bytes) -> Watched:
    data = _payload(line)
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
