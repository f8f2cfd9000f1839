"""Temporary files of writers that were killed, in the folder of the runs' state."""

from __future__ import annotations

import os
import re

from dsec_cli.doctor.check import NOTE, Answer, Check, fine
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_NAME = re.compile(r".+\.(\d+)\.(?:tmp|part)$")
_MOST = 50_000


def look(host: Host) -> Answer:
    """Files that are named after a process which is gone."""
    found = left(host.folder)
    if not found:
        return fine(say("no temporary file of a killed program is left"))
    size = sum(size for _, size in found)
    text = say(
        "{count} temporary files of killed programs, {size:.1f} MiB", count=len(found), size=size / 2**20
    )
    return Answer(NOTE, (text, *(path for path, _ in found[:5])), "dsec doctor --fix")


def left(folder: str) -> list[tuple[str, int]]:
    """Paths and sizes."""
    found, seen = [], 0
    for place, _, names in os.walk(folder):
        for name in names:
            seen += 1
            match = _NAME.fullmatch(name)
            if match and not os.path.exists(f"/proc/{match[1]}"):
                path = os.path.join(place, name)
                try:
                    found.append((path, os.lstat(path).st_size))
                except OSError:
                    continue
        if seen > _MOST:
            break
    return sorted(found)


def fix(host: Host) -> str:
    """Remove them."""
    gone = 0
    for path, _ in left(host.folder):
        try:
            os.unlink(path)
            gone += 1
        except OSError:
            continue
    return say("{count} temporary files removed", count=gone)


CHECK = Check("leftovers", look, budget_s=5.0, fix=fix)
