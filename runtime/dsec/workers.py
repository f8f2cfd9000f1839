"""The executor's side of resident workers: started when first called, warm until not needed.

A worker holds its GPUs as long as it lives, because a loaded model does; processors and memory
are held per call. When another Step needs GPUs that only idle workers hold, the one that idles
longest is stopped (`evicted`) and started again at its next call.
"""

from __future__ import annotations

import contextlib
import json
import os
import re

from dsec.answers import Answer, decode
from dsec.callparts import both, fixed_part, only_gpus, size_of, without_gpus
from dsec.events import WorkerStart, WorkerStop
from dsec.frames import FRAME_BYTES, QUICK_S
from dsec.interpreter import default
from dsec.interpreter import worker as worker_command
from dsec.outcomes import signal_name
from dsec.processes import Launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence, Set

    from dsec.core.leases import Lease, Ledger
    from dsec.launch import Launcher
    from dsec.plan import Demand, PlannedStep
    from dsec.processes import Child, Children
    from dsec.recorder import Recorder

_LEAVE_S = 2.0
"""How long a worker may take to leave after its socket closed."""
_WORTH = 5.0
"""A worker stays so many times as long as it took to its first answer, before another run gets its GPUs."""


def group_of(step: PlannedStep) -> str:
    """The worker that serves a `call` Step."""
    return step.command.worker or step.id


class Worker:
    """One resident worker, running or not."""

    __slots__ = (
        "born_s",
        "cause",
        "child",
        "demand",
        "idle_since",
        "lease",
        "load_s",
        "log",
        "log_end",
        "name",
        "on_answer",
        "serial",
        "sock",
    )

    def __init__(self, name: str, demand: Demand, log: str) -> None:
        self.name = name
        self.demand = demand
        """Its GPUs; nothing else."""
        self.log = log
        self.log_end = 0
        """Bytes of the log that belong to calls that ended."""
        self.child: Child | None = None
        self.sock: socket.socket | None = None
        self.lease: Lease | None = None
        self.on_answer: Callable[[Answer], None] | None = None
        """Set while a call is out."""
        self.serial = 0
        self.born_s = self.load_s = 0.0
        """When it was started, by the loop's clock, and how long it took to its first answer; 0: none yet."""
        self.idle_since = 0.0
        self.cause = ""
        """Why it is being stopped."""


