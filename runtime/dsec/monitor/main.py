"""The monitor's loop: look, tell, write a sample now and then, until the executor is gone."""

from __future__ import annotations

import json
import os
import select
import sys
import time

from dsec.auditfile import append
from dsec.monitor import checks, cudamemory
from dsec.monitor.clearing import Clearing, Question
from dsec.monitor.look import Looker
from dsec.monitor.running import Running
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dsec.devices.sampling import Sampler
    from dsec.monitor.checks import Check
    from dsec.monitor.cudamemory import CudaMemory, Holders
    from dsec.monitor.scene import Scene, Tell
    from dsec.plan import Plan

LOOK_S = 1.0
"""How often everything is looked at."""
AUDIT_S = 30.0
"""How often a sample is written where nothing is odd; DSEC_AUDIT_S sets another."""
_CLEAR_S = 0.02
"""How often devices are looked at that an attempt is to give back."""
_MOST_BYTES = 64 * 1024
_LINK = 3


class Task(Record):
    """What the executor says when it starts a monitor."""

    job: str
    run_dir: str
    origin_s: float
    """When the executor's clock began, by the monotonic clock."""
    session: int
    gpus: bool
    """Whether devices are to be looked at."""


class Monitor:
    """Watches one run."""

    def __init__(self, task: Task, link: int, environ: Mapping[str, str], plan: Plan | None = None) -> None:
        """`link`: the descriptor of a socket that keeps packets apart. `plan`: where it was read already."""
        self._task = task
        self._link = link
        self._running = Running(f"{task.run_dir}/journal")
        self._sampler = _sampler() if task.gpus else None
        self._plan = plan
        self._planned = plan is not None
        self._looker = Looker(task.run_dir, self._running, sampler=self._sampler, plan=self._read_plan)
        self._checks: list[Check] = checks.found()
        self._clearing = Clearing()
        self._memory = self._moves_memory(environ)
        self._audit_s = _seconds(environ.get("DSEC_AUDIT_S"), AUDIT_S)
        self._look_s = min(LOOK_S, self._audit_s)
        self._audit_at = 0.0
        self._pids: dict[int, set[int]] = {}
        """Processes that were seen of each running attempt, by its first."""

    def _moves_memory(self, environ: Mapping[str, str]) -> CudaMemory | None:
        """What moves GPU memory away and back; None: nothing here does."""
        command = "" if self._sampler is None else cudamemory.program(environ, self._sampler.driver())
        if not command:
            return None
        self._tell({"tell": "cuda-able", "program": command})
        return cudamemory.CudaMemory(command)

    def work(self) -> None:
        """Go on until the executor closes its end."""
        next_look = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= next_look:
                self._look(now)
                next_look = now + self._look_s
            if self._clearing.pending:
                self._clear(now)
            moves = self._memory is not None and self._memory.pending
            if moves:
                self._move(now)
            pause = next_look - time.monotonic()
            if self._clearing.pending or moves:
                pause = min(pause, _CLEAR_S)
            ready, _, _ = select.select([self._link], [], [], max(0.0, pause))
            if ready and not self._heed():
                return

    def _look(self, now: float) -> None:
        scene = self._looker.look(at_us=int((now - self._task.origin_s) * 1e6), session=self._task.session)
        self._remember(scene)
        told = [one for check in self._checks for one in check.look(scene)]
        for one in told:
            self._tell(one)
        if told or now >= self._audit_at:
            self._audit_at = now + self._audit_s
            append(f"{self._task.run_dir}/audit", self._task.job, {**sample_of(scene), "own": _own()})

    def _remember(self, scene: Scene) -> None:
        seen = {use.watched.pid: set(use.usage.pids) | {use.watched.pid} for use in scene.uses}
        for pid, members in seen.items():
            members |= self._pids.get(pid, set())
        open_ = {pid: members for pid, members in self._pids.items() if pid not in seen}
        # An attempt that just ended is kept for the question that is still to come.
        self._pids = seen | dict(list(open_.items())[-256:])

    def _clear(self, now: float) -> None:
        for one in self._clearing.look(now, self._held()):
            self._tell(one)

    def _held(self) -> Holders:
        return (lambda _: None) if self._sampler is None else self._sampler.processes

    def _move(self, now: float) -> None:
        for one in self._memory.look(now, self._held()) if self._memory is not None else ():
            self._tell(one)

    def _begin_move(self, asked: dict[str, Any]) -> None:
        if self._memory is None:
            return
        devices, pids = tuple(asked["devices"]), tuple(asked["pids"])
        if not asked["back"]:
            pids = cudamemory.members(devices, self._members(asked["pid"]), self._held())
            if why := cudamemory.no_room(devices, pids, self._held()):
                self._tell(cudamemory.told(asked["token"], pids, ok=False, why=why))
                return
        wanted = cudamemory.Asked(asked["token"], pids, devices, asked["back"], time.monotonic())
        if (refused := self._memory.ask(wanted)) is not None:
            self._tell(refused)

    def _members(self, pid: int) -> set[int]:
        """Processes of the running attempt that this one leads, as they are now."""
        return self._pids.get(pid, set()) | self._looker.members(pid) | {pid}

    def _heed(self) -> bool:
        """Take what the executor asks; False: it is gone."""
        try:
            packet = os.read(self._link, _MOST_BYTES)
        except OSError:
            return False
        if not packet:
            return False
        asked = json.loads(packet)
        if asked.get("ask") == "clear":
            pid = asked["pid"]
            mine = self._members(pid) if asked.get("lives") else self._pids.pop(pid, set()) | {pid}
            pids = frozenset(mine)
            self._clearing.ask(Question(asked["token"], tuple(asked["devices"]), pids, time.monotonic()))
        elif asked.get("ask") == "cuda-memory":
            self._begin_move(asked)
        elif asked.get("ask") == "anew":
            self._checks = checks.found()
        return True

    def _tell(self, one: Tell) -> None:
        packet = json.dumps(one, ensure_ascii=False).encode()
        if len(packet) > _MOST_BYTES:
            return
        try:
            os.write(self._link, packet)
        except OSError:
            return  # it is gone: the next look at the socket says so

    def _read_plan(self) -> Plan | None:
        if not self._planned:
            self._planned = True
            self._plan = _plan(f"{self._task.run_dir}/plan.json")
        return self._plan


