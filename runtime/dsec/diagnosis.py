"""Why an attempt failed, looked for once, after it did: in its log, its cgroup and the kernel's counters.

Also in what it was started with: a Step that names a secret which nobody gave cannot do better the next time.
"""

from __future__ import annotations

import os
import re
import signal

from dsec.core.marks import cause_in
from dsec.launch import log_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec.answers import Answer
    from dsec.attempts import Attempt
    from dsec.inventory import Inventory
    from dsec.plan import PlannedStep
    from dsec.processes import Ended

TAIL_BYTES = 64 * 1024
_DRIVER_S = 5.0
"""How long a driver may take to show its GPUs; a sick one may never answer."""
_SCRIPT_BYTES = 256 * 1024
_MOST_FILES, _LONG_NAME = 200, 1024
"""Of the words of a command, and of their letters, that may name a script."""
_KILLED = 128 + signal.SIGKILL
"""What a shell exits with when the program it ran was killed."""


def tail_of(log: str, *, end: int | None = None) -> bytes:
    """The last part of a log, up to byte `end`; empty where it cannot be read."""
    try:
        with open(log, "rb") as file:
            size = os.fstat(file.fileno()).st_size if end is None else end
            start = max(0, size - TAIL_BYTES)
            file.seek(start)
            return file.read(size - start)
    except OSError:
        return b""


def named(tail: bytes, *, ended: Ended | None, detail: str, ooms: int | None) -> tuple[str, str] | None:
    """Cause and detail of an unclear end; None: nothing says more than how it ended.

    `ooms`: how many processes the kernel ended for want of memory since the run began; None: unknown.
    """
    found = cause_in(b"%b\n%b" % (tail, detail.encode("utf-8", "replace")))
    if found is not None:
        return found
    if ended is not None and ooms and (ended.signal == signal.SIGKILL or ended.code == _KILLED):
        return "host-oom", "the kernel ended a process for want of memory"
    return None


def why_failed(
    attempt: Attempt,
    run_path: str,
    *,
    ooms: int | None,
    limit: int,
    ended: Ended | None,
    answer: Answer | None,
    absent: Sequence[tuple[str, str]] = (),
    folder: str = "",
) -> tuple[str, str] | None:
    """Cause and detail of an attempt that ended in an unclear way; None: nothing says why.

    `ooms` as in `named`. `limit`: its cgroup's limit if the kernel ended it there, else 0. `absent`:
    names and sources of declared secrets without a value. `folder`: the contract's.
    """
    if limit:
        return "over-memory", f"its cgroup's limit is {limit / 2**20:.0f} MiB"
    log = log_name(attempt.step.id, iteration=attempt.iteration, attempt=attempt.number)
    if answer is None or answer.log_from is None or answer.log_to is None:
        tail = tail_of(f"{run_path}/{log}") if attempt.worker is None else b""
    else:
        tail = tail_of(f"{run_path}/{attempt.worker.log}", end=answer.log_to) if attempt.worker else b""
        tail = tail[max(0, len(tail) - (answer.log_to - answer.log_from)) :]
    detail = "" if answer is None else answer.detail
    found = named(tail, ended=ended, detail=detail, ooms=ooms) or full_disk(f"{run_path}/logs")
    if found is None and absent:
        found = lacked(attempt.step, absent, said=(tail, detail.encode("utf-8", "replace")), folder=folder)
    return found


def lacked(
    step: PlannedStep, absent: Sequence[tuple[str, str]], *, said: Sequence[bytes], folder: str
) -> tuple[str, str] | None:
    """Cause and detail where the Step, its script or what it `said` names a secret that has no value."""
    own = {name for name, _ in step.env}
    asked = [(name, source) for name, source in absent if name not in own]
    texts = [*said, *_texts(step, folder)] if asked else []
    for name, source in asked:
        word = re.compile(rb"(?<![A-Za-z0-9_])" + re.escape(name.encode()) + rb"(?![A-Za-z0-9_])")
        if any(word.search(text) for text in texts):
            return "missing-secret", why_missing(name, source)
    return None


def why_missing(name: str, source: str) -> str:
    """Why nobody gives a declared secret its value, and what to do."""
    other = source.removeprefix("env://")
    why = f"the variable {other} has no value" if other != source else f"nothing is fetched from {source}"
    return f"{name} is missing: {why}; set it where the run starts"


def _texts(step: PlannedStep, folder: str) -> Iterator[bytes]:
    """The Step's own words, and the first part of the scripts and the module that they name."""
    command = step.command
    parts = (*command.argv, command.shell, command.args, *(value for _, value in step.env))
    yield from (part.encode("utf-8", "surrogateescape") for part in parts if part)
    names = {
        word for part in (*command.argv, command.shell) for word in part.split() if len(word) < _LONG_NAME
    }
    if command.call:
        names = {command.call.partition(":")[0].replace(".", "/") + ".py"}
    for name in sorted(names)[:_MOST_FILES]:
        path = os.path.join(folder, step.cwd, name)
        if os.path.isfile(path):
            yield _head(path)


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_SCRIPT_BYTES)
    except OSError:
        return b""


def sick_driver(inventory: Inventory) -> tuple[str, str] | None:
    """Cause and detail where the driver shows no GPU any more; a new process asks, as an attempt would."""
    from dsec.core.reasons import absence
    from dsec.devices.apart import read_apart

    now = read_apart(inventory._replace(devices=(), notes=()), timeout_s=_DRIVER_S)
    why = "" if now.devices else absence(now)
    return ("gpu-lost", why) if why else None


def full_disk(folder: str) -> tuple[str, str] | None:
    """Cause and detail where the disk of the logs is full: what would say so could not be written."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    if disk.f_blocks and not free:
        return "disk-full", f"nothing is free on the disk of {folder}"
    return None
