"""The probes of one flow, made from this end."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from typing import Any

from dsec.codec import decode, encode
from dsec.interpreter import apart
from dsec.record import Record
from dsec_cli.netcheck.probe import find_probes
from dsec_cli.netcheck.readings import Bulk, Echo, Messages, Sizes, Stream
from dsec_cli.netcheck.wire import LineLost, Stalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec_cli.netcheck.line import Ask, Line
    from dsec_cli.netcheck.probe import Probe

_START_S = 20.0


class Measured(Record):
    """What was found of one flow; None: not measured, and `lost` may say why."""

    echo: Echo | None = None
    sizes: Sizes | None = None
    stream: Stream | None = None
    bulk: Bulk | None = None
    messages: Messages | None = None
    lost: str = ""
    """Why it ended before its end."""
    lost_hint: str = ""
    lost_at: str = ""
    """The probe during which it ended; "": before the first."""
    stalled: bool = False
    """Only data stood still: the other end is there."""


def measured(
    line: Line,
    ask: Ask,
    names: Sequence[str],
    *,
    token: bytes,
    port: int,
    tell: Callable[[str], object] = str,
) -> Measured:
    """All wanted probes in order; `tell` hears which one begins. What was found before a loss is kept."""
    found: dict[str, Any] = {}
    name = ""
    try:
        for probe in find_probes():
            if probe.name not in names:
                continue
            name = probe.name
            tell(name)
            if ask.streams > 1 and probe.combined is not None:
                found[name] = _by_several(probe, line, ask, token=token, port=port)
            else:
                found[name] = probe.measure(line, ask)
    except LineLost as problem:
        return Measured(
            **found,
            lost=problem.what,
            lost_hint=problem.hint,
            lost_at=name,
            stalled=isinstance(problem, Stalled),
        )
    except OSError as problem:
        return Measured(**found, lost=problem.strerror or str(problem), lost_at=name)
    return Measured(**found)


def told(found: Measured) -> dict[str, Any]:
    """As it travels and is stored."""
    document = encode(found)
    assert isinstance(document, dict)
    return document


def heard(document: dict[str, Any]) -> Measured:
    """What a peer measured."""
    return decode(Measured, document, where="the peer's answer")


def _by_several(probe: Probe, line: Line, ask: Ask, *, token: bytes, port: int) -> Any:
    """The probe by several processes at a time, each with its share of the rate, as one reading."""
    assert probe.combined is not None
    count = ask.streams
    share = ask._replace(
        streams=1,
        stream_bps=max(1, ask.stream_bps // count),
        per_1000s=max(1, ask.per_1000s // count) if ask.per_1000s else 0,
        connections=max(1, ask.connections // count),
    )
    job = {
        "host": line.peer,
        "port": port,
        "token": token.hex(),
        "probe": probe.name,
        "ask": share._asdict(),
        "path_bytes": line.path_bytes,
        "parent": os.getpid(),
    }
    workers: list[subprocess.Popen[str]] = []
    watch = threading.Timer(_START_S + ask.span_ms * 6 / 1000, _end, (workers,))
    try:
        workers.extend(_worker(job) for _ in range(count))
        watch.start()
        for worker in workers:
            _ready(worker)
        for worker in workers:
            _go(worker)
        rows = [_result(worker, probe) for worker in workers]
    finally:
        watch.cancel()
        _end(workers)
    return probe.combined(rows)


def _worker(job: dict[str, Any]) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        apart("dsec_cli.netcheck.worker"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,  # a terminal's Ctrl-C comes to this process alone, which ends them
    )
    assert worker.stdin is not None
    try:
        worker.stdin.write(json.dumps(job) + "\n")
        worker.stdin.flush()
    except BrokenPipeError:  # what it says, or does not, is heard below
        pass
    return worker


def _ready(worker: subprocess.Popen[str]) -> None:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if line != "ready\n":
        raise LineLost(f"a second connection to the peer failed: {line.strip() or 'its process ended'}")


def _go(worker: subprocess.Popen[str]) -> None:
    assert worker.stdin is not None
    try:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    except BrokenPipeError:
        raise LineLost("a process that measures ended") from None


def _result(worker: subprocess.Popen[str], probe: Probe) -> Any:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    try:
        answer = json.loads(line)
    except ValueError:
        raise LineLost("a process that measures ended") from None
    if "lost" in answer:
        raise LineLost(str(answer["lost"]))
    return decode(probe.reading, answer["reading"], where="a worker's reading")


def _end(workers: Sequence[subprocess.Popen[str]]) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.kill()
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
