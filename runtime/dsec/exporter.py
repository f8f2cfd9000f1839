"""The exporter: a process beside a run that shows it to Prometheus, over HTTP and as a text file.

It reads what the run writes anyway (journal, audit, signs of the Steps), so the executor pays
nothing for it; it looks when it is asked, and for the file every ten seconds. It ends when the
executor closes its end of the pipe, after a last file.
"""

from __future__ import annotations

import os
import re
import select
import sys
import threading
import time

from dsec.auditfile import FORMAT as AUDIT
from dsec.core.exposition import MOST_NAMES, Moment, Said, render
from dsec.core.totals import Totals
from dsec.errors import DSecError
from dsec.metricsfile import read_told
from dsec.record import Record
from dsec.tail import Tail
from dsec.wholefile import write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from dsec.plan import Plan

FILE_EVERY_S = 10.0
KIND = "text/plain; version=0.0.4; charset=utf-8"
_LATEST_BYTES = 256 * 1024
"""The last sample is looked for in so much of the audit file's end."""
_STALE_S = 120.0
"""A sample this old (or three times as old as samples come) says nothing of now."""
_TOOL = re.compile(r"tool[_/](.+?)[_/]latency_(ms|s|seconds)")


class Task(Record):
    """What the executor's side says when it starts an exporter."""

    job: str
    run_dir: str
    file: str
    """Text file to keep, or ""."""
    compat: bool
    """With the metrics under the names of the design document, too."""


class Exporter:
    """One run, as text, whenever it is asked for."""

    def __init__(self, task: Task, plan: Plan | None = None) -> None:
        """`plan`: where it was read already."""
        self._task = task
        self._plan = plan or _plan(f"{task.run_dir}/plan.json")
        self._tail = Tail(f"{task.run_dir}/journal")
        self._totals = Totals(self._plan)
        self._signs = _Signs(f"{task.run_dir}/metrics")
        self._lock = threading.Lock()
        self.executor_gone = False

    def text(self) -> str:
        """The run as it is now."""
        with self._lock:
            self._read()
            session = self._totals.session.session if self._totals.session else 0
            return render(
                self._plan,
                self._totals,
                Moment(
                    self._task.job,
                    latest_sample(f"{self._task.run_dir}/audit", session=session),
                    self._signs.read(),
                    self.executor_gone,
                ),
                compat=self._task.compat,
            )

    def _read(self) -> None:
        for _ in range(2):
            try:
                events = self._tail.events()
            except (OSError, DSecError) as problem:
                _complain(str(problem))
                return
            if events is not None:
                for event in events:
                    self._totals.take(event)
                return
            self._totals = Totals(self._plan)

    def keep_file(self) -> None:
        """Replace the text file; where that fails the old one stays, and the next try may succeed."""
        try:
            write_whole(self._task.file, [self.text().encode()], durable=False)
        except OSError as problem:
            _complain(f"{self._task.file}: {problem.strerror}")


class _Signs:
    """What Steps told of themselves, read on from where it ended the last time."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}
        self._latest: dict[tuple[str, str], float] = {}
        self._calls: dict[str, tuple[int, float]] = {}

    def read(self) -> Said:
        try:
            entries = sorted(os.scandir(self._folder), key=lambda entry: entry.name)
        except OSError:
            entries = []
        for entry in entries:
            offset = self._read.get(entry.name, 0)
            if entry.name.endswith(".jsonl") and entry.stat().st_size > offset:
                self._take(entry.name, entry.path, offset)
        return Said(dict(self._latest), dict(self._calls))

    def _take(self, name: str, path: str, offset: int) -> None:
        step = name.rsplit("@", 1)[0]
        while True:
            told, end = read_told(path, offset)
            for sign in told:
                for key, value in sign.metrics.items():
                    self._note(step, key, value)
            if end == offset:
                break
            offset = end
        self._read[name] = offset

    def _note(self, step: str, name: str, value: float) -> None:
        tool = _TOOL.fullmatch(name)
        if tool is None:
            if (step, name) in self._latest or len(self._latest) < MOST_NAMES:
                self._latest[step, name] = value
            return
        if value - value or (tool[1] not in self._calls and len(self._calls) >= MOST_NAMES):
            return  # NaN or infinite: no time that a call took
        count, seconds = self._calls.get(tool[1], (0, 0.0))
        self._calls[tool[1]] = (count + 1, seconds + (value / 1000 if tool[2] == "ms" else value))


def latest_sample(path: str, *, session: int) -> dict[str, Any] | None:
    """The last whole sample of this executor, None where there is none or it is too old."""
    import json

    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            file.seek(max(0, status.st_size - _LATEST_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return None
    if time.time() - status.st_mtime > max(_STALE_S, 3 * _audit_s()):
        return None
    for line in reversed(lines):
        try:
            sample = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(sample, dict) and sample.get("format", AUDIT) == AUDIT:
            return sample if sample.get("session") == session else None
    return None


def _audit_s() -> float:
    try:
        return float(os.environ.get("DSEC_AUDIT_S", "30"))
    except ValueError:
        return 30.0


def _plan(path: str) -> Plan:
    from dsec.quickplan import parse_plan

    with open(path, "rb") as file:
        return parse_plan(file.read(), name=path)


def _complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def is_meant(host: str | None, bound: str) -> bool:
    """Whether a request's Host may be answered by a server that is bound to this address.

    A page in the user's browser reaches what is served on this machine by a name of its own that it lets
    lead here, and then reads the answer. The browser sends that name; programs may send none.
    """
    if not _is_loopback(bound) or host is None:
        return True
    name = host.strip().lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    return name.rstrip(".") == "localhost" or _is_loopback(name)


def _is_loopback(address: str) -> bool:
    import ipaddress

    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


def serve(exporter: Exporter, sock: socket.socket) -> None:
    """Answer requests on a bound socket, in threads of their own, for as long as this process lives."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    bound = str(sock.getsockname()[0])

    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if not is_meant(self.headers.get("Host"), bound):
                self.send_error(403, "this is served to this machine only, under the name localhost")
                return
            if path not in ("/", "/metrics"):
                self.send_error(404)
                return
            body = exporter.text().encode() if path == "/metrics" else b"metrics of a dsec run: /metrics\n"
            self.send_response(200)
            self.send_header("Content-Type", KIND)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002, ARG002 - the library's names
            return

    server = ThreadingHTTPServer(("", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = sock
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main(argv: list[str], plan: Plan | None = None) -> int:
    """`JOB RUN_DIR FILE COMPAT SERVE`; descriptor 3: the executor's pipe, 4: a socket to serve on."""
    job, run_dir, file, compat, served = argv
    exporter = Exporter(Task(job, run_dir, file, compat == "1"), plan)
    if served == "1":
        import socket

        sock = socket.socket(fileno=4)
        sock.listen(16)
        serve(exporter, sock)
    while True:
        if file:
            exporter.keep_file()
        ready, _, _ = select.select([3], [], [], FILE_EVERY_S if file else None)
        if ready:
            exporter.executor_gone = True
            if file:
                exporter.keep_file()
            return 0
