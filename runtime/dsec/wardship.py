"""The executor's side of the warden: starts the process that clears up after a killed executor."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from dsec.errors import RunProblem
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.rundir import RunDir

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks a run to end early."""


class Warden:
    """The process that clears up after a killed executor (see `dsec.warden`).

    A shell does the waiting, because it takes a tenth of the time and the memory of a Python that
    would only wait, too; the signals that an executor heeds are blocked in it.
    """

    def __init__(self, run: RunDir) -> None:
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
            run.job,
            run.path,
        ]
        read, self._write = os.pipe()
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, 1, 2),
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

    def dismiss(self) -> None:
        """The run ended in order; nothing is left to clear up."""
        with contextlib.suppress(BrokenPipeError):  # somebody killed it; what it was for is over
            os.write(self._write, b"bye\n")
        os.close(self._write)
        with contextlib.suppress(ChildProcessError):  # the same; it was collected like an orphan
            os.waitpid(self.pid, 0)
