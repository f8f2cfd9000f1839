"""Speed of the disk that journals are written to: every step of a run waits for it."""

from __future__ import annotations

import os
import tempfile
import time

from dsec_cli.doctor.check import NOTE, UNKNOWN, Answer, Check, fine, problem
from dsec_cli.doctor.folder import existing, mounted
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_BLOCK, _BLOCKS, _SYNCS = 1 << 20, 16, 5
_SLOW_MS, _REMOTE = 50.0, ("nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p")


def look(host: Host) -> Answer:
    """A file of 16 MiB is written and removed, and a few small writes are waited for."""
    folder = existing(host.folder)
    kind = mounted(host.text("proc/self/mountinfo") or "", os.path.realpath(folder))
    try:
        rate, sync_ms = _measured(folder)
    except OSError as wrong:
        return Answer(UNKNOWN, (say("{folder}: {why}", folder=folder, why=system(wrong)),))
    text = say(
        "{folder} ({kind}): {rate:.0f} MB/s, a small write is on the disk after {wait:.1f} ms",
        folder=folder,
        kind=kind or "?",
        rate=rate / 1e6,
        wait=sync_ms,
    )
    if kind in _REMOTE:
        return problem(
            text,
            say("locks and renames of network file systems fail in ways that local ones do not"),
            mend=say("keep the state on a local disk: DSEC_HOME=FOLDER"),
        )
    if sync_ms > _SLOW_MS:
        return problem(text, mend=say("keep the state on a local disk: DSEC_HOME=FOLDER"))
    if kind in ("tmpfs", "ramfs"):
        return Answer(NOTE, (text, say("it is memory: nothing is left after a restart")))
    return fine(text)


def _measured(folder: str) -> tuple[float, float]:
    """Bytes a second that reach the disk, and milliseconds until a small write has; medians."""
    block = os.urandom(_BLOCK)
    number, path = tempfile.mkstemp(prefix=".dsec-doctor-", dir=folder)
    try:
        begun = time.monotonic()
        for _ in range(_BLOCKS):
            os.write(number, block)
        os.fdatasync(number)
        rate = _BLOCK * _BLOCKS / max(1e-9, time.monotonic() - begun)
        waits = []
        for _ in range(_SYNCS):
            begun = time.monotonic()
            os.write(number, block[:4096])
            os.fdatasync(number)
            waits.append((time.monotonic() - begun) * 1000)
        return rate, sorted(waits)[_SYNCS // 2]
    finally:
        os.close(number)
        os.unlink(path)


CHECK = Check("disk", look, words=("disk-speed",), budget_s=10.0)