class Workers:
    """All workers of one run."""

    def __init__(
        self,
        steps: Sequence[PlannedStep],
        *,
        children: Children,
        launcher: Launcher,
        ledger: Ledger,
        recorder: Recorder,
    ) -> None:
        self._loop = children.loop
        self._children = children
        self._launcher = launcher
        self._ledger = ledger
        self._recorder = recorder
        self.release: Callable[[Lease, int], None] = lambda lease, _: ledger.release(lease)
        """Takes back what the worker of that pid held."""
        self.called_back: Set[str] = frozenset()
        """Devices whose workers take no further calls: they are another run's next."""
        self._buffer = bytearray(FRAME_BYTES + 1024)
        self._sent_at = 0.0
        self.spin_s = 0.0
        """How long to look for an answer before sleeping: the last one came at once, or not at all."""
        self._workers: dict[str, Worker] = {}
        self._command = worker_command(default(launcher.environ)) if steps else ()
        self._fixed = {step.id: fixed_part(step) for step in steps}
        self._per_call = {step.id: without_gpus(step.demand) for step in steps}
        for step in steps:
            self._join(step)

    def _join(self, step: PlannedStep) -> None:
        name = group_of(step)
        demand = only_gpus(step.demand)
        worker = self._workers.get(name)
        if worker is None:
            log = f"logs/worker-{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.log"
            self._workers[name] = Worker(name, demand, log)
        elif size_of(demand) > size_of(worker.demand):
            worker.demand = demand

    def grant(self, step: PlannedStep) -> Lease | None:
        """Hold what a call of the Step takes, and its worker's GPUs; None: not now."""
        worker = self._workers[group_of(step)]
        if worker.on_answer is not None or worker.cause:
            return None
        if worker.lease is not None and not self.called_back.isdisjoint(worker.lease.devices):
            return None
        lease = self._ledger.grant(self._per_call[step.id])
        if lease is None or not worker.demand.gpu_count or worker.lease is not None:
            return lease
        worker.lease = self._ledger.grant(worker.demand, step.placement.devices)
        if worker.lease is None:
            self._ledger.release(lease)
            return None
        return lease

    def call(
        self,
        step: PlannedStep,
        *,
        iteration: int,
        attempt: int,
        on_answer: Callable[[Answer], None],
        record: Callable[[Worker], None],
    ) -> Worker:
        """Send the call; the worker is started first where it is not running. Raises OSError.

        `record` is called before the call is sent.
        """
        worker = self._workers[group_of(step)]
        if worker.child is None:
            self._start(worker, step)
        worker.serial += 1
        worker.on_answer = on_answer
        carried = self._launcher.carried(step, iteration)
        frame = (
            f'{{"id":{worker.serial},{self._fixed[step.id]},"iteration":{iteration},"attempt":{attempt},'
            f'"carried":{json.dumps(carried) if carried else "{}"}}}'
        ).encode()
        if worker.sock is None:
            raise AssertionError(f"worker {worker.name} runs without a socket")
        if len(frame) > FRAME_BYTES:
            worker.on_answer = None
            raise OSError(
                f"its arguments take {len(frame)} bytes, a call takes {FRAME_BYTES}; pass a path instead"
            )
        record(worker)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            worker.sock.send(frame)  # a dead worker is noticed by its pidfd
        self._sent_at = self._loop.now()
        return worker

    def ask(self, name: str, what: str) -> bool:
        """Ask a running worker for something that has no answer; it comes to it after the call in hand."""
        worker = self._workers.get(name)
        if worker is None or worker.sock is None:
            return False
        try:
            worker.sock.send(json.dumps({"ask": what}).encode())
        except OSError:
            return False  # it is ending, or it hears nobody
        return True

    def _start(self, worker: Worker, step: PlannedStep) -> None:
        import socket  # a run without calls does without it

        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            ours.setblocking(False)
            launch = self._launch(worker, step)
            child = self._children.start_worker(
                launch, on_gone=lambda _: self._gone(worker), pass_fd=theirs.fileno()
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        worker.child, worker.sock, worker.cause = child, ours, ""
        worker.born_s, worker.load_s = self._loop.now(), 0.0
        worker.log_end = os.path.getsize(launch.log)
        self._loop.sockets.watch(ours.fileno(), lambda: self._readable(worker))
        devices = worker.lease.devices if worker.lease else ()
        event = WorkerStart(
            self._recorder.at_us(), worker.name, child.pid, child.ticks, child.ticks_by, devices, worker.log
        )
        self._recorder.emit(event)

    def _launch(self, worker: Worker, step: PlannedStep) -> Launch:
        env = self._launcher.environment(step, worker.lease.devices if worker.lease else ())
        env[b"DSEC_WORKER"] = worker.name.encode()
        env[b"DSEC_STEP"] = step.id.encode()
        argv = tuple(map(os.fsencode, self._command))
        return Launch(argv[0], argv, env, self._launcher.folder, f"{self._launcher.run.path}/{worker.log}")

    def _readable(self, worker: Worker) -> None:
        answer = self._receive(worker)
        if answer is not None:
            self._answered(worker, answer)

    def _receive(self, worker: Worker) -> Answer | None:
        """The answer that is waiting on the socket; None: there is none (any more)."""
        if worker.sock is None:
            return None
        try:
            length = worker.sock.recv_into(self._buffer)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            length = 0
        if not length:
            self._disconnect(worker)
            self._doubt(worker)
            return None
        answer = decode(self._buffer[:length], worker.serial)
        if answer is None or worker.on_answer is None:
            self._abandon(worker, "sent something that is no answer to a call")
            return None
        return answer

    def _answered(self, worker: Worker, answer: Answer) -> None:
        on_answer, worker.on_answer = worker.on_answer, None
        worker.log_end = worker.log_end if answer.log_to is None else answer.log_to
        worker.idle_since = now = self._loop.now()
        worker.load_s = worker.load_s or now - worker.born_s
        self.spin_s = QUICK_S if now - self._sent_at < QUICK_S else 0.0
        if on_answer is not None:
            on_answer(answer)

    def _abandon(self, worker: Worker, why: str) -> None:
        """A worker that cannot be talked to any more is ended; `_gone` says so to the caller."""
        worker.cause = why
        if worker.child is not None and worker.child.ended is None:
            self._children.stop(worker.child, grace_s=0.2)

    def _doubt(self, worker: Worker) -> None:
        """It closed its connection: most likely it is just ending; one that lives on is ended."""
        child = worker.child

        def insist() -> None:
            if child is not None and worker.child is child and not worker.cause:
                self._abandon(worker, "closed its connection")

        self._loop.at(self._loop.now() + 0.2, insist)

    def _disconnect(self, worker: Worker) -> None:
        if worker.sock is not None:
            self._loop.sockets.unwatch(worker.sock.fileno())
            worker.sock.close()
            worker.sock = None

    def stop(self, worker: Worker, *, cause: str, grace_s: float) -> None:
        """End a worker in the middle of a call."""
        worker.cause = worker.cause or cause
        if worker.child is not None:
            self._children.stop(worker.child, grace_s=grace_s)

    def _retire(self, worker: Worker, cause: str) -> None:
        """Let an idle worker leave by itself; it is ended when it does not."""
        child = worker.child
        worker.cause = cause
        self._disconnect(worker)

        def insist() -> None:
            if child is not None and worker.child is child:
                self._children.stop(child, grace_s=1.0)

        self._loop.at(self._loop.now() + _LEAVE_S, insist)

    def evict(self) -> bool:
        """Make room on the GPUs: retire the worker that idles longest; False: there is none to wait for."""
        if any(worker.cause for worker in self._running()):
            return True
        idle = [
            worker
            for worker in self._running()
            if worker.lease and worker.on_answer is None and not worker.cause
        ]
        if not idle:
            return False
        self._retire(min(idle, key=lambda worker: worker.idle_since), "evicted")
        return True

    def is_busy(self, step: PlannedStep) -> bool:
        """Whether a call of the Step would wait for another call."""
        worker = self._workers[group_of(step)]
        return worker.on_answer is not None or bool(worker.cause)

    def lacks(self, step: PlannedStep) -> Demand | None:
        """The GPUs that a call of the Step takes besides what its worker has; None: none, or it must wait."""
        worker = self._workers[group_of(step)]
        if worker.lease is not None or self.is_busy(step) or not worker.demand.gpu_count:
            return None
        return both(worker.demand, self._per_call[step.id])

    def stays_s(self, device: str) -> float:
        """How long whatever is resident on the device is to stay yet, so that loading it was worth it."""
        found = [one for one in self._running() if one.lease and device in one.lease.devices]
        now = self._loop.now()
        return max(
            (one.born_s + _WORTH * (one.load_s or now - one.born_s + 1.0) - now for one in found), default=0.0
        )

    def leaving(self) -> list[Lease]:
        """Devices that come back because their worker is about to leave."""
        return [worker.lease for worker in self._running() if worker.cause and worker.lease]

    def leave(self, device: str) -> None:
        """Retire workers that idle on this device: the next call gets another one."""
        for worker in self._running():
            lease = worker.lease
            if lease and device in lease.devices and worker.on_answer is None and not worker.cause:
                self._retire(worker, "evicted")

    def retire_all(self) -> None:
        """No more calls will come."""
        for worker in self._running():
            if not worker.cause:
                self._retire(worker, "done")

    def hasten(self, *, grace_s: float) -> None:
        """End all workers now."""
        for worker in self._running():
            self.stop(worker, cause="done", grace_s=grace_s)

    def _running(self) -> list[Worker]:
        return [worker for worker in self._workers.values() if worker.child is not None]

    @property
    def any_leaving(self) -> bool:
        """Whether some worker is about to give its devices back."""
        return any(worker.cause for worker in self._running())

    @property
    def any_running(self) -> bool:
        """Whether some worker process is left."""
        return bool(self._running())

    def _gone(self, worker: Worker) -> None:
        """The process ended: tell who waits for an answer, unless one had arrived."""
        child = worker.child
        if child is None or child.ended is None:
            raise AssertionError(f"worker {worker.name} ended without having run")
        ended = child.ended
        how = (
            f"exited with code {ended.code}"
            if ended.signal is None
            else f"was killed by {signal_name(ended.signal)}"
        )
        cause = worker.cause or how
        pending = self._receive(worker) if worker.on_answer is not None else None
        self._disconnect(worker)
        at_us = self._recorder.at_us()
        self._recorder.emit(
            WorkerStop(
                at_us, worker.name, child.pid, ended.code, ended.signal, cause, ended.cpu_us, ended.rss_kb
            )
        )
        worker.child, worker.cause = None, ""
        if worker.lease is not None:
            self.release(worker.lease, child.pid)
            worker.lease = None
        if worker.on_answer is not None:
            size = os.path.getsize(f"{self._launcher.run.path}/{worker.log}")
            lost = Answer("worker-lost", f"worker {worker.name} {cause}", None, worker.log_end, size, None)
            self._answered(worker, pending or lost)
