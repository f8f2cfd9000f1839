"""Why an attempt ended: the closed list of causes, and each in words."""

from __future__ import annotations

import signal as signals

from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.events import Exit

CAUSES = (
    "ok",
    "exit",
    "signal",
    "timeout",
    "interrupted",
    "not-found",
    "not-executable",
    "no-folder",
    "cannot-start",
    "missing-output",
    "raised",
    "bad-result",
    "worker-lost",
    "gave-way",
    "over-memory",
    "host-oom",
    "cuda-oom",
    "gpu-lost",
    "nccl-timeout",
    "disk-full",
    "missing-secret",
    "stalled",
)

RETRIABLE = frozenset(CAUSES) - {
    "ok",
    "interrupted",
    "gave-way",
    "not-found",
    "not-executable",
    "no-folder",
    "disk-full",
    "missing-secret",
}
"""What another attempt may mend; a file that is not there is not there the next time either."""

NO_INTERPRETER = ": no interpreter in its first line"
"""How the detail of `not-executable` ends for a script that the kernel does not know how to run."""

UNCLEAR = frozenset(("exit", "signal", "raised", "worker-lost"))
"""Causes that say how an attempt ended, not why."""


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; the number itself where the system has no name for it."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def why(end: Exit, timeout_ms: int) -> str:
    """One clause that says why an attempt with this end ended; `timeout_ms`: its Step's, 0 for none."""
    return words(end.cause, code=end.code, signal=end.signal, detail=end.detail, timeout_ms=timeout_ms)


def words(
    cause: str, *, code: int | None, signal: int | None, detail: str, timeout_ms: int | None = None
) -> str:
    """One clause that says why an attempt ended: `exited with code 3`."""
    template = _LIMITED if cause == "timeout" and timeout_ms else _CLAUSES[cause]
    name = signal_name(signal or 0)
    plain = say(template, code=code, signal=name, limit=length(timeout_ms or 0))
    if cause in _NAMED and not (code is None and signal is None):
        how = say(_CLAUSES["exit" if signal is None else "signal"], code=code, signal=name)
        plain = say("{clause} ({how})", clause=plain, how=how)
    if not detail:
        return plain
    if cause == "not-executable":
        return _not_executable(plain, detail)
    told = recorded(detail) if cause in _TOLD else detail
    return say("{clause}: {detail}", clause=plain, detail=told)


def _not_executable(plain: str, detail: str) -> str:
    if detail.endswith("/"):
        return say("could not start: {path} is a folder, not a program", path=detail)
    if detail.endswith(NO_INTERPRETER):
        path = detail.removesuffix(NO_INTERPRETER)
        return say(
            "could not start: the first line of {path} must name its interpreter: #!/bin/sh", path=path
        )
    import shlex

    mend = f"chmod +x {shlex.quote(detail)}"
    return say("{clause}: {detail} (mend it with: {mend})", clause=plain, detail=detail, mend=mend)


_CLAUSES = {
    "ok": "succeeded",
    "exit": "exited with code {code}",
    "signal": "was killed by {signal} (not by dsec)",
    "timeout": "ran past its timeout and was stopped",
    "interrupted": "was stopped because the run was ending",
    "not-found": "could not start: the program was not found",
    "not-executable": "could not start: the file is not executable",
    "no-folder": "could not start: its folder does not exist",
    "cannot-start": "could not start",
    "missing-output": "exited 0 but did not write a declared output",
    "raised": "raised an exception",
    "bad-result": "returned a value that cannot be kept",
    "worker-lost": "lost its worker",
    "gave-way": "made room and will start again",
    "over-memory": "took more memory than it states and was stopped",
    "host-oom": "ran out of main memory",
    "cuda-oom": "ran out of GPU memory",
    "gpu-lost": "lost its GPU",
    "nccl-timeout": "waited too long for other ranks",
    "disk-full": "found the disk full",
    "missing-secret": "lacks a secret and is not tried again",
    "stalled": "made no progress and was stopped",
}
_NAMED = frozenset(("host-oom", "cuda-oom", "gpu-lost", "nccl-timeout", "disk-full", "missing-secret"))
"""Causes that were read from the log or the kernel's counters; how the attempt ended is told, too."""
_TOLD = frozenset(("not-found", "host-oom", "disk-full", "missing-secret", "over-memory", "stalled"))
"""Causes whose detail is a sentence of ours."""
NOTICES = (
    "stalled",
    "forecast",
    "over-memory",
    "over-baseline",
    "hungry",
    "grown",
    "shrunk",
    "moved",
    "budget",
    "device",
    "unwatched",
    "blocked",
    "sharing",
    "not-a-number",
    "collapsed",
    "log",
    "gpu-memory",
)
"""What a notice can be about."""

