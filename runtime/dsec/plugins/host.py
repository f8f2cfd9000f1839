"""The process that one plugin lives in: takes everything away from itself, loads the plugin, answers.

In this order: namespaces, and a process that waits for this one; limits; capabilities; files (Landlock);
the filter of system calls; dlopen. So no byte of the plugin runs before all of it holds, for every thread and
for good: what a constructor could undo is nothing that we rely on. What fails ends the process before the
plugin is loaded.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket

from dsec.plugins import frames
from dsec.plugins.abi import Library, PluginFault, load
from dsec.plugins.filters import filter_of
from dsec.plugins.grants import grants_of, missing, paths, ports, variables
from dsec.plugins.limits import keep_to
from dsec.sandbox import landlock, namespaces, seccomp
from dsec.sandbox.connections import Policy, hand_over
from dsec.sandbox.kernel import PR_SET_DUMPABLE, PR_SET_PDEATHSIG, SandboxError, prctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.plugins.grants import Grants


def main(handle: int, *images: int) -> None:
    """Serve the process at the other end of the socket; `images`: what to load, the plugin last."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    link = socket.socket(fileno=handle)
    first = frames.receive(link)
    if first is None or first[0] != frames.CONFIG:
        return
    config = json.loads(first[1])
    grants = grants_of(config["grants"])
    alone = config["namespaces"] and namespaces.enter(
        net=not grants.networked(), ipc="ipc" not in grants.kinds
    )
    policy = Policy(grants.egress, grants.listen, grants.local) if grants.narrow() else None
    line = namespaces.supervise(policy)
    try:
        library, isolation = _shut_in(config, grants, images, alone=alone, line=line)
        name, version = library.info()
    except (PluginFault, SandboxError, OSError, MemoryError) as problem:
        _fault(link, problem)
        os._exit(1)
    frames.send(link, frames.READY, json.dumps({"name": name, "version": version, **isolation}).encode())
    _answer(link, library)
    os._exit(0)  # Python's own end makes calls that are not allowed any more


def _shut_in(
    config: dict[str, Any],
    grants: Grants,
    images: tuple[int, ...],
    *,
    alone: bool,
    line: socket.socket | None,
) -> tuple[Library, dict[str, Any]]:
    """Isolate this process and load the plugin in it."""
    absent = missing(grants)
    if absent:
        raise PluginFault(f"it may write {absent}, which is not there: make it first")
    os.environ.update(variables(grants))
    if line is None:
        prctl(PR_SET_DUMPABLE, 0)  # who connects for it must be able to look at it
    keep_to(config["limits"])
    filed = bool(grants.read or grants.write or grants.execute)
    namespaces.drop_capabilities(namespaces.DAC_OVERRIDE if filed else 0)
    settings = json.dumps(config["settings"]).encode()
    held = filter_of(config["calls"], grants, pid=os.getpid(), alone=alone)
    version = 0
    if config["landlock"]:
        version = landlock.restrict(
            **paths(grants)._asdict(), ports=ports(grants), abstract="" in grants.local
        )
    gc.freeze()
    listener = seccomp.restrict(
        held.allowed, rules=held.rules, otherwise=held.otherwise, listen=line is not None
    )
    if line is not None:
        hand_over(listener, line)
    kept = [load(f"/proc/self/fd/{one}") for one in images[:-1]]
    library = Library(f"/proc/self/fd/{images[-1]}")
    library.init(settings)
    isolation = {"landlock": version, "calls": len(held.allowed), "namespaces": alone}
    return library, {**isolation, "libraries": len(kept)}


def _answer(link: socket.socket, library: Library) -> None:
    while (frame := frames.receive(link)) is not None:
        kind, data = frame
        if kind == frames.END:
            library.shutdown()
            return
        try:
            answer = library.run(data)
        except (PluginFault, MemoryError) as problem:
            _fault(link, problem)
        else:
            frames.send(link, frames.ANSWER, answer)


def _fault(link: socket.socket, problem: Exception) -> None:
    said = "out of memory" if isinstance(problem, MemoryError) else str(problem)
    frames.send(link, frames.FAULT, said.encode("utf-8", "backslashreplace"))
