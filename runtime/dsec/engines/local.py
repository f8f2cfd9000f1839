"""The local engine: one run of a plan on this machine, from the first event to the last."""

from __future__ import annotations

import os
import signal
import time

from dsec import sweep
from dsec.attempts import Past
from dsec.attention import Attention
from dsec.core.leases import Ledger
from dsec.devices.visible import MASK, environment
from dsec.events import RunEnd, RunStart
from dsec.launch import Launcher
from dsec.loop import Loop
from dsec.processes import Children
from dsec.record import Record
from dsec.recorder import Recorder
from dsec.runner import Runner
from dsec.warden import name_of
from dsec.wardship import SIGNALS, Warden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from dsec.answers import Answer
    from dsec.appetites import Appetites
    from dsec.attempts import Attempt
    from dsec.beside import Beside
    from dsec.confines import Confines
    from dsec.core.fold import Fold
    from dsec.inventory import Inventory
    from dsec.journal import Journal
    from dsec.linkbook import LinkBook
    from dsec.plan import Plan
    from dsec.ports import Observer
    from dsec.processes import Ended
    from dsec.rundir import RunDir

_REASONS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung-up"}
_LAST_GRACE_S = 1.0
_ASK_AGAIN_S = 30.0
"""Between two looks at the driver after failures."""
_LASTING_S = 0.2
"""Sooner the kernel ends nobody for want of memory that we would have to know of."""


class Outcome(Record):
    """How a run ended."""

    word: str
    """`succeeded`, `failed`, `interrupted`, `cancelled` or `stopped`."""
    signal: int
    """What asked it to end early; 0: nothing did."""
    detail: str
    failed: tuple[tuple[str, int], ...]
    wall_s: float


class Session(Record):
    """What an executor needs to know of the run it is to work on."""

    plan: Plan
    run: RunDir
    folder: str
    """The contract's folder, absolute."""
    inventory: Inventory
    past: Past
    number: int
    """Executors of this run so far, this one included."""
    keep_going: bool
    fold: Fold
    """The run so far; kept current while it goes on."""
    found: tuple[tuple[str, str], ...] = ()
    """Variables that tell the Steps where their dependencies are."""
    absent: tuple[tuple[str, str], ...] = ()
    """Names and sources of declared secrets that nobody gives a value."""


def execute(
    session: Session,
    *,
    journal: Journal,
    observer: Observer,
    environ: Mapping[bytes, bytes],
    beside: Sequence[Beside] = (),
) -> Outcome:
    """Carry the plan out; every process of the run has ended when this returns.

    `beside`: processes that show the run or keep its state, and are none of it.
    """
    begun = time.monotonic()
    recorder = Recorder(journal, observer, session.fold)
    me = sweep.look(os.getpid())
    recorder.emit(
        RunStart(
            recorder.at_us(),
            session.number,
            os.getpid(),
            me.ticks if me else 0,
            sweep.boot_id(),
            time.time_ns() // 1_000_000,
            session.keep_going,
        )
    )
    journal.sync()
    executor = name_of(os.getpid(), me.ticks if me else 0)
    warden = Warden(session.run, executor)
    loop = Loop(sockets=_threaded() or any(step.command.call for step in session.plan.steps))
    children = Children(loop, spare=(warden.pid,))
    for one in beside:
        _keep(one, loop, children, recorder)
    launcher = _launcher(session, environ, executor)
    runner = _runner(session, children=children, recorder=recorder, launcher=launcher)
    attention = _attention(session, children=children, recorder=recorder, environ=environ)
    runner.heed(attention)
    _respond(attention, runner)
    _heed_signals(loop, children, runner, attention)
    _share(session, runner, environ)
    attention.begin()
    _watch_hunger(loop, runner, recorder)
    runner.confines = _confines(session, children, environ=environ, ticks=me.ticks if me else 0)
    runner.why = _diagnosis(session, loop, runner.confines)
    try:
        runner.work()
        sign = sweep.marker(session.run.job, session.run.path)
        # What an earlier executor of the run left has been ended; should it appear now, it ends now.
        since = me.ticks if me is not None and session.number == 1 else 0
        left = children.end_everyone(sign, grace_s=_LAST_GRACE_S, orderly=not runner.cancelled, since=since)
        if runner.sharing is not None:
            runner.sharing.close(clean=not left)
    finally:
        attention.close()
        if runner.confines is not None:
            runner.confines.close()
        launcher.close()
        loop.close()
        children.close()
    word, detail = _verdict(session, runner, left)
    recorder.emit(RunEnd(recorder.at_us(), word, detail))
    recorder.tell_all()
    journal.close()
    warden.dismiss()
    return Outcome(word, runner.cancelled, detail, tuple(runner.failing.final), time.monotonic() - begun)