PAUSES = {
    "frozen": "{step} stands still: {reason}",
    "suspended": "{step} stands still: {reason}",
    "saved": "{step} saved its state and makes room: {reason}",
    "killed": "{step} was ended and will start again: {reason}",
}
"""What became of an attempt that made room."""

_LIMITED = "ran past its timeout of {limit} and was stopped"


def length(ms: int) -> str:
    """A length of time as a contract states it: `0.4s`, `3s`, `10m`, `1h30m`."""
    if ms % 60_000 or not ms:
        return f"{ms / 1000:g}s"
    hours, minutes = divmod(ms // 60_000, 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")


STATES = {
    "waiting": say("waiting"),
    "waiting to retry": say("waiting to retry"),
    "running": say("running"),
    "done": say("done"),
    "failed": say("failed"),
    "stopped": say("stopped"),
    "dropped": say("dropped"),
    "succeeded": say("succeeded"),
    "cancelled": say("cancelled"),
    "interrupted": say("interrupted"),
    "dead": say("dead"),
    "unfinished": say("unfinished"),
    "terminated": say("terminated"),
    "hung-up": say("hung-up"),
    "worker-lost": say("worker-lost"),
    "ok": say("ok"),
    "paused": say("paused"),
    "cut off": say("cut off"),
    "ready": say("ready"),
    "blocked": say("blocked"),
    "dirty": say("dirty"),
    "hot": say("hot"),
    "failing": say("failing"),
    "lost": say("lost"),
}
"""What Steps, runs and workers may be, as texts that can be said in another language."""


def state(word: str) -> str:
    """A state as a text that can be said in another language."""
    return STATES.get(word, word)


_RECORDED = (
    "{instance} failed",
    "it needs {instance}, which was dropped",
    "it failed {count} times and is discardable",
    "it failed {count} time and is discardable",
    "processes that could not be ended: {pids}",
    "{name} is missing: the variable {other} has no value; set it where the run starts",
    "{name} is missing: nothing is fetched from {source}; set it where the run starts",
    "the disk is full",
    "nothing is free on the disk of {folder}",
    "the run's folder was removed: {path}",
    "this run goes on without a monitor: the run's folder was removed: {path}",
    "the journal cannot be written: {why}",
    "{by} blocked {step} for {ms} ms by holding a file lock on device {device}"
    " ({times}x, the longest {longest_ms} ms)",
    "{by} blocked its own threads for {ms} ms by fsync on device {device} under Python's lock"
    " ({times}x, the longest {longest_ms} ms)",
    "{by} blocked its own threads for {ms} ms by writing to device {device} under Python's lock"
    " ({times}x, the longest {longest_ms} ms)",
    "{by} blocked its own threads for {ms} ms by a call that kept Python's lock"
    " ({times}x, the longest {longest_ms} ms)",
    "{by} blocked {step} for {ms} ms by fsync on device {device} ({times}x, the longest {longest_ms} ms)",
    "threads of {by} waited {ms} ms for each other's locks ({times}x, the longest {longest_ms} ms)",
    "moved from {old} to {new}: running again {ms} ms after it was seen",
    "a Step of another run must not wait; it did not save its state within {ms} ms",
    "a Step of another run must not wait",
    "this run does not share its GPUs with the other runs of this machine: {why}",
    "the broker (process {pid}) did not answer and was ended: another one takes over",
    "this run shares its GPUs with the other runs of this machine again",
    "it waits for {many} GPUs; other runs have some: {names}",
    "{instance} must not wait; its memory stays, on GPUs, too",
    "{instance} must not wait; its memory stays",
    "{instance} must not wait; it did not save its state within {ms} ms",
    "{instance} must not wait",
    "GPU {device} is {state}: {reason}",
    "GPU {device} failed: {reason}",
    "other processes hold {size} of this GPU",
    "nothing could start: GPU {device} is {state}: {reason}; {count} of {all} GPUs are out of service",
    "it is critical, so it is left alone on a device that is out of service",
    "no other device could take it, so it stays on one that is out of service",
    "the devices can be read again",
    "{problem}; no attempt is ended for it",
    "hunger {hunger}, above {mark} for {minutes} minutes: it goes first",
    "{count} executions in a row took more than {size}: it starts with up to {gpus} GPUs from now on",
    "it took less than {size} for {minutes} minutes: it starts with up to {gpus} GPUs from now on",
    "{program}: not found on PATH",
    "{program}: the Python of the calls is gone",
    "nothing could start: this machine lacks what the remaining Steps demand",
    "the kernel ended a process for want of memory",
    "its cgroup's limit is {limit}",
    "its processes held {held}, it states {limit}",
    "{rank} of {count} stopped first",
    "{rank} of {count} stopped first, its stacks are in {folder}",
    "its stacks are in {folder}",
    "no sign of progress for {quiet}, {limit} is allowed, and nothing works: stacks are in {folder}",
    "no sign of progress for {quiet}, {limit} is allowed, though something works: stacks are in {folder}",
    "it is ended and starts again",
    "it is ended: the run can do without it",
    "it is critical, so it is left alone",
    "it has no retries left, so it is left alone",
    "how long it takes is not known, so it is left alone",
    "it starts again with {remedy}, as the contract asks",
    "main memory grows by {rate} an execution:"
    " it reaches the {limit} that it states in about {ahead} executions",
    "main memory grows by {rate} a minute: it reaches the {limit} that it states in about {ahead}",
    "main memory grows by {rate} an execution:"
    " it reaches the {limit} that this machine has for it in about {ahead} executions",
    "main memory grows by {rate} a minute:"
    " it reaches the {limit} that this machine has for it in about {ahead}",
    "GPU memory grows by {rate} an execution:"
    " it reaches the {limit} that it states in about {ahead} executions",
    "GPU memory grows by {rate} a minute: it reaches the {limit} that it states in about {ahead}",
    "GPU memory grows by {rate} an execution:"
    " it reaches the {limit} that the GPU has for it in about {ahead} executions",
    "GPU memory grows by {rate} a minute: it reaches the {limit} that the GPU has for it in about {ahead}",
    "it holds {held} of GPU memory and states {stated}: its worker is asked to empty its cache",
    "it holds {held} of GPU memory and states {stated}: it is no worker that could be asked",
    "this machine has {left} of main memory left, and no Step exceeds what it states",
    "this machine has {left} of main memory left: it holds {held} and states {stated}",
    "the GPU has {left} of memory left, and no Step exceeds what it states",
    "the GPU has {left} of memory left: it holds {held} and states {stated}",
    "{used} of {most} GPU-hours are used, and by its progress the run will take {expected}",
    "{used} of {most} GPU-hours are used, but by its progress the run is nearly done: it goes on",
    "{used} of {most} GPU-hours are used, and how far the run is is not known: it goes on",
    "{used} of {most} GPU-hours are used; the run was resumed all the same: it goes on",
    "max_gpu_hours is used up: {used} of {most} GPU-hours, and by its progress the run would take {expected}",
    "where GPUs wait for each other {remedy} may mend it: DSEC_STALL_REMEDY in its environment asks for that",
)


def recorded(text: str) -> str:
    """A reason as a journal keeps it, as a text that can be said in another language."""
    for template in _RECORDED:
        told = _read_back(template, text)
        if told is not None:
            return say(template, **told)
    return state(text)


def _read_back(template: str, text: str) -> dict[str, str] | None:
    """What stands in `text` for the names of the template; None: it is not made from that."""
    before, mark, rest = template.partition("{")
    if not text.startswith(before) or (not mark and text != template):
        return None
    told: dict[str, str] = {}
    left = text[len(before) :]
    while mark:
        name, _, rest = rest.partition("}")
        after, mark, rest = rest.partition("{")
        end = left.find(after) if mark else len(left) - len(after)
        if end < 1 or not left.startswith(after, end):
            return None
        told[name], left = left[:end], left[end + len(after) :]
    return told
