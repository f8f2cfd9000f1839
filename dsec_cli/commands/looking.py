"""Looks at a run and the machine it runs on, again and again, each time at what is new."""

from __future__ import annotations

import gc
import json
import os
import time
from math import inf

from dsec.containment import Escape, open_beneath
from dsec.errors import RunProblem
from dsec.quickplan import read_plan
from dsec.resume import executor_lives, running_us
from dsec.tail import Tail
from dsec.words import say, system
from dsec_cli.cells import plain
from dsec_cli.screen.devices import memory_permille
from dsec_cli.screen.scene import Scene, Trace, Use, chosen_of
from dsec_cli.screen.watch import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dsec.devices.reading import Reading
    from dsec.devices.sampling import Sampler
    from dsec.rundir import RunDir
    from dsec_cli.screen.scene import Wish

_PAGE = os.sysconf("SC_PAGE_SIZE")
_HERTZ = os.sysconf("SC_CLK_TCK")
_LOG_BYTES = 16 * 1024
_LOG_LINES = 200
_PIECE_BYTES = 4 << 20
"""Of a journal, read at a time."""
_MOST_USES = 40
"""Running attempts whose processes are looked at."""
_MOST_KIN = 2000
"""Processes of one attempt that are looked at."""
_USE_EVERY_S = 2.0