def _keep(beside: Beside, loop: Loop, children: Children, recorder: Recorder) -> None:
    from dsec.beside import Keeper  # few runs are shown

    Keeper(beside, loop, children, recorder)


def _threaded() -> bool:
    """Whether another thread (a library's own) could take the signal that tells of a child's end."""
    return len(os.listdir("/proc/self/task")) > 1


def _respond(attention: Attention, runner: Runner) -> None:
    """What is done about tells of these kinds; few runs ever need the modules for it."""

    def stalled(told: dict[str, Any]) -> None:
        from dsec.stalling import respond

        respond(told, attention, runner)

    def memory(told: dict[str, Any]) -> None:
        from dsec.easing import respond

        respond(told, attention, runner)

    def budget(told: dict[str, Any]) -> None:
        from dsec.spending import respond

        respond(told, attention, runner)

    def exceeding(told: dict[str, Any]) -> None:
        from dsec.exceeding import respond

        respond(told, attention, runner)

    def device(told: dict[str, Any]) -> None:
        from dsec.tending import device_changed

        device_changed(told, attention, runner)

    def resized(told: dict[str, Any]) -> None:
        from dsec.tending import resize

        resize(told, attention, runner)

    def occupied(told: dict[str, Any]) -> None:
        from dsec.tending import occupied as respond

        respond(told, attention, runner)

    attention.on("device", device)
    attention.on("occupied", occupied)
    attention.on("resize", resized)
    attention.on("over-memory", exceeding)
    attention.on("stalled", stalled)
    attention.on("budget", budget)
    for kind in ("forecast", "over-baseline", "scarce"):
        attention.on(kind, memory)


def _watch_hunger(loop: Loop, runner: Runner, recorder: Recorder) -> None:
    """Look now and then which Steps wait too long."""
    appetites: list[Appetites] = []

    def look() -> None:
        from dsec.appetites import LOOK_S, Appetites  # short runs have nobody who waits long

        if not appetites:
            appetites.append(Appetites(runner))
        appetites[0].look(recorder.at_us())
        loop.at(loop.now() + LOOK_S, look)

    loop.at(loop.now() + 10.0, look)


def _attention(
    session: Session, *, children: Children, recorder: Recorder, environ: Mapping[bytes, bytes]
) -> Attention:
    seen = session.inventory.origin == "nvml"
    return Attention(
        session.run,
        children=children,
        recorder=recorder,
        session=session.number,
        environ=environ,
        plan=session.plan,
        gpus=seen and any(step.demand.gpu_count for step in session.plan.steps),
    )


def _share(session: Session, runner: Runner, environ: Mapping[bytes, bytes]) -> None:
    """Come to terms with other runs about the GPUs, where the plan wants some."""
    gpus = any(step.demand.gpu_count for step in session.plan.steps)
    if session.inventory.origin != "nvml" or not gpus:
        return
    from dsec.sharing import Sharing, wanted

    if wanted(environ):
        runner.sharing = Sharing(session.run, runner, environ=environ)
        runner.sharing.begin()


def _confines(
    session: Session, children: Children, *, environ: Mapping[bytes, bytes], ticks: int
) -> Confines | None:
    """What keeps attempts within what their Steps state; None where none states anything of that kind."""
    if not any(step.demand.memory_bytes or step.demand.gpu_count for step in session.plan.steps):
        return None
    from dsec.confines import confines  # most small runs have no use for it

    return confines(session.plan, children, run_path=session.run.path, ticks=ticks, environ=environ)


def _diagnosis(
    session: Session, loop: Loop, confines: Confines | None
) -> Callable[[Attempt, Ended | None, Answer | None], tuple[str, str] | None]:
    """What says why an attempt failed; it looks at the kernel's counters once the run has lasted a while."""
    before: int | None = None

    def remember() -> None:
        nonlocal before
        before = sweep.oom_kills()

    loop.at(loop.now() + _LASTING_S, remember)
    asked_at: list[float] = []

    def of_driver(attempt: Attempt) -> tuple[str, str] | None:
        """A driver that turned sick since the run began; asked now and then, as that takes a process."""
        seen = session.inventory.origin == "nvml" and attempt.step.demand.gpu_count
        if not seen or (asked_at and loop.now() - asked_at[-1] < _ASK_AGAIN_S):
            return None
        from dsec.diagnosis import sick_driver

        asked_at.append(loop.now())
        return sick_driver(session.inventory)

    def why(attempt: Attempt, ended: Ended | None, answer: Answer | None) -> tuple[str, str] | None:
        from dsec.diagnosis import why_failed

        now = sweep.oom_kills()
        ooms = None if now is None or before is None else now - before
        limit = confines.ran_out(attempt.child.pid) if confines and attempt.child else 0
        found = why_failed(
            attempt,
            session.run.path,
            ooms=ooms,
            limit=limit,
            ended=ended,
            answer=answer,
            absent=session.absent,
            folder=session.folder,
        )
        return found or of_driver(attempt)

    return why


