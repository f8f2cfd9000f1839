"""The executor's side of the monitor: starts it, hears it, and keeps devices until it says they are clear."""

from __future__ import annotations

import contextlib
import json
import os
import signal

from dsec.events import DeviceState, Notice
from dsec.outrider import Outrider, start
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from dsec.attempts import Attempt
    from dsec.core.leases import Lease
    from dsec.plan import Plan
    from dsec.processes import Children
    from dsec.recorder import Recorder
    from dsec.rundir import RunDir

    Response: TypeAlias = Callable[[dict[str, Any]], None]
    """What to do about a tell."""
    Moved: TypeAlias = Callable[[bool | None, str, tuple[int, ...]], None]

START_S = 2.0
"""A run of this length gets a monitor, also where it uses no GPU, once an attempt lasts `WORTH_US`."""
WORTH_US = 250_000
LONG_S = 20.0
"""Any run of this length gets one; shorter Steps are not worth the start of a process before."""
_STARTS = 3
"""A monitor that ended is started anew, up to so many in all."""
_UNCLEAR_S = 60.0
"""How long a device that is not clear keeps a run from ending."""
_MOST_BYTES = 64 * 1024
_NO_MONITOR = "the run's monitor is gone"


class _Kept(Record):
    """A lease that is over but for its devices."""

    lease: Lease
    then: Callable[[Lease], None]
    asked_s: float


