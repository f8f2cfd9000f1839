"""Errors of GPUs in the kernel's log since the machine was started."""

from __future__ import annotations

import os

from dsec.core.xids import failing, meaning
from dsec.devices.kernellog import KernelLog
from dsec_cli.doctor.check import ABSENT, ERROR, NOTE, UNKNOWN, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_SHOWN = 8


def look(host: Host) -> Answer:
    """As far back as the kernel's log goes."""
    path = os.path.join(host.root, "dev/kmsg")
    if not os.access(path, os.R_OK):
        return Answer(
            UNKNOWN,
            (say("the kernel's log cannot be read by this user"),),
            say("as root: sudo dsec doctor --only xid; or sudo sysctl -w kernel.dmesg_restrict=0"),
        )
    log = KernelLog(path, back_s=1e9)
    try:
        events = log.events()
    finally:
        log.close()
    return told(events, gpus=bool(host.gpus().devices))


def told(events: list[tuple[str, int]], *, gpus: bool) -> Answer:
    """What the errors mean; the last ones are shown."""
    if not events:
        if not gpus:
            return Answer(ABSENT, (say("no GPU, and no error of one in the kernel's log"),))
        return fine(say("no error of a GPU in the kernel's log"))
    lines = [
        say("Xid {number} of {place}: {meaning}", number=number, place=place, meaning=meaning(number))
        for place, number in events[-_SHOWN:]
    ]
    grave = [number for _, number in events if failing(number)]
    if grave:
        return problem(
            say(
                "{count} errors of GPUs, {grave} of them of the device itself",
                count=len(events),
                grave=len(grave),
            ),
            *lines,
            mend=say("keep that card out of runs, reset it, and have it exchanged if it comes again"),
            severity=ERROR,
        )
    return Answer(NOTE, (say("{count} errors that programs made on GPUs", count=len(events)), *lines))


CHECK = Check("xid", look, budget_s=10.0)