class Looker:
    """One run; opened once, looked at often."""

    def __init__(self, run: RunDir, *, live: bool = True) -> None:
        self._run = run
        self._plan = read_plan(run.plan)
        self._tail = Tail(run.journal)
        self.watch = Watch(self._plan)
        self._audit_at = 0
        self._audit_rest = b""
        self._traces: dict[str, Trace] = {}
        self._sampler = _sampler() if live and self.watch.gpus else None
        self._last: tuple[Reading, ...] = ()
        """What the run's monitor saw last."""
        self._last_us = 0
        self._uses: dict[tuple[str, int], Use] = {}
        self._uses_at = 0.0
        self._cpu: dict[tuple[str, int], tuple[float, int]] = {}
        self._log: tuple[object, list[str]] = ((), [])

    def look(self, wish: Wish, *, patience_s: float = inf) -> Scene:
        """The run now; raises DSecError where its journal cannot be read.

        After `patience_s` of reading a long journal it is shown as far as it was read.
        """
        self._read_events(patience_s)
        self._read_audit()
        state, now_us = self._now()
        alive = state == "running"
        readings: Sequence[Reading] = ()
        problem = ""
        if self._sampler is not None and alive:
            readings, problem = self._sampler.devices(), self._sampler.problem
            self._remember(readings, self.watch.holdings.time(now_us))
        read_us = None
        if not readings and self._last:
            readings, read_us = self._last, self._last_us
        self._look_at_processes(alive=alive)
        scene = Scene(
            job=self._run.job,
            state=state,
            clock=time.strftime("%H:%M:%S"),
            now_us=now_us,
            watch=self.watch,
            readings=readings,
            problem=problem,
            read_us=read_us,
            uses=self._uses,
            traces=self._traces,
            log=(),
            log_name="",
            read_permille=self._tail.read * 1000 // max(1, self._tail.read + self._tail.unread),
        )
        name = self.watch.logs.get(chosen_of(scene, wish), "")
        return scene._replace(log=self._log_lines(name), log_name=name) if name else scene

    def close(self) -> None:
        """Let go of the driver."""
        if self._sampler is not None:
            self._sampler.close()

    def _read_events(self, patience_s: float) -> None:
        until = time.monotonic() + patience_s
        self._read_piece()
        collecting = gc.isenabled()
        gc.disable()  # events hold no circles, and looking for some takes long among so many
        try:
            while self._tail.unread and time.monotonic() < until:
                self._read_piece()
        finally:
            if collecting:
                gc.enable()

    def _read_piece(self) -> None:
        try:
            events = self._tail.events(_PIECE_BYTES)
            if events is None:  # another journal in its place
                self.watch = Watch(self._plan)
                events = self._tail.events(_PIECE_BYTES) or []
        except OSError as problem:
            raise RunProblem(
                say("{journal}: {why}", journal=self._run.journal, why=system(problem))
            ) from None
        self.watch.take(events)

    def _now(self) -> tuple[str, int]:
        """The state of the run, and what its executor's clock shows."""
        fold = self.watch.fold
        if not fold.sessions:
            return "waiting", 0
        session = fold.sessions[-1]
        if fold.end is not None:
            return fold.end.outcome, fold.end.at_us
        if executor_lives(session):
            return "running", running_us(session)
        return "dead", self.watch.holdings.last_us - self.watch.holdings.time(0)

    def _read_audit(self) -> None:
        """Samples that the run's monitor has written since."""
        try:
            with open(open_beneath(self._run.path, "audit"), "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_size <= self._audit_at:
                    return
                file.seek(self._audit_at)
                data = file.read()
        except OSError:
            return
        self._audit_at += len(data)
        *lines, self._audit_rest = (self._audit_rest + data).split(b"\n")
        for line in lines:
            self._take_sample(line)

    def _take_sample(self, line: bytes) -> None:
        try:
            sample = json.loads(line)
            shift = self.watch.holdings.shifts_us.get(sample.get("session", -1))
            devices = sample.get("devices", ())
        except (ValueError, AttributeError):
            return
        if shift is None or not devices:
            return
        found = tuple(one for device in devices if (one := _reading(device)) is not None)
        self._last, self._last_us = found, shift + int(sample["at_us"])
        self._remember(found, self._last_us)

    def _remember(self, readings: Sequence[Reading], at_us: int) -> None:
        for one in readings:
            trace = self._traces.get(one.uuid)
            if trace is None:
                trace = self._traces[one.uuid] = Trace([], [], [])
            trace.add(at_us, one.busy_permille, memory_permille(one))

    def _look_at_processes(self, *, alive: bool) -> None:
        running = self.watch.fold.running if alive else {}
        now = time.monotonic()
        if now - self._uses_at < _USE_EVERY_S and running.keys() == self._uses.keys():
            return
        self._uses_at = now
        found: dict[tuple[str, int], Use] = {}
        cpu: dict[tuple[str, int], tuple[float, int]] = {}
        for key, begun in list(running.items())[:_MOST_USES]:
            rss, spent = _family(begun.pid)
            before = self._cpu.get(key)
            cpu[key] = (now, spent)
            share = None
            if before is not None and now > before[0]:
                share = max(0, round((spent - before[1]) * 1000 / _HERTZ / (now - before[0])))
            found[key] = Use(rss, share)
        self._uses, self._cpu = found, cpu

    def _log_lines(self, name: str) -> list[str]:
        try:
            with open(open_beneath(self._run.path, name), "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                key = (name, status.st_size, status.st_mtime_ns)
                if key == self._log[0]:
                    return self._log[1]
                file.seek(max(0, status.st_size - _LOG_BYTES))
                text = file.read(_LOG_BYTES).decode("utf-8", "replace")
        except Escape as problem:
            return [say("{path} is not shown: {why}", path=plain(name), why=system(problem))]
        except OSError:
            return []
        # A progress bar writes over its line again and again: the last of it is what a terminal shows.
        rows = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
        lines = [plain(row.expandtabs(4)) for row in rows[-_LOG_LINES:]]
        while lines and not lines[-1].strip():
            lines.pop()
        self._log = (key, lines)
        return lines


def _sampler() -> Sampler:
    from dsec.devices.sampling import Sampler  # a run without GPUs needs no driver

    return Sampler()


def _reading(data: dict[str, Any]) -> Reading | None:
    from dsec.devices.reading import Reading

    known = {name: value for name, value in data.items() if name in Reading._fields}
    if "throttled" in known and known["throttled"] is not None:
        known["throttled"] = tuple(known["throttled"])
    try:
        return Reading(**known)
    except TypeError:
        return None


def _family(pid: int) -> tuple[int | None, int]:
    """Memory and processor ticks of a process and all that descend from it."""
    rss: int | None = None
    ticks = 0
    todo = [pid]
    for one in todo:
        try:
            with open(f"/proc/{one}/stat", "rb", buffering=0) as file:
                text = file.read(1024)
            words = text[text.rfind(b")") + 2 :].split()
            rss = (rss or 0) + int(words[21]) * _PAGE
            ticks += sum(map(int, words[11:15]))
            if len(todo) < _MOST_KIN:
                todo += _children(one)
        except (OSError, ValueError, IndexError):
            continue
    return rss, ticks


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as file:
            found += map(int, file.read().split())
    return found
