"""The executor's side of the warden: starts the process that clears up after a killed executor."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import time

from dsec import sweep
from dsec.errors import RunProblem
from dsec.warden import wardens
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec.rundir import RunDir

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks a run to end early."""
_LOCK = "warden"
_SOON_S = 3.0
"""A warden that has nothing stubborn to end takes no longer."""
_PATIENCE_S = 40.0
"""One that has gives up sooner (`warden.GRACE_S`, `sweep.PATIENCE_S`)."""
_KILL_S = 5.0


class Warden:
    """The process that clears up after a killed executor (see `dsec.warden`).

    A shell does the waiting, because it takes a tenth of the time and the memory of a Python that
    would only wait, too; the signals that an executor heeds are blocked in it.
    """

    def __init__(self, run: RunDir, executor: str) -> None:
        """`executor`: what processes of this executor carry."""
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        code = (
            f"import sys; sys.path.insert(0, {root!r})\n"
            "from dsec.warden import main\n"
            "sys.exit(main(sys.argv[1:]))"
        )
        wait = 'read -r word; [ "$word" = bye ] || exec "$@"'
        argv = [
            "sh",
            "-c",
            wait,
            "dsec-warden",
            sys.executable,
            "-I",
            "-S",
            "-E",
            "-c",
            code,
            executor,
            run.job,
            run.path,
        ]
        read, self._write = os.pipe()
        lock = _locked(run)
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            # As its output for errors: a shell may close others before it starts a program.
            (os.POSIX_SPAWN_DUP2, 1 if lock < 0 else lock, 2),
        ]
        try:
            self.pid = os.posix_spawn(
                "/bin/sh",
                argv,
                os.environb,
                file_actions=actions,
                setsid=True,
                setsigmask=(*SIGNALS, signal.SIGQUIT),
            )
        except OSError as problem:
            os.close(self._write)
            raise RunProblem(say("the run's warden could not start: {why}", why=system(problem))) from None
        finally:
            os.close(read)
            if lock >= 0:
                os.close(lock)

    def dismiss(self) -> None:
        """The run ended in order; nothing is left to clear up."""
        with contextlib.suppress(BrokenPipeError):  # somebody killed it; what it was for is over
            os.write(self._write, b"bye\n")
        os.close(self._write)
        with contextlib.suppress(ChildProcessError):  # the same; it was collected like an orphan
            os.waitpid(self.pid, 0)


def await_last(run: RunDir, *, tell: Callable[[str], object]) -> None:
    """Wait until the warden of an earlier executor has done its work; `tell` hears of one that takes long.

    Who takes a run over calls this before it starts anything. A warden that does not come to an end is ended:
    the caller does its work.
    """
    begun = time.monotonic()
    told = False
    wait_s = 0.002
    while _is_held(run) or wardens(run.job, run.path):
        passed = time.monotonic() - begun
        ours = wardens(run.job, run.path)
        if passed > _PATIENCE_S + _KILL_S:
            raise RunProblem(
                say("the warden of the earlier executor cannot be ended: {pids}", pids=_pids(ours)),
                hint="end it, then resume again",
            )
        for one in ours:
            sweep.send(one, signal.SIGKILL if passed > _PATIENCE_S else signal.SIGCONT)
        if passed > _SOON_S and not told:
            told = True
            tell(
                say("waiting for process {pids}, which ends what the earlier executor left", pids=_pids(ours))
            )
        time.sleep(wait_s)
        wait_s = min(wait_s * 1.5, 0.1)


def _pids(processes: list[sweep.Process]) -> str:
    return ", ".join(str(one.pid) for one in processes) or "?"


def _locked(run: RunDir) -> int:
    """A descriptor with the lock that a warden holds as long as it lives; -1: none can be had here."""
    try:
        lock = os.open(f"{run.path}/{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return -1
    return lock


def _is_held(run: RunDir) -> bool:
    """Whether a warden has the lock; one that no list of processes shows yet has it, too."""
    try:
        lock = os.open(f"{run.path}/{_LOCK}", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(lock)
    return False
