"""`dsec cancel`: ask the executor of a run to end it."""

from __future__ import annotations

import os
import signal
import time

from dsec.errors import RunProblem
from dsec.outcomes import state
from dsec.resume import is_alive, read_run
from dsec.sweep import Process, look, send
from dsec_cli.commands.speaking import listener
from dsec_cli.commands.statefolder import find
from dsec_cli.exit import NO, YES
from dsec_cli.report.output import emit
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.rundir import RunDir
    from dsec_cli.options import Args

_PATIENCE_S = 60.0


def main(args: Args) -> int:
    """Signal the executor, and wait until it has ended everything."""
    run = find(os.getcwd(), os.environ, args.job, acts=True)
    told = read_run(run)
    tell = listener(args.lang)
    if not is_alive(told):
        gone = say("its executor is gone; dsec resume continues it")
        word = state(told.state.end.outcome) if told.state.end else gone
        emit(tell(say("{job} is not running: {state}", job=run.job, state=word)) + "\n")
        return NO
    session = told.state.sessions[-1]
    with open(f"{run.path}/cancel", "w", encoding="ascii") as note:
        note.write("cancel\n")
    executor = look(session.pid)
    if executor is not None and executor.ticks == session.ticks:
        send(executor, signal.SIGTERM)
        send(executor, signal.SIGCONT)  # one that was stopped (Ctrl-Z) heeds nothing until then
        _await_end(run, executor)
    emit(tell(say("{job} cancelled", job=run.job)) + "\n")
    return YES


def _await_end(run: RunDir, executor: Process) -> None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        now = look(executor.pid)
        if now is None or now.ticks != executor.ticks or now.zombie:
            return
        time.sleep(0.02)
    raise RunProblem(
        say(
            "{job} was asked to end {patience_s:.0f} s ago and its process {pid} is still there",
            job=run.job,
            patience_s=_PATIENCE_S,
            pid=executor.pid,
        ),
        hint="its Steps' grace periods may be longer; dsec status shows what is running",
    )
