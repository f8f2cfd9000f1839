"""A plugin in a process of its own, as its user sees it: bytes in, bytes out, or why not."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import NamedTuple

from dsec.interpreter import APART
from dsec.plugins import frames
from dsec.plugins.grants import Grants
from dsec.plugins.limits import DEFAULTS
from dsec.plugins.output import Output
from dsec.plugins.sealed import sealed_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from dsec.plugins.host import main; "
    "main(*map(int, sys.argv[2:]))"
)
_START_S = 20.0
_END_S = 2.0
_WITHOUT_MEMORY = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGTRAP, signal.SIGILL)
"""How programs end that did not look whether they got the memory they asked for."""


class PluginError(Exception):
    """The plugin could not be started, failed, or was ended; the text says why."""


class Terms(NamedTuple):
    """What a plugin is, and what it is given."""

    images: tuple[bytes, ...]
    """The libraries that it brings along, those that need no others first, and the shared object itself."""
    calls: tuple[int, ...]
    """Numbers of the system calls that it may make."""
    grants: Grants = Grants()
    landlock: bool = True
    """Whether files are guarded; False only where the user has said so."""
    namespaces: bool = True
    """Whether it gets namespaces of its own where the machine has any for us."""
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Handed to the plugin when it is set up."""
    limits: dict[str, int] = DEFAULTS
    """What it may take of the machine, by the names of `limits`."""


class PluginProcess:
    """One running plugin; not to be used from two threads at once."""

    def __init__(self, terms: Terms, *, log: int | None = None) -> None:
        """Start it; raises PluginError. `log`: where what it prints goes, cleaned; None: nowhere."""
        mine, theirs = socket.socketpair()
        self._link = mine
        self._limits = terms.limits
        self._output = Output(log) if log is not None else None
        out = subprocess.DEVNULL if self._output is None else self._output.writing
        images = [sealed_copy(data) for data in terms.images]
        try:
            with theirs:
                handles = (theirs.fileno(), *images)
                self._process = subprocess.Popen(
                    [sys.executable, *APART, _CODE, _ROOT, *map(str, handles)],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    pass_fds=handles,
                    env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
                    cwd="/",
                    start_new_session=True,  # so that it has no controlling terminal
                )
        finally:
            for handle in images:
                os.close(handle)
            if self._output is not None:
                self._output.begin()
        self.facts = self._started(terms)
        """What the plugin says of itself (`name`, `version`) and what isolates it."""

    def _started(self, terms: Terms) -> dict[str, Any]:
        self._link.settimeout(_START_S)
        until = time.monotonic() + _START_S
        held = {**terms._asdict(), "grants": terms.grants._asdict()}
        del held["images"]
        self._send(frames.CONFIG, json.dumps(held).encode())
        kind, data = self._receive("while it was started", until)
        if kind != frames.READY:
            self.close()
            raise PluginError(data.decode("utf-8", "replace"))
        return self._facts(data)

    def _facts(self, data: bytes) -> dict[str, Any]:
        """What it says that it is; the plugin has the line, too, and may have written this."""
        try:
            held = json.loads(data)
        except (ValueError, RecursionError):
            held = None
        if not isinstance(held, dict) or not isinstance(held.get("name"), str):
            self._kill()
            raise PluginError("it broke the line: it does not say who it is")
        return held

    def call(self, data: bytes, *, timeout_s: float | None = None) -> bytes:
        """The plugin's answer; raises PluginError when it fails, is killed, or takes longer."""
        if self._link.fileno() < 0:
            raise PluginError("it has ended already")
        until = None if timeout_s is None else time.monotonic() + timeout_s
        self._link.settimeout(timeout_s)
        self._send(frames.CALL, data)
        kind, answer = self._receive("while it answered", until)
        if kind != frames.ANSWER:
            raise PluginError(answer.decode("utf-8", "replace"))
        return answer

    def _send(self, kind: int, data: bytes) -> None:
        try:
            frames.send(self._link, kind, data)
        except TimeoutError:
            self._kill()
            raise PluginError("it took too long and was ended") from None
        except OSError:
            self._ended("before it was called")

    def _receive(self, when: str, until: float | None) -> tuple[int, bytes]:
        try:
            frame = frames.receive(self._link, until=until)
        except TimeoutError:
            self._kill()
            raise PluginError("it took too long and was ended") from None
        except (ValueError, OSError) as problem:
            self._kill()
            raise PluginError(f"it broke the line: {problem}") from None
        if frame is None:
            self._ended(when)
        assert frame is not None
        return frame

    def _kill(self) -> None:
        self._link.close()
        self._process.kill()
        self._wait()

    def _wait(self) -> int:
        """Its exit code; what it had printed is out when this returns."""
        code = self._process.wait()
        if self._output is not None:
            self._output.end()
        return code

    def _ended(self, when: str) -> None:
        """Say how the process ended."""
        self._link.close()
        code = self._last()
        if code == -signal.SIGSYS:
            raise PluginError(f"it was killed {when}: it made a system call that its scan does not have")
        if code == -signal.SIGXCPU and "cpu_s" in self._limits:
            most = self._limits["cpu_s"]
            raise PluginError(f"it was killed {when}: its {most} s of processor time are used up (--cpu)")
        if code < 0:
            memory = self._limits.get("memory") if -code in _WITHOUT_MEMORY else None
            more = "" if memory is None else f"; it may have {memory >> 20} MiB of memory (--memory)"
            raise PluginError(f"it was killed {when} by {_signal(-code)}{more}")
        raise PluginError(f"it ended {when} with exit code {code}")

    def close(self) -> int:
        """End it; gives its exit code."""
        with contextlib.suppress(OSError):  # it is gone already
            frames.send(self._link, frames.END, b"")
        self._link.close()
        return self._last()

    def _last(self) -> int:
        """Its exit code, soon."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._process.kill()
        return self._wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _signal(number: int) -> str:
    """A signal's name; most of those of real time have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
