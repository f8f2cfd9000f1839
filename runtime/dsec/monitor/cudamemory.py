"""Moves what processes hold on GPUs to main memory and back, with NVIDIA's `cuda-checkpoint`. Experimental.

It is there when the program is on PATH and the driver is 550 or later; DSEC_CUDA_CHECKPOINT=off forbids
it. That the memory is free is believed only when the driver names none of the processes any more.
"""

from __future__ import annotations

from dsec import sweep
from dsec.devices import host
from dsec.easing import size
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from dsec.monitor.scene import Tell

    Holders: TypeAlias = Callable[[str], Mapping[int, int | None] | None]
    """Who holds a device, by UUID; None: the driver does not say."""

PROGRAM = "cuda-checkpoint"
LEAST_DRIVER = 550
MOST_S = 120.0
"""The program copies up to a whole GPU; one that takes longer has failed."""
_VERIFY_S = 10.0
"""The driver lets go after the program has ended."""


def program(environ: Mapping[str, str], driver: str) -> str:
    """Where the program is; "": it cannot be used."""
    major = driver.partition(".")[0]
    if environ.get("DSEC_CUDA_CHECKPOINT", "") == "off" or not major.isdecimal() or int(major) < LEAST_DRIVER:
        return ""
    import shutil  # most machines are asked for no more than their driver

    return shutil.which(PROGRAM, path=environ.get("PATH")) or ""


class Asked(Record):
    """What the executor wants."""

    token: int
    pids: tuple[int, ...]
    devices: tuple[str, ...]
    back: bool
    """To the GPUs again; else away from them."""
    begun_s: float


class _Move:
    """One request under way."""

    def __init__(self, asked: Asked, command: str) -> None:
        self.asked = asked
        self._command = command
        self.why = ""
        """Why it failed."""
        self._undoing = False
        self._toggled: list[int] = []
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._toggle(asked.pids)

    def _toggle(self, pids: Sequence[int]) -> None:
        import subprocess

        for pid in pids:
            try:
                self._running[pid] = subprocess.Popen(
                    [self._command, "--toggle", "--pid", str(pid)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                )
            except OSError as problem:
                self.why = self.why or f"{PROGRAM}: {problem.strerror}"

    def look(self, now_s: float, held: Holders) -> bool | None:
        """True: done; False: failed, and all is as before; None: it goes on. Raises _LostError."""
        if not self._ended(now_s - self.asked.begun_s):
            return None
        if self._undoing:
            return False
        if self.why:
            return self._undone()
        if self.asked.back:
            return True
        left = [uuid for uuid in self.asked.devices if set(held(uuid) or ()) & set(self.asked.pids)]
        if left and now_s - self.asked.begun_s > _VERIFY_S:
            self.why = f"GPU {left[0]} is still held after {PROGRAM} had ended"
            return self._undone()
        return None if left else True

    def _ended(self, took_s: float) -> bool:
        """Whether no program runs; a failure of one is noted."""
        for pid, one in list(self._running.items()):
            if one.poll() is None:
                if took_s <= MOST_S:
                    continue
                one.kill()
                one.wait()
                _said(one)
                raise _LostError(f"{PROGRAM} did not end for process {pid} within {MOST_S:.0f} s")
            del self._running[pid]
            said = _said(one)
            if one.returncode == 0:
                self._toggled.append(pid)
            elif (there := sweep.look(pid)) is None or there.zombie:
                continue  # it ended meanwhile, and holds nothing
            elif pid in self._toggled:
                raise _LostError(f"{PROGRAM} cannot undo what it did to process {pid}")
            else:
                self.why = self.why or _why(pid, one.returncode, said)
        return not self._running

    def _undone(self) -> bool | None:
        """Toggle those back for which it went well."""
        if not self._toggled:
            return False
        self._undoing = True
        self._toggle(self._toggled)
        if len(self._running) < len(self._toggled):
            raise _LostError(f"{PROGRAM} cannot be started to undo what it did")
        return None


class _LostError(Exception):
    """Nobody knows what state the processes are in; caught by `CudaMemory`."""


class CudaMemory:
    """All requests of one run."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._moves: list[_Move] = []

    @property
    def pending(self) -> bool:
        """Whether a request is under way."""
        return bool(self._moves)

    def ask(self, asked: Asked) -> Tell | None:
        """Take a request up; an answer where it cannot be."""
        if not asked.pids:
            return told(asked.token, (), ok=False, why="the driver names no process of it")
        self._moves.append(_Move(asked, self._command))
        return None

    def look(self, now_s: float, held: Holders) -> list[Tell]:
        """Answers to what has come to its end."""
        answers: list[Tell] = []
        for move in list(self._moves):
            try:
                ok = move.look(now_s, held)
            except _LostError as problem:
                answers.append(told(move.asked.token, move.asked.pids, ok=None, why=str(problem)))
            else:
                if ok is None:
                    continue
                answers.append(told(move.asked.token, move.asked.pids, ok=ok, why=move.why))
            self._moves.remove(move)
        return answers


def members(devices: Sequence[str], mine: set[int], held: Holders) -> tuple[int, ...]:
    """Of an attempt's processes those that the driver knows on its devices."""
    return tuple(sorted({pid for uuid in devices for pid in held(uuid) or ()} & mine))


def no_room(devices: Sequence[str], pids: Sequence[int], held: Holders) -> str:
    """Why main memory cannot take what they hold; "": it can, or how much that is is not known."""
    by_device = [held(uuid) or {} for uuid in devices]
    amounts = [by_pid[pid] for by_pid in by_device for pid in pids if pid in by_pid]
    known = [one for one in amounts if one is not None]
    available = host.memory()
    if not known or available is None or sum(known) < available[1]:
        return ""
    return f"main memory has {size(available[1])} left, and it holds {size(sum(known))} on GPUs"


def told(token: int, pids: Sequence[int], *, ok: bool | None, why: str) -> Tell:
    """An answer; `ok` None: nobody knows what state the processes are in."""
    return {"tell": "cuda-memory", "token": token, "ok": ok, "why": why, "pids": tuple(pids)}


def _said(ended: subprocess.Popen[bytes]) -> bytes:
    if ended.stderr is None:
        return b""
    with ended.stderr as pipe:
        return pipe.read(64 * 1024)


def _why(pid: int, code: int, said: bytes) -> str:
    last = said.decode("utf-8", "replace").strip().splitlines()[-1:]
    how = f"exited with code {code}" if code >= 0 else f"was killed by signal {-code}"
    return f"{PROGRAM} {how} for process {pid}" + (f": {last[0][:200]}" if last else "")