def _heed_signals(loop: Loop, children: Children, runner: Runner, attention: Attention) -> None:
    """End the run when asked to; stand still (Ctrl-Z) together with all that it started."""

    def call(number: int) -> None:
        if number == signal.SIGTSTP:
            _stand_still(loop, children, runner)
            attention.anew()
            if runner.yielding is not None:
                runner.yielding.anew()
        else:
            runner.cancel(number)

    ignored = signal.getsignal(signal.SIGTSTP) == signal.SIG_IGN
    loop.on_signals(SIGNALS if ignored else (*SIGNALS, signal.SIGTSTP), call)


def _stand_still(loop: Loop, children: Children, runner: Runner) -> None:
    """Stop the Steps, then this process as TSTP would have; go on with both when it is continued."""
    since = loop.now()
    if runner.sharing is not None:
        runner.sharing.stand_still()
    children.signal_all(signal.SIGSTOP)
    # TSTP itself, not STOP: where nobody could continue us (no job control) the kernel ignores it.
    loop.default(signal.SIGTSTP)
    children.signal_all(signal.SIGCONT)
    loop.postpone(loop.now() - since)


def _launcher(session: Session, environ: Mapping[bytes, bytes], executor: str) -> Launcher:
    mask = environ.get(MASK.encode())
    devices = session.inventory.devices

    def visible(granted: tuple[str, ...]) -> Mapping[str, str]:
        return environment(granted, None if mask is None else os.fsdecode(mask), devices)

    return Launcher(
        session.plan,
        session.run,
        folder=session.folder,
        environ=environ,
        visible=visible,
        found=(("DSEC_EXECUTOR", executor), *session.found),
        links=_links(session),
    )


def _runner(session: Session, *, children: Children, recorder: Recorder, launcher: Launcher) -> Runner:
    runner = Runner(
        session.plan,
        children=children,
        launcher=launcher,
        ledger=Ledger(session.inventory._replace(tokens=session.plan.inventory.tokens)),
        recorder=recorder,
        past=session.past,
        why_cancelled=lambda number: _why_cancelled(session.run, number),
    )
    runner.failing.keep_going = session.keep_going
    if session.number > 1:
        from dsec.stalling import remembered

        runner.remedies.update(remembered(session.plan, session.fold.remarks))
    return runner


def _links(session: Session) -> LinkBook | None:
    """How Steps reach each other on this machine; None where none is declared to."""
    if not session.plan.links:
        return None
    from dsec.linkbook import LinkBook  # few contracts have communications

    return LinkBook(session.plan, session.inventory)


def _why_cancelled(run: RunDir, number: int) -> str:
    """`dsec cancel` leaves a note before it sends its TERM."""
    if number == signal.SIGTERM and os.path.exists(f"{run.path}/cancel"):
        return "cancelled"
    return _REASONS[signal.Signals(number)]


def _why_nothing_starts(session: Session, runner: Runner) -> str:
    out = [] if runner.yielding is None else runner.yielding.out_of_service
    if runner.yielding is None or not out:
        return "nothing could start: this machine lacks what the remaining Steps demand"
    state, reason = runner.yielding.state_of(out[0])
    return (
        f"nothing could start: GPU {out[0]} is {state}: {reason};"
        f" {len(out)} of {len(session.inventory.devices)} GPUs are out of service"
    )


def _verdict(session: Session, runner: Runner, left: list[sweep.Process]) -> tuple[str, str]:
    if left:
        pids = ", ".join(str(process.pid) for process in left)
        return "stopped", f"processes that could not be ended: {pids}"
    if runner.trouble:
        return "stopped", runner.trouble
    if runner.cancelled:
        reason = _why_cancelled(session.run, runner.cancelled)
        return ("cancelled" if reason == "cancelled" else "interrupted"), reason
    if runner.failing.final:
        step, iteration = runner.failing.final[0]
        return "failed", f"{step}@{iteration}"
    if not runner.complete:
        return "stopped", _why_nothing_starts(session, runner)
    return "succeeded", ""
