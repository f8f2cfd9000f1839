"""Metrics of a run for Prometheus: what the command line asks for, and the process that shows them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

from dsec.errors import FileProblem
from dsec.outrider import Outrider, start
from dsec_cli.exit import UsageError
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from dsec.plan import Plan
    from dsec.rundir import RunDir
    from dsec_cli.options import Args

_END_S = 5.0
"""How long the last file is waited for."""
_STARTS = 4
"""A process that died is started anew, up to so many in all."""


class Exporting:
    """A place that metrics will be shown at, and then the process that shows them."""

    what = "metrics"
    after_s = 0.0

    def __init__(self, file: str, sock: socket.socket | None, *, compat: bool) -> None:
        self._file = file
        self._sock = sock
        """Kept open: who scrapes while the process is started anew waits for it."""
        self._compat = compat
        self._pipe = -1
        self._pid = 0
        self._starts = 0
        self._run: RunDir | None = None
        self._plan: Plan | None = None

    @property
    def address(self) -> str:
        """Where to scrape; "": nowhere."""
        if self._sock is None:
            return ""
        host, port = self._sock.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"

    def begin(self, run: RunDir, plan: Plan) -> None:
        """Start the process; a run goes on without it where it cannot be started."""
        self._run, self._plan = run, plan
        self._start(run)

    def pid(self) -> int:
        """The process; 0: there is none."""
        return self._pid

    def again(self) -> int:
        """Start it anew, at the same place; 0: it has died too often."""
        if self._run is None or self._starts >= _STARTS:
            return 0
        self._start(self._run)
        return self._pid

    def _start(self, run: RunDir) -> None:
        told = (run.job, run.path, self._file, str(int(self._compat)), str(int(self._sock is not None)))
        self._starts += 1
        self._close_pipe()
        read, self._pipe = os.pipe()
        handles = (read,) if self._sock is None else (read, self._sock.fileno())
        what = Outrider("dsec.exporter", "dsec-metrics", told, f"{run.path}/exporter.log", handles)
        try:
            self._pid = start(what, os.environb, plan=self._plan)
        except OSError as problem:
            self._pid = 0
            sys.stderr.write(f"warning: no metrics: {problem.strerror}\n")
        finally:
            os.close(read)

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def end(self) -> None:
        """The run is over: let the process write its last file, and end it where it does not."""
        self._close_pipe()
        if self._sock is not None:
            self._sock.close()
        until = time.monotonic() + _END_S
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            while self._pid and os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > until:
                    os.kill(self._pid, signal.SIGKILL)
                time.sleep(0.01)


def exporting(args: Args) -> Exporting | None:
    """What the command line asks for; refuses, before anything runs, what cannot be."""
    if args.metrics_port is None and args.metrics_file is None:
        if args.metric_compat:
            raise UsageError(
                say("--metric-compat names no place for metrics"), hint="add --metrics-port or --metrics-file"
            )
        return None
    file = _file(args.metrics_file) if args.metrics_file is not None else ""
    sock = _socket(args.metrics_port) if args.metrics_port is not None else None
    return Exporting(file, sock, compat=args.metric_compat)


def _file(path: str) -> str:
    whole = os.path.abspath(path)
    folder = os.path.dirname(whole)
    if os.path.isdir(whole):
        raise FileProblem(say("{path} is a folder", path=path), hint="name a file in it: dsec.prom")
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise FileProblem(say("{path}: nothing can be written into {folder}", path=path, folder=folder))
    return whole


def _socket(place: str) -> socket.socket:
    import socket

    host, _, port = place.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(
            say("{place!r} is no port to serve metrics on", place=place),
            hint="a number to 65535 (0: a free one), or ADDRESS:PORT",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, int(port)))
        sock.listen(16)
    except OSError as problem:
        sock.close()
        raise FileProblem(
            say("metrics cannot be served on {place}: {why}", place=place, why=system(problem)),
            hint="take another port, or 0 for a free one",
        ) from None
    return sock
