"""Saves where every process of an attempt stands, before anything is done to it.

Three ways, the best that works: `py-spy dump` where it is installed and allowed; what the process
writes of itself when it was prepared (`dsec.signs`; nobody else is ever sent the signal, which would
end it); and always what the kernel tells, thread by thread.
"""

from __future__ import annotations

import os
import time

from dsec.record import Record
from dsec.signs import STACKS_NAME, STACKS_SIGNAL
from dsec.sweep import look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PY_SPY_S = 10.0
_OWN_S = 2.0
"""How long a process may take to write its stacks; one stuck in the kernel never does."""
_ALL_S = 60.0
"""After so long the others are left to the kernel's word: thousands of processes must not hold us up."""
_MOST_THREADS = 256
_MOST_BYTES = 1 << 20


class Target(Record):
    """A process whose stacks are wanted."""

    pid: int
    ticks: int
    """Start time in clock ticks since boot; another process of that pid is left alone."""
    rank: int | None


def folder_of(step: str, *, iteration: int, attempt: int) -> str:
    """Where an attempt's stacks lie, relative to the run's folder."""
    return f"stacks/{step}@{iteration}.{attempt}"


def save_stacks(targets: Iterable[Target], folder: str) -> int:
    """Write `RANK-PID.txt` for each process that still lives; gives back how many were written."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return 0
    py_spy = _search("py-spy")
    until = time.monotonic() + _ALL_S
    written = 0
    for target in targets:
        text = _stacks(target, py_spy, quick=time.monotonic() > until)
        if not text:
            continue
        rank = "none" if target.rank is None else str(target.rank)
        try:
            with open(os.path.join(folder, f"{rank}-{target.pid}.txt"), "w", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            return written  # the disk is full; what was written is something
        written += 1
    return written


def _stacks(target: Target, py_spy: str, *, quick: bool) -> str:
    if not _lives(target):
        return ""
    command = _read(f"/proc/{target.pid}/cmdline").replace("\0", " ").strip()
    rank = "" if target.rank is None else f", rank {target.rank}"
    parts = [f"process {target.pid}{rank}: {command}"]
    if not quick:
        own = _by_py_spy(target, py_spy) if py_spy else ""
        parts.append(own or _by_itself(target) or "no Python stacks: it was not prepared for being asked")
    parts.append(_by_kernel(target.pid))
    return "\n\n".join(parts) + "\n"


def _lives(target: Target) -> bool:
    found = look(target.pid)
    return found is not None and found.ticks == target.ticks and not found.zombie


def _search(name: str) -> str:
    import shutil

    return shutil.which(name) or ""


def _by_py_spy(target: Target, py_spy: str) -> str:
    import subprocess  # no monitor needs it before something hangs

    try:
        done = subprocess.run(
            [py_spy, "dump", "--pid", str(target.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PY_SPY_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    text = done.stdout[:_MOST_BYTES].decode("utf-8", "replace").strip()
    return f"py-spy:\n{text}" if done.returncode == 0 and text else ""


def _by_itself(target: Target) -> str:
    """What the process writes of itself into the memory file that it holds; "": it was not prepared."""
    place = _memory_file(target.pid)
    if not place or not _catches(target.pid):
        return ""
    try:
        before = os.stat(place).st_size
        if not _ask(target):
            return ""
        size = _settled(place, before)
        with open(place, "rb") as file:
            file.seek(before)
            text = file.read(min(size - before, _MOST_BYTES)).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return f"its own account:\n{text}" if text else "it was asked for its stacks and did not answer"


def _memory_file(pid: int) -> str:
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            if os.readlink(f"/proc/{pid}/fd/{fd}") == f"/memfd:{STACKS_NAME} (deleted)":
                return f"/proc/{pid}/fd/{fd}"
    except OSError:
        return ""
    return ""


def _catches(pid: int) -> bool:
    """Whether the process has a handler for the signal: after an exec it has none."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (STACKS_SIGNAL - 1) & 1)
    return False


def _ask(target: Target) -> bool:
    import signal

    try:
        fd = os.pidfd_open(target.pid)
    except OSError:
        return False
    try:
        # Asked once more behind the pidfd: it names this process whatever becomes of the number.
        if not (_lives(target) and _catches(target.pid)):
            return False
        signal.pidfd_send_signal(fd, STACKS_SIGNAL)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _settled(place: str, before: int) -> int:
    """The file's size once it grew and stopped growing."""
    until = time.monotonic() + _OWN_S
    size = before
    while time.monotonic() < until:
        time.sleep(0.02)
        now = os.stat(place).st_size
        if now == size and now > before:
            break
        size = now
    return size


def _by_kernel(pid: int) -> str:
    """State, wait channel, system call and kernel stack of each thread, as far as we may know."""
    try:
        threads = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError:
        return "the kernel says nothing more: it has ended"
    told = [_thread(f"/proc/{pid}/task/{tid}", tid) for tid in threads[:_MOST_THREADS]]
    if len(threads) > _MOST_THREADS:
        told.append(f"and {len(threads) - _MOST_THREADS} more threads")
    return "the kernel's account:\n" + "\n".join(told)


def _thread(place: str, tid: int) -> str:
    status = dict(line.split(":", 1) for line in _read(f"{place}/status").splitlines() if ":" in line)
    call = _read(f"{place}/syscall").split()
    lines = [
        f"  thread {tid} {status.get('Name', '?').strip()}: {status.get('State', '?').strip()}",
        f"    waits in {_read(f'{place}/wchan').strip() or '?'}, system call {call[0] if call else '?'}",
    ]
    lines += [f"    {line}" for line in _read(f"{place}/stack").splitlines()]
    return "\n".join(lines)


def _read(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            return (file.read(1 << 16) or b"").decode("utf-8", "replace")
    except OSError:
        return ""
