"""Space for the state of runs: journals, logs, snapshots."""

from __future__ import annotations

import os

from dsec_cli.doctor.check import ERROR, Answer, Check, fine, problem
from dsec_cli.doctor.folder import existing
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_GIB = 2**30
_LITTLE, _TOO_LITTLE = 10 * _GIB, _GIB
_FEW_FILES = 10_000


def look(host: Host) -> Answer:
    """Of the file system that holds the state folder."""
    folder = existing(host.folder)
    stat = os.statvfs(folder)
    free, total = stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize
    text = say(
        "{free:.1f} of {total:.1f} GiB are free in {folder}",
        free=free / _GIB,
        total=total / _GIB,
        folder=folder,
    )
    if free < _LITTLE:
        return problem(
            text,
            mend=say("remove old runs and snapshots, or name another place: DSEC_HOME=FOLDER"),
            severity=ERROR if free < _TOO_LITTLE else "warning",
        )
    if stat.f_files and stat.f_favail < _FEW_FILES:
        return problem(say("only {count} more files fit into {folder}", count=stat.f_favail, folder=folder))
    return fine(text)


CHECK = Check("space", look, words=("disk",), budget_s=5.0)
