"""Children of the executor: started without a fork, ended with everything they left behind.

The executor is a child subreaper, so a descendant that daemonises becomes its child and can be
found. Looking for what a child left costs one system call when there is nothing: the kernel's last
pid, less the child's, is how many processes and threads were started since, and we know how many of
them we started ourselves.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from os import POSIX_SPAWN_OPEN, posix_spawn, waitstatus_to_exitcode
from time import CLOCK_BOOTTIME, clock_gettime_ns, monotonic

from dsec import sweep
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec.loop import Loop

_PR_SET_CHILD_SUBREAPER = 36
_FEW = 64
"""Up to so many new pids are looked at one by one; beyond, /proc is listed."""

_RESET = sorted(signal.valid_signals())
"""All of them: for each other one, posix_spawn makes two system calls in the child instead of one."""
_APPENDING = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_NO_INPUT = (POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
_ERRORS_TOO = (os.POSIX_SPAWN_DUP2, 1, 2)
_OWN = (b"DSEC_RUN_DIR", b"DSEC_WORKER", b"DSEC_STEP", b"DSEC_ITERATION", b"DSEC_ATTEMPT")
"""Variables that tell one child's descendants from every other child's."""
_GIVE_UP_S = 5.0
"""A process that survives KILL so long (stuck in the kernel, or not ours to kill) is left to the system."""


class Launch(Record):
    """What to start and how."""

    program: bytes | str
    argv: tuple[bytes | str, ...]
    env: dict[bytes, bytes]
    cwd: str
    log: str
    """File that gets the output, absolute."""


class Ended(Record):
    """How a child ended."""

    code: int | None
    signal: int | None
    wall_us: int
    cpu_us: int
    rss_kb: int | None
    """Peak; None when below the executor's own, which the kernel counts in until exec."""


class Child:
    """A process that the executor started, in a session of its own."""

    __slots__ = (
        "born",
        "ended",
        "env",
        "kill_at",
        "logs",
        "on_gone",
        "pid",
        "serial",
        "ticks",
        "ticks_by",
        "told",
    )

    def __init__(
        self,
        pid: int,
        launch: Launch,
        on_gone: Callable[[Child], None],
        start: tuple[int, float, int, int],
    ) -> None:
        """`start`: how many were started up to this one, when, and between which clock ticks."""
        self.pid = pid
        self.serial, self.born, self.ticks, self.ticks_by = start
        self.env = launch.env
        self.logs = launch.log
        self.on_gone = on_gone
        self.ended: Ended | None = None
        self.told: set[tuple[int, int]] | None = None
        """Leftovers (pid, start time) that got their TERM."""
        self.kill_at: float | None = None
        """Set once it was told to end."""


