"""Takes one look: everything that goes into a scene."""

from __future__ import annotations

import os
import time

from dsec.monitor.processes import Kin, table, usage, weighed
from dsec.monitor.scene import Host, Scene, Use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec.devices.sampling import Sampler
    from dsec.monitor.processes import Seen
    from dsec.monitor.running import Running, Watched
    from dsec.plan import Plan


class Looker:
    """Looks at one run again and again."""

    def __init__(
        self, run_dir: str, running: Running, *, sampler: Sampler | None, plan: Callable[[], Plan | None]
    ) -> None:
        self._run_dir = run_dir
        self._running = running
        self._sampler = sampler
        self._kin = Kin(run_dir)
        self._plan = plan

    def look(self, *, at_us: int, session: int) -> Scene:
        """The run and the machine now."""
        self._running.read()
        running = self._running.running()
        readings = self._sampler.devices() if self._sampler else ()
        holders = {one.uuid: self._sampler.processes(one.uuid) for one in readings} if self._sampler else {}
        members = self._kin.members(running, table()) if running else []
        uses = tuple(
            self._use(one, weighed(mine), holders) for one, mine in zip(running, members, strict=True)
        )
        ended, self._running.ended = self._running.ended, {}
        return Scene(
            at_us,
            session,
            self._run_dir,
            readings,
            holders,
            self._sampler.events() if self._sampler else (),
            self._sampler.problem if self._sampler else "this run uses no GPU",
            uses,
            _host(self._run_dir),
            ended,
            self._plan,
            frozenset(self._running.frozen),
        )

    def members(self, pid: int) -> set[int]:
        """Processes of the attempt that this one leads, as they are now."""
        self._running.read()
        running = [one for one in self._running.running() if one.pid == pid]
        found = self._kin.members(running, table()) if running else []
        return {one.pid for mine in found for one in mine}

    def _use(
        self, watched: Watched, members: Sequence[Seen], holders: dict[str, dict[int, int | None] | None]
    ) -> Use:
        used = usage(members)
        size = age_ms = None
        try:
            found = os.stat(f"{self._run_dir}/{watched.log}")
            size, age_ms = found.st_size, max(0, int((time.time() - found.st_mtime) * 1000))
        except OSError:
            pass
        held: dict[str, int | None] = {}
        for uuid, by_pid in holders.items():
            mine = [by_pid[pid] for pid in used.pids if pid in by_pid] if by_pid else []
            if mine:
                known = [one for one in mine if one is not None]
                held[uuid] = sum(known) if len(known) == len(mine) else None
        return Use(watched, used, tuple(members), size, age_ms, held)


def _host(run_dir: str) -> Host:
    available = total = free = None
    try:
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"MemAvailable:"):
                    available = int(line.split()[1]) * 1024
                elif line.startswith(b"MemTotal:"):
                    total = int(line.split()[1]) * 1024
        disk = os.statvfs(run_dir)
        free = disk.f_bavail * disk.f_frsize
    except (OSError, ValueError, IndexError):
        pass
    return Host(available, total, free, int(os.getloadavg()[0] * 1000))
