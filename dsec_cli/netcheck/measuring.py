"""The probes of one flow, made from this end."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from functools import partial
from typing import Any

from dsec.codec import decode, encode
from dsec.interpreter import apart
from dsec.record import Record
from dsec_cli.netcheck.probe import find_probes
from dsec_cli.netcheck.readings import Bulk, Echo, Messages, Sizes, Stream
from dsec_cli.netcheck.wire import Blocked, LineLost, Stalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec_cli.netcheck.line import Ask, Line
    from dsec_cli.netcheck.probe import Probe

_START_S = 20.0
_OTHER = "use the same version of DSec on both ends"
_LONG_PATH = 100
"""Round trips that a probe may need beside its time."""
_LEAST_STREAM_BPS = 64_000
"""As the command line has it: below it a second holds too few packets to say anything of loss."""


class Measured(Record):
    """What was found of one flow; None: not measured, and `lost` may say why."""

    echo: Echo | None = None
    sizes: Sizes | None = None
    stream: Stream | None = None
    back: Stream | None = None
    bulk: Bulk | None = None
    messages: Messages | None = None
    lost: str = ""
    """Why it ended before its end."""
    lost_hint: str = ""
    lost_at: str = ""
    """The probe during which it ended; "": before the first."""
    stalled: bool = False
    """Only data stood still: the other end is there."""
    blocked: bool = False
    """Only connections for data cannot be made: a filter lets the control port through alone."""
    lost_here: bool = False
    """This host's own kernel refused."""


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
            once = partial(_once, probe, line, ask, token=token, port=port)
            found[name] = probe.repeated(once) if probe.repeated is not None else once()
    except LineLost as problem:
        return Measured(
            **found,
            lost=problem.what,
            lost_hint=problem.hint,
            lost_at=name,
            stalled=isinstance(problem, Stalled),
            blocked=isinstance(problem, Blocked),
        )
    except OSError as problem:
        return Measured(**found, lost=problem.strerror or str(problem), lost_at=name, lost_here=True)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        said = f"{type(problem).__name__}: {problem}"[:200]
        return Measured(**found, lost=f"its answer cannot be read ({said})", lost_hint=_OTHER, lost_at=name)
    return Measured(**found)


def _once(probe: Probe, line: Line, ask: Ask, *, token: bytes, port: int) -> Any:
    """One probe, by as many processes as its rate needs."""
    if probe.combined is None:
        return probe.measure(line, ask)
    if _processes(ask) > 1:
        return _by_several(probe, line, ask, token=token, port=port)
    return probe.combined((probe.measure(line, ask),))


def _processes(ask: Ask) -> int:
    """How many processes can share what is asked: each has at least one message, and a stream worth one."""
    most = max(1, ask.stream_bps // _LEAST_STREAM_BPS)
    return max(1, min(ask.streams, most, ask.per_1000s or ask.streams))


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
    count = _processes(ask)
    job = {
        "host": line.peer,
        "port": port,
        "token": token.hex(),
        "probe": probe.name,
        "path_bytes": line.path_bytes,
        "parent": os.getpid(),
    }
    jobs = [
        {**job, "ask": _share(ask, at, count)._asdict(), "rate_bps": max(1, line.limits.rate_bps // count)}
        for at in range(count)
    ]
    workers: list[subprocess.Popen[str]] = []
    watch = threading.Timer(_START_S + ask.span_ms * 6 / 1000 + _LONG_PATH * line.rtt_s, _end, (workers,))
    try:
        workers.extend(map(_worker, jobs))
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


def _share(ask: Ask, at: int, count: int) -> Ask:
    """What one of several processes does; all shares together are what is asked."""

    def part(whole: int) -> int:
        return (whole + at) // count

    return ask._replace(
        streams=1,
        stream_bps=part(ask.stream_bps),
        per_1000s=part(ask.per_1000s),
        connections=max(1, part(ask.connections)),
    )


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
