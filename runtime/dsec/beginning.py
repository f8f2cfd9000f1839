"""Begins a run: makes its folder and holds its journal, so that of several who want one job id one gets it.

Who holds the journal's lock has the run. A folder without a first record is left by who was cut off, or
belongs to who is just beginning; the lock tells which, and only its holder may take the folder away.
"""

from __future__ import annotations

import os

from dsec.journal import Journal
from dsec.rundir import RunDir, began, keep_from_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def begin(state: str, job: str, *, clock: Callable[[], float]) -> tuple[RunDir, Journal]:
    """The folder of a new run and its journal, still empty.

    Raises FileExistsError when there is such a run, BlockingIOError when another process just begins it.
    """
    run = RunDir(job, os.path.join(state, "runs", job))
    # Command lines and environments are in plans and logs: nobody else reads them, whatever the umask is.
    os.makedirs(os.path.dirname(state), exist_ok=True)
    for folder in (state, os.path.dirname(run.path)):
        _made(folder)
    keep_from_git(state)
    while (journal := _claimed(run, clock)) is None:
        pass  # it was given up, by another or as one that was cut off: now it can be made anew
    try:
        for folder in (run.logs, run.work, f"{run.path}/metrics"):
            os.makedirs(folder, exist_ok=True)
    except BaseException:  # a full disk, or Ctrl-C: nothing has begun
        give_up(run, journal)
        raise
    return run, journal


def _claimed(run: RunDir, clock: Callable[[], float]) -> Journal | None:
    """The journal, held; None: the folder that was there is gone."""
    made = _made(run.path)
    if not made and began(run):
        raise FileExistsError(run.path)
    try:
        journal = Journal(run.journal, clock=clock)
    except FileNotFoundError:
        return None
    except BlockingIOError:  # also where we made the folder: another may hold its journal first
        raise
    except BaseException:
        if made:
            _remove(run)
        raise
    if made and not os.path.getsize(run.journal):
        return journal
    if began(run):  # and ended, since we looked
        journal.let_go()
        raise FileExistsError(run.path)
    if give_up(run, journal):
        return None
    raise FileExistsError(run.path)


def _made(path: str) -> bool:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return False
    return True


def give_up(run: RunDir, journal: Journal) -> bool:
    """Take away the folder of a run that never began, and then the hold on it; whether that could be done."""
    removed = _remove(run)
    journal.drop()
    return removed


def _remove(run: RunDir) -> bool:
    """All at once for who looks at the name: what is made there meanwhile is another's."""
    import shutil  # few runs are given up

    runs, name = os.path.split(run.path)
    aside = f"{runs}/.{name}.{os.getpid()}"
    try:
        os.rename(run.path, aside)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    shutil.rmtree(aside, ignore_errors=True)
    return True