def _plan(path: str) -> Plan | None:
    from dsec.errors import DSecError
    from dsec.quickplan import parse_plan

    try:
        with open(path, "rb") as file:
            return parse_plan(file.read(), name=path)
    except (OSError, DSecError):
        return None


def _own() -> dict[str, int | None]:
    """Processor time that the runtime itself has taken so far: the executor and this process."""
    executor: int | None = None
    try:
        with open(f"/proc/{os.getppid()}/stat", "rb", buffering=0) as file:
            words = file.read(4096).rpartition(b")")[2].split()
        executor = (int(words[11]) + int(words[12])) * 1_000_000 // os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        pass
    return {"executor_cpu_us": executor, "monitor_cpu_us": time.process_time_ns() // 1000}


def _sampler() -> Sampler:
    from dsec.devices.sampling import Sampler

    return Sampler()


def _seconds(text: str | None, usual: float) -> float:
    try:
        return max(0.05, float(text)) if text else usual
    except ValueError:
        return usual


def sample_of(scene: Scene) -> dict[str, object]:
    """The scene as a sample of the audit file."""
    used = {
        uuid: sum(held for held in by_pid.values() if held is not None)
        for uuid, by_pid in scene.holders.items()
        if by_pid is not None and None not in by_pid.values()
    }
    ours: dict[str, int] = {}
    for use in scene.uses:
        for uuid, held in use.devices.items():
            ours[uuid] = ours.get(uuid, 0) + (held or 0)
    devices = [
        {
            **one._asdict(),
            "others_bytes": used[one.uuid] - ours.get(one.uuid, 0) if one.uuid in used else None,
        }
        for one in scene.devices
    ]
    steps = [
        {
            "step": use.watched.step,
            "iteration": use.watched.iteration,
            "attempt": use.watched.attempt,
            "worker": use.watched.worker,
            "pids": len(use.usage.pids),
            "rss_bytes": use.usage.rss_bytes,
            "cpu_us": use.usage.cpu_us,
            "log_bytes": use.log_bytes,
            "log_age_ms": use.log_age_ms,
            "devices": use.devices,
        }
        for use in scene.uses
    ]
    return {
        "at_us": scene.at_us,
        "session": scene.session,
        "devices": devices,
        "steps": steps,
        "host": scene.host._asdict(),
        "problem": scene.problem,
    }


def main(argv: list[str], plan: Plan | None = None) -> int:
    """`JOB RUN_DIR ORIGIN SESSION GPUS`; the socket to the executor is descriptor 3."""
    job, run_dir, origin, session, gpus = argv
    task = Task(job, run_dir, float(origin), int(session), gpus == "1")
    Monitor(task, _LINK, os.environ, plan).work()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
