"""Cgroups: whether this user's runs can be given limits of memory and processes."""

from __future__ import annotations

import os

from dsec.devices.procfs import cgroup_paths
from dsec_cli.doctor.check import ABSENT, NOTE, Answer, Check, fine
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_WANTED = ("memory", "pids", "cpu")


def look(host: Host) -> Answer:
    """Version 2, its controllers, and whether a folder may be made below our own."""
    tree = "sys/fs/cgroup"
    if not host.there(f"{tree}/cgroup.controllers"):
        text = say("no cgroup v2 here") if host.there(tree) else say("no cgroups here (no /sys)")
        mend = say("without it limits of memory are watched, not enforced") if host.there(tree) else ""
        return Answer(ABSENT, (text,), mend)
    own = cgroup_paths(host.text("proc/self/cgroup") or "").get("", "/")
    path = os.path.join(host.root, tree, own.lstrip("/"))
    have = (host.text(f"{tree}/{own.lstrip('/')}/cgroup.controllers") or "").split()
    missing = [name for name in _WANTED if name not in have]
    if os.access(path, os.W_OK) and not missing:
        return fine(say("cgroup v2 with {names}, and this user may divide it", names=", ".join(_WANTED)))
    if missing:
        text = say("the controllers {names} are not delegated to this user", names=", ".join(missing))
    else:
        text = say("this user may not divide its cgroup {path}", path=own)
    return Answer(
        NOTE,
        (text, say("limits of memory are watched, not enforced")),
        say("start runs under: systemd-run --user --scope -p Delegate=yes dsec run"),
    )


CHECK = Check("cgroups", look, words=("cgroup",))
