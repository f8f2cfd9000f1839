"""Signs of life that a Step gives of itself: heartbeats, metrics, stacks on demand. Standard library only.

DSEC_METRICS names the attempt's file, or (with a slash at its end) the folder of it: a resident worker
serves many attempts, so its file goes by DSEC_STEP, DSEC_ITERATION and DSEC_ATTEMPT. A sign is one line
of JSON, appended in one write, so all processes of an attempt may share the file.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import SupportsFloat

STACKS_SIGNAL = 41
"""Asks a prepared process for its stacks: SIGRTMIN+7 of glibc, which frameworks leave alone."""
STACKS_NAME = "dsec-stacks"
"""Name of the memory file that the stacks go to; a process that holds one is prepared."""
_BEAT_NS = 100_000_000
"""Heartbeats come no closer than this."""


class _Out:
    """Where the signs of this process go: opened with the first, kept open until the attempt changes."""

    def __init__(self) -> None:
        self._fd = -1
        self._path = ""
        self._pid = 0
        self.beat_ns = 0
        self.stacks_pid = 0

    def write(self, rest: str) -> bool:
        path = place(os.environ)
        if not path:
            return False
        pid = os.getpid()
        if pid != self._pid:
            self._pid = pid
            show_stacks()
        rank = os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or ""
        line = (
            f'{{"mono_us":{time.monotonic_ns() // 1000},"wall_ms":{time.time_ns() // 1_000_000},'
            f'"pid":{pid},"rank":{int(rank) if rank.isdecimal() else "null"}{rest}}}\n'
        )
        try:
            if path != self._path:
                self._open(path)
            os.write(self._fd, line.encode())
        except OSError:
            return False  # a full disk is no reason to end a training
        return True

    def _open(self, path: str) -> None:
        if self._fd >= 0:
            self._path = ""
            os.close(self._fd)
            self._fd = -1
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._fd = os.open(path, flags, 0o644)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._fd = os.open(path, flags, 0o644)
        self._path = path


_OUT = _Out()  # one per process, like its descriptors


def place(env: Mapping[str, str]) -> str:
    """The file for this attempt's signs; "": this is no Step of a run."""
    path = env.get("DSEC_METRICS", "")
    if not path.endswith("/"):
        return path
    name = f"{env.get('DSEC_STEP')}@{env.get('DSEC_ITERATION')}.{env.get('DSEC_ATTEMPT')}.jsonl"
    return path + name


def heartbeat() -> bool:
    """Say that this process makes progress; cheap enough for every batch. False: nobody was told.

    More than ten a second are not written.
    """
    now = time.monotonic_ns()
    if now - _OUT.beat_ns < _BEAT_NS and os.getpid() == _OUT.stacks_pid:
        return True
    _OUT.beat_ns = now
    return _OUT.write("")


def metric(**values: SupportsFloat) -> bool:
    """Report numbers by name: `metric(loss=0.3, step=17)`. False: nobody was told.

    Numbers of numpy and of one-element tensors will do; NaN and infinities are kept.
    """
    return metrics(values)


def metrics(values: Mapping[str, SupportsFloat]) -> bool:
    """Report numbers whose names are no Python names: `metrics({"train/loss": 0.3})`."""
    import json  # a Step that reports nothing does without it

    said = {str(name): _number(name, value) for name, value in values.items()}
    return _OUT.write(f',"metrics":{json.dumps(said)}')


def _number(name: str, value: SupportsFloat) -> float | int | str:
    if type(value) is int:
        return value
    if isinstance(value, (str, bytes)):
        raise TypeError(f"metric {name} is {value!r}; a metric is a number")
    number = float(value)
    if number - number == 0:
        return number
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def show_stacks() -> bool:
    """Prepare this process for being asked for its stacks; False: it cannot be.

    A process that was not prepared is never sent the signal.
    """
    pid = os.getpid()
    if _OUT.stacks_pid == pid:
        return True
    _OUT.stacks_pid = pid
    try:
        import faulthandler

        # Memory, not a file: nothing to clear away, no disk to be full, and only its owner holds it.
        fd = os.memfd_create(STACKS_NAME)
        faulthandler.register(STACKS_SIGNAL, file=fd, all_threads=True)
    except (AttributeError, ImportError, OSError, ValueError, RuntimeError):
        return False
    return True