def become_subreaper() -> None:
    """Make orphaned descendants of this process its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


class Children:
    """All children of one executor."""

    def __init__(self, loop: Loop, *, spare: Sequence[int] = ()) -> None:
        become_subreaper()
        self.loop = loop
        self._on_end = loop.on_end
        self._me = os.getpid()
        self._spare = {self._me, *spare}
        self._live: dict[int, Child] = {}
        self._loadavg = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        self._hertz = os.sysconf("SC_CLK_TCK")
        self._cwd = os.getcwd()
        self._started = 0
        self.start_worker: Callable[..., Child] = self.start
        """How workers are started: what keeps to processors puts itself in between."""
        self._own_rss_kb = 0
        """Our own peak, when it was last asked for."""

    def spare(self, pid: int) -> None:
        """Leave this process of ours alone: it is no Step's."""
        self._spare.add(pid)

    def start(self, launch: Launch, *, on_gone: Callable[[Child], None], pass_fd: int = -1) -> Child:
        """Start a process; raises OSError. `pass_fd` becomes its descriptor 3."""
        if launch.cwd != self._cwd:
            os.chdir(launch.cwd)  # posix_spawn cannot; there is one thread, so nobody else looks
            self._cwd = launch.cwd
        output = (POSIX_SPAWN_OPEN, 1, launch.log, _APPENDING, 0o644)
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [_NO_INPUT, output, _ERRORS_TOO]
        if pass_fd >= 0:
            actions.append((os.POSIX_SPAWN_DUP2, pass_fd, 3))
        born = monotonic()
        ticks = clock_gettime_ns(CLOCK_BOOTTIME) * self._hertz // 1_000_000_000
        try:
            pid = _spawn(launch, actions)
        except FileNotFoundError:
            if not _log_folder_anew(launch.log):
                raise
            pid = _spawn(launch, actions)
        ticks_by = clock_gettime_ns(CLOCK_BOOTTIME) * self._hertz // 1_000_000_000
        serial = self._started = self._started + 1
        child = Child(pid, launch, on_gone, (serial, born, ticks, ticks_by))
        self._live[pid] = child
        self._on_end(pid, self._leader_gone)
        return child

    def stop(self, child: Child, *, grace_s: float) -> None:
        """TERM to the child's group and strays now, KILL after the grace; a second call can only hasten."""
        kill_at = self.loop.now() + grace_s
        if child.kill_at is None:
            child.kill_at = kill_at
            _signal_group(child.pid, signal.SIGTERM)
            _signal_group(child.pid, signal.SIGCONT)
            self.loop.at(kill_at, lambda: self._kill(child))
        elif kill_at < child.kill_at:
            child.kill_at = kill_at
            self.loop.at(kill_at, lambda: self._kill(child))

    def signal_all(self, number: int) -> None:
        """Signal the process group of every child."""
        for pid in self._live:
            _signal_group(pid, number)

    def _kill(self, child: Child) -> None:
        if child.ended is None:
            _signal_group(child.pid, signal.SIGKILL)

    def _leader_gone(self, pid: int, status: int, usage: resource.struct_rusage) -> None:
        child = self._live[pid]
        wall = monotonic() - child.born
        code = waitstatus_to_exitcode(status)
        rss_kb = usage.ru_maxrss
        if rss_kb > self._own_rss_kb:
            self._own_rss_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        child.ended = Ended._make(
            (
                code if code >= 0 else None,
                -code if code < 0 else None,
                int(wall * 1e6),
                int((usage.ru_utime + usage.ru_stime) * 1e6),
                rss_kb if rss_kb > self._own_rss_kb else None,
            )
        )
        others = self._last_pid() - pid != self._started - child.serial
        if others and (_group_exists(pid) or self._has_strays(child, since=pid)):
            self._clear(child)
            return
        self._gone(child)

    def _gone(self, child: Child) -> None:
        del self._live[child.pid]
        on_gone = child.on_gone
        del child.on_gone  # it leads back to the child; collections are off while a run goes on
        on_gone(child)

    def _last_pid(self) -> int:
        """The pid that the kernel gave away last."""
        return int(os.pread(self._loadavg, 128, 0).rsplit(None, 1)[-1])

    def _has_strays(self, child: Child, *, since: int) -> bool:
        """Whether a process younger than pid `since` became ours that is in no session of a live child."""
        last = self._last_pid()
        if last == since:
            return False
        few = 0 < last - since <= _FEW
        pids = range(since + 1, last + 1) if few else map(int, filter(str.isdigit, os.listdir("/proc")))
        live = self._live
        found = False
        for pid in pids:
            if pid in live:
                continue
            process = sweep.look(pid)
            if process is None or process.parent != self._me or pid in self._spare:
                continue
            if process.zombie:
                _reap(pid)
            elif process.session not in live or process.session == child.pid:
                found = True
        return found

    def left_of(self, child: Child) -> list[sweep.Process]:
        """Living processes that the ended child left behind."""
        alone = len(self._live) == 1
        own = frozenset(b"%b=%b" % (name, child.env[name]) for name in _OWN if name in child.env)
        sign = sweep.Marker(own, child.logs)
        return sweep.members(
            sign,
            sessions=(child.pid,),
            spare=self._spare,
            children_of=self._me if alone else 0,
            since=child.ticks,
        )

    def _clear(self, child: Child) -> None:
        """End what the child left, again and again until nothing is left, then say that it is gone."""
        youngest = self._last_pid()
        left = self.left_of(child)
        now = self.loop.now()
        # A process that forked and died while /proc was being listed hides its child from the list.
        if not left and self._has_strays(child, since=youngest):
            self.loop.at(now, lambda: self._clear(child))
            return
        if not left or (child.kill_at is not None and now > child.kill_at + _GIVE_UP_S):
            self.reap_strays()
            self._gone(child)
            return
        if child.kill_at is None:
            child.kill_at = now + 1.0  # its own end did not ask these to stay
        told = child.told = set() if child.told is None else child.told
        for process in left:
            if now >= child.kill_at:
                sweep.send(process, signal.SIGKILL)
            elif process[:2] not in told:
                told.add(process[:2])
                sweep.send(process, signal.SIGTERM)
                sweep.send(process, signal.SIGCONT)
        self.reap_strays()
        self.loop.at(now + 0.01, lambda: self._clear(child))

    def reap_strays(self) -> None:
        """Collect dead descendants that became ours."""
        if not _any_dead():
            return
        for pid, process in sweep.everyone().items():
            if (
                process.zombie
                and process.parent == self._me
                and pid not in self._live
                and pid not in self._spare
            ):
                _reap(pid)

    def end_everyone(
        self, sign: sweep.Marker, *, grace_s: float, orderly: bool, since: int = 0
    ) -> list[sweep.Process]:
        """Last sweep of a run: end whatever still belongs to it; gives back who could not be ended.

        `orderly`: every child ended by itself and was cleared up after, so one look is enough. `since`: the
        tick of the clock before which nothing of the run was started.
        """
        # Whoever called us may carry the run's marks, as a shell does in which somebody looks into a Step.
        spared = self._spare.union(sweep.ancestors(self._me))

        def find() -> list[sweep.Process]:
            found = sweep.members(sign, sessions=(), spare=spared, children_of=self._me, since=since)
            if not found:
                self.reap_strays()
            return found

        return sweep.end_all(
            find, grace_s=grace_s, clock=time.monotonic, pause=time.sleep, times=1 if orderly else 3
        )

    def close(self) -> None:
        """Let go of what was held."""
        os.close(self._loadavg)


def _spawn(launch: Launch, actions: list[tuple[int, ...] | tuple[int, int, str, int, int]]) -> int:
    return posix_spawn(
        launch.program,
        launch.argv,
        launch.env,
        file_actions=actions,
        setsid=True,
        setsigmask=(),
        setsigdef=_RESET,
    )


def _log_folder_anew(log: str) -> bool:
    """Make the folder of a log again that somebody removed, the run's own folder being there."""
    try:
        os.mkdir(os.path.dirname(log))
    except OSError:
        return False
    return True


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _group_exists(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _any_dead() -> bool:
    """Whether any child waits to be collected; asking costs a thousandth of a look through /proc."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
