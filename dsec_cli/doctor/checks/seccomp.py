"""Seccomp: filters of system calls, and whether a supervisor may decide about them."""

from __future__ import annotations

from dsec_cli.doctor.check import UNKNOWN, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_WANTED = ("errno", "user_notif", "kill_process")


def look(host: Host) -> Answer:
    """What the kernel can do with a filter, and whether this process has one already."""
    status = host.text("proc/self/status") or ""
    actions = (host.text("proc/sys/kernel/seccomp/actions_avail") or "").split()
    mode = next((line[8:].strip() for line in status.splitlines() if line.startswith("Seccomp:")), "")
    if not mode:
        return (
            Answer(UNKNOWN, (say("the kernel does not say whether it has seccomp"),))
            if not status
            else problem(say("this kernel has no seccomp"), mend=say("a kernel with CONFIG_SECCOMP_FILTER"))
        )
    missing = [name for name in _WANTED if actions and name not in actions]
    if missing:
        return problem(
            say("seccomp lacks {names}", names=", ".join(missing)), mend=say("a kernel of 5.0 or newer")
        )
    inside = say("this process runs under a filter itself (a container)") if mode == "2" else ""
    return fine(say("seccomp with {names}", names=", ".join(actions) or "?"), *([inside] if inside else []))


CHECK = Check("seccomp", look, words=("sandbox",))
