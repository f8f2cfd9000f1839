"""The process that one plugin lives in: takes everything away from itself, loads the plugin, answers.

In this order: limits; the first filter of system calls (the plugin's and those of loading); files that
loading needs; dlopen, so that constructors run under the filter; the second filter, without those of
loading; files that the plugin may reach. What fails ends the process before the plugin is called.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket

from dsec.plugins import frames
from dsec.plugins.abi import Library, PluginFault
from dsec.plugins.limits import keep_to
from dsec.sandbox import hostcalls, landlock, seccomp
from dsec.sandbox.kernel import PR_SET_DUMPABLE, PR_SET_PDEATHSIG, SandboxError, prctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")


def main(handle: int) -> None:
    """Serve the process at the other end of the socket."""
    link = socket.socket(fileno=handle)
    first = frames.receive(link)
    if first is None or first[0] != frames.CONFIG:
        return
    config = json.loads(first[1])
    try:
        library, isolation = _shut_in(config)
        name, version = library.info()
    except (PluginFault, SandboxError, OSError, MemoryError) as problem:
        _fault(link, problem)
        os._exit(1)
    frames.send(link, frames.READY, json.dumps({"name": name, "version": version, **isolation}).encode())
    _answer(link, library)
    os._exit(0)  # Python's own end makes calls that are not allowed any more


def _shut_in(config: dict[str, Any]) -> tuple[Library, dict[str, Any]]:
    """Isolate this process and load the plugin in it."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_DUMPABLE, 0)
    keep_to(config["limits"])
    calls = frozenset(config["calls"]) | hostcalls.answering()
    seccomp.restrict(calls | frozenset(config["loading"]) | hostcalls.loading())
    folder = os.path.dirname(config["path"])
    read, write = config["read"], config["write"]
    version = 0
    if config["landlock"]:
        version = landlock.restrict(
            read=read, write=write, load=(folder, *SYSTEM_LIBRARIES), tcp=config["tcp"]
        )
    library = Library(config["path"])
    if config["landlock"]:
        landlock.restrict(read=read, write=write, tcp=config["tcp"])
    gc.freeze()
    seccomp.restrict(calls)
    library.init(json.dumps(config["settings"]).encode())
    return library, {"landlock": version, "calls": len(calls)}


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