class Attention:
    """One run's monitor, as long as there is one."""

    def __init__(
        self,
        run: RunDir,
        *,
        children: Children,
        recorder: Recorder,
        session: int,
        environ: Mapping[bytes, bytes],
        plan: Plan,
        gpus: bool,
    ) -> None:
        """`gpus`: devices are watched: the monitor starts at once and says when one may be given away."""
        self._run = run
        self._children = children
        self._loop = children.loop
        self._recorder = recorder
        self._session = session
        self._environ = environ
        self._gpus = gpus
        self._plan = None if gpus else plan
        """What a copy of this process is given; None: a driver's library must be opened anew, in no copy."""
        self._sock: socket | None = None
        self.running: dict[Attempt, None] = {}
        """The run's attempts, in the order in which they began."""
        self._pid = 0
        self._starts = 0
        self._closing = False
        self._kept: dict[int, _Kept] = {}
        self._token = 0
        self._dirty: dict[int, str] = {}
        """The device that is not clear, by token."""
        self._responses: dict[str, Response] = {
            "clear": self._clear,
            "dirty": self._not_clear,
            "notice": self._notice,
            "cuda-able": self._able,
            "cuda-memory": self._moved,
        }
        self.moves_memory = False
        """Whether the monitor has something that moves GPU memory away and back."""
        self._moves: dict[int, Moved] = {}
        self._clearing: dict[int, Callable[[], None]] = {}
        """What to do once devices of living attempts are clear, by token."""

    def on(self, kind: str, response: Response) -> None:
        """Do this about tells of that kind."""
        self._responses[kind] = response

    def begin(self) -> None:
        """Start the monitor now, or once the run has lasted a while."""
        if self._gpus:
            self._start()
        else:
            self._loop.at(self._loop.now() + START_S, self._consider)

    def _consider(self) -> None:
        """Start the monitor if there is something to watch, else look again later."""
        now_us = self._recorder.at_us()
        oldest = next(iter(self.running), None)
        if now_us >= LONG_S * 1e6 or (oldest is not None and now_us - oldest.began_us >= WORTH_US):
            self._start()
        elif not self._closing:
            self._loop.at(self._loop.now() + START_S / 2, self._consider)

    def _start(self) -> None:
        if self._closing:
            return
        # `socket` is this and enumerations that take as long to make as a monitor takes to look about.
        from _socket import AF_UNIX, SOCK_SEQPACKET, socketpair

        ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        ours.setblocking(False)
        try:
            self._pid = start(self._outrider(theirs.fileno()), self._environ, plan=self._plan)
        except OSError as problem:
            ours.close()
            gone = not os.path.isdir(self._run.path)
            self._unwatched(f"the run's folder was removed: {self._run.path}" if gone else str(problem))
            return
        finally:
            theirs.close()
        self._starts += 1
        self._sock = ours
        self._children.spare(self._pid)
        self._loop.on_end(self._pid, self._gone)
        self._loop.watch(ours.fileno(), self._readable)

    def _outrider(self, handle: int) -> Outrider:
        run, origin = self._run, f"{self._recorder.origin_s:.6f}"
        told = (run.job, run.path, origin, str(self._session), "1" if self._gpus else "0")
        return Outrider("dsec.monitor.main", "dsec-monitor", told, f"{run.path}/monitor.log", (handle,))

    def _readable(self) -> None:
        while self._sock is not None:
            try:
                packet = self._sock.recv(_MOST_BYTES)
            except BlockingIOError:
                return
            except OSError:
                packet = b""
            if not packet:
                self._disconnect()
                return
            self._hear(packet)

    def _hear(self, packet: bytes) -> None:
        try:
            told = json.loads(packet)
            response = self._responses.get(told["tell"])
        except (ValueError, KeyError, TypeError):
            return
        if response is not None:
            response(told)

    def release(self, lease: Lease, pid: int, then: Callable[[Lease], None]) -> None:
        """Give the lease to `then` once the processes of the attempt that `pid` led are off its devices."""
        if self._sock is None or not self._gpus or not lease.devices:
            then(lease)
            return
        self._token += 1
        self._kept[self._token] = _Kept(lease, then, self._loop.now())
        asked = {"ask": "clear", "token": self._token, "devices": lease.devices, "pid": pid}
        try:
            self._sock.send(json.dumps(asked).encode())
        except OSError:
            self._let_go(self._token)

    @property
    def any_waiting(self) -> bool:
        """Whether devices are about to come back."""
        now = self._loop.now()
        return any(now - kept.asked_s < _UNCLEAR_S for kept in self._kept.values())

    def kept(self) -> list[Lease]:
        """What is over but for its devices."""
        return [one.lease for one in self._kept.values()]

    def returning(self, within_s: float) -> list[Lease]:
        """Of those: what has been waited for no longer than that, and nothing was found on."""
        since = self._loop.now() - within_s
        return [
            one.lease for token, one in self._kept.items() if one.asked_s > since and token not in self._dirty
        ]

    def _let_go(self, token: int) -> None:
        kept = self._kept.pop(token, None)
        if kept is not None:
            kept.then(kept.lease)

    @property
    def sees_gpus(self) -> bool:
        """Whether it can say who is on a device."""
        return self._gpus and self._sock is not None

    def when_clear(self, pid: int, devices: tuple[str, ...], then: Callable[[], None]) -> None:
        """Call once the processes of the living attempt that `pid` leads are off these devices."""
        self._token += 1
        self._clearing[self._token] = then
        told = {"ask": "clear", "token": self._token, "devices": devices, "pid": pid, "lives": True}
        if self._sock is not None:
            with contextlib.suppress(OSError):
                self._sock.send(json.dumps(told).encode())

    def move_memory(
        self, pid: int, devices: tuple[str, ...], pids: tuple[int, ...], *, back: bool, then: Moved
    ) -> None:
        """Move what the attempt that `pid` leads holds on the devices away, or (of `pids`) back.

        `then` hears whether that went well (None: nobody knows), why not, and whose it was.
        """
        self._token += 1
        self._moves[self._token] = then
        told = {"ask": "cuda-memory", "token": self._token, "pid": pid, "devices": devices}
        try:
            if self._sock is None:
                raise OSError
            self._sock.send(json.dumps({**told, "pids": pids, "back": back}).encode())
        except OSError:
            token = self._token
            # From the loop: whoever asks is not called back meanwhile.
            self._loop.at(
                0.0, lambda: self._moved({"token": token, "ok": False, "why": _NO_MONITOR, "pids": ()})
            )

    def _able(self, told: dict[str, Any]) -> None:  # noqa: ARG002  # as responses are called
        self.moves_memory = True

    def _moved(self, told: dict[str, Any]) -> None:
        then = self._moves.pop(told["token"], None)
        if then is not None:
            then(told["ok"], told["why"], tuple(told["pids"]))

    def _clear(self, told: dict[str, Any]) -> None:
        if (then := self._clearing.pop(told["token"], None)) is not None:
            then()
            return
        device = self._dirty.pop(told["token"], "")
        if device:
            at_us = self._recorder.at_us()
            self._recorder.emit(DeviceState(at_us, device, "ok", "its processes are gone"))
        self._let_go(told["token"])

    def _not_clear(self, told: dict[str, Any]) -> None:
        kept = self._kept.get(told["token"])
        if kept is None:
            return
        device = self._dirty[told["token"]] = told["device"]
        reason = f"process {told['pid']} of an attempt that ended still holds memory on it"
        self._recorder.emit(DeviceState(self._recorder.at_us(), device, "dirty", reason))
        # So that the run can end when nothing else comes.
        self._loop.at(kept.asked_s + _UNCLEAR_S, lambda: None)

    def _notice(self, told: dict[str, Any]) -> None:
        self.notice(
            told["kind"],
            told["detail"],
            step=told.get("step", ""),
            iteration=told.get("iteration", -1),
            device=told.get("device", ""),
        )

    def anew(self) -> None:
        """The run stood still: what the monitor saw meanwhile says nothing."""
        responses, self._responses = (
            self._responses,
            {kind: self._responses[kind] for kind in ("clear", "dirty", "cuda-able", "cuda-memory")},
        )
        self._readable()
        self._responses = responses
        if self._sock is not None:
            with contextlib.suppress(OSError):
                self._sock.send(b'{"ask":"anew"}')

    def notice(
        self, kind: str, detail: str, *, step: str = "", iteration: int = -1, device: str = ""
    ) -> None:
        """Put something that people should know of into the journal."""
        self._recorder.emit(Notice(self._recorder.at_us(), kind, step, iteration, device, detail))

    def _unwatched(self, why: str) -> None:
        self.notice("unwatched", f"this run goes on without a monitor: {why}")

    def _disconnect(self) -> None:
        if self._sock is not None:
            self._loop.unwatch(self._sock.fileno())
            self._sock.close()
            self._sock = None

    def _gone(self, pid: int, status: int, usage: object) -> None:  # noqa: ARG002  # as the loop has it
        self._disconnect()
        self._pid = 0
        for token in list(self._kept):
            self._let_go(token)
        self._dirty.clear()
        self._clearing.clear()
        self.moves_memory = False
        for token in list(self._moves):
            self._moved({"token": token, "ok": None, "why": _NO_MONITOR, "pids": ()})
        if self._closing:
            return
        code = os.waitstatus_to_exitcode(status)
        how = f"it was killed by signal {-code}" if code < 0 else f"it exited with code {code}"
        if self._starts >= _STARTS:
            self._unwatched(how)
            return
        self._loop.at(self._loop.now() + 1.0, self._start)

    def close(self) -> None:
        """The run is over: the monitor has nothing to watch."""
        self._closing = True
        self._disconnect()
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
