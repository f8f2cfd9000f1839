"""Folders that runs of snapshots left behind: which may go, and their end."""

from __future__ import annotations

import os
import shutil

from dsec.errors import DSecError
from dsec.resume import read_run
from dsec.rundir import RunDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.snapshot.manifest import Manifest


def passing_folders(state: str, known: Iterable[Manifest], *, runs: int) -> list[str]:
    """Work areas beyond the latest `runs`, and environments that no snapshot names; from the state folder.

    The work area of a run that has not ended stays: `dsec resume` needs it.
    """
    areas = sorted(_inside(state, "reruns"), key=lambda path: (-os.lstat(path).st_mtime_ns, path))
    going = [path for path in areas[runs:] if _is_over(state, os.path.basename(path))]
    named = {
        section.document[:16] for one in known for section in one.sections if section.name == "dependencies"
    }
    going += [path for path in _inside(state, "environments") if os.path.basename(path) not in named]
    return [os.path.relpath(path, state) for path in going]


def remove(state: str, folders: Iterable[str]) -> None:
    """Remove them; raises OSError."""
    for folder in folders:
        shutil.rmtree(os.path.join(state, folder))


def _inside(state: str, name: str) -> Iterator[str]:
    try:
        with os.scandir(os.path.join(state, name)) as entries:
            yield from sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return


def _is_over(state: str, job: str) -> bool:
    """Whether the run of a work area has ended, or is gone."""
    run = RunDir(job, os.path.join(state, "runs", job))
    if not os.path.isfile(run.journal):
        return True
    try:
        return read_run(run).state.end is not None
    except DSecError:
        return False
