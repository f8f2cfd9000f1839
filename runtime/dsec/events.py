"""Events: all that a run can tell of itself, as values and as journal payloads.

`at_us` counts from the start of the executor that wrote the event (monotonic clock), so a jump
of the wall clock changes nothing; `RunStart.wall_ms` ties that start to the calendar.

Named tuples, not dataclasses: two are made per Step, and making a dozen dataclasses costs every run
10 ms of start.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring as quoted
from sys import intern

from dsec.errors import StoredFormError
from dsec.outcomes import CAUSES, NOTICES
from dsec.record import Record
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class RunStart(Record):
    """An executor took the run over; resuming appends another one."""

    at_us: int
    session: int
    """Executors of this run so far, this one included."""
    pid: int
    ticks: int
    """Start time of the executor in clock ticks since boot, as /proc/PID/stat has it."""
    boot: str
    wall_ms: int
    keep_going: bool


class Spawn(Record):
    """An attempt began, as a process of its own or (`worker` set) as a call to a worker."""

    at_us: int
    step: str
    iteration: int
    attempt: int
    pid: int
    ticks: int
    """Earliest possible start time of the process, in clock ticks since boot."""
    ticks_by: int
    """Latest possible start time."""
    devices: tuple[str, ...]
    log: str
    """Relative to the run's folder."""
    worker: str


class Exit(Record):
    """An attempt ended and nothing of it is left running."""

    at_us: int
    step: str
    iteration: int
    attempt: int
    cause: str
    """One of `outcomes.CAUSES`; `ok` alone means success."""
    code: int | None
    signal: int | None
    detail: str
    """One line that names what the cause is about, or ""."""
    wall_us: int
    cpu_us: int | None
    """User and system time; None where it cannot be known (lost workers)."""
    rss_kb: int | None
    """Peak; None for calls, of which it is known per worker, and below what dsec itself takes."""
    log_from: int | None
    """Calls: bytes of the worker's log that belong to the attempt."""
    log_to: int | None
    result: str | None
    """Calls: what the function returned, as JSON."""


class Retry(Record):
    """A failed attempt will be followed by attempt number `attempt`."""

    at_us: int
    step: str
    iteration: int
    attempt: int
    delay_ms: int


class Drop(Record):
    """A discardable instance is given up; the run goes on without it."""

    at_us: int
    step: str
    iteration: int
    reason: str


class WorkerStart(Record):
    """A resident worker process was started."""

    at_us: int
    worker: str
    pid: int
    ticks: int
    ticks_by: int
    devices: tuple[str, ...]
    log: str


class WorkerStop(Record):
    """A resident worker process is gone."""

    at_us: int
    worker: str
    pid: int
    code: int | None
    signal: int | None
    cause: str
    """`done`, `evicted` (its devices were needed) or what went wrong."""
    cpu_us: int | None
    rss_kb: int | None


STANDING = ("frozen", "suspended")
"""How an attempt may be made to make room and live on."""


class Pause(Record):
    """An attempt was made to make room; what is `STANDING` lives on, else the instance starts again later."""

    at_us: int
    step: str
    iteration: int
    attempt: int
    how: str
    """`frozen`, `suspended` (its GPUs are lent), `saved` (by itself, then ended) or `killed`."""
    reason: str


class Continue(Record):
    """An attempt that stood still goes on."""

    at_us: int
    step: str
    iteration: int
    attempt: int


class Resize(Record):
    """An attempt goes on with other devices than it began with."""

    at_us: int
    step: str
    iteration: int
    attempt: int
    devices: tuple[str, ...]
    """All that it has now."""
    reason: str


class DeviceState(Record):
    """A device changed for the runtime."""

    at_us: int
    device: str
    """UUID."""
    state: str
    """`ok`, `dirty` (processes of an ended attempt hold it), `hot`, `failing` or `lost`."""
    reason: str


class Notice(Record):
    """Something that was seen and that people should know of."""

    at_us: int
    kind: str
    """One of `outcomes.NOTICES`."""
    step: str
    """"" where no Step is meant; the iteration is then -1."""
    iteration: int
    device: str
    """UUID, or ""."""
    detail: str


class Cancel(Record):
    """The run was asked to end early."""

    at_us: int
    reason: str
    """`interrupted`, `terminated`, `hung-up` or `cancelled`."""


class RunEnd(Record):
    """The executor closed the journal."""

    at_us: int
    outcome: str
    """`succeeded`, `failed`, `interrupted`, `cancelled` or `stopped` (it could not go on)."""
    detail: str


Event = (
    RunStart
    | Spawn
    | Exit
    | Retry
    | Drop
    | WorkerStart
    | WorkerStop
    | Pause
    | Continue
    | Resize
    | DeviceState
    | Notice
    | Cancel
    | RunEnd
)

_NAMES: dict[type[Event], str] = {
    RunStart: "run-start",
    Spawn: "spawn",
    Exit: "exit",
    Retry: "retry",
    Drop: "drop",
    WorkerStart: "worker-start",
    WorkerStop: "worker-stop",
    Pause: "pause",
    Continue: "continue",
    Resize: "resize",
    DeviceState: "device",
    Notice: "notice",
    Cancel: "cancel",
    RunEnd: "run-end",
}
_KINDS = {name: kind for kind, name in _NAMES.items()}
_FIELDS = {kind: frozenset(kind._fields) for kind in _KINDS.values()}


def name(event: Event) -> str:
    """The event's name in the journal: `worker-start`."""
    return _NAMES[type(event)]


def encode(event: Event) -> str:
    """The event as one line of JSON."""
    written = WRITTEN_OUT.get(type(event))
    if written is not None:
        return written(event)
    data: dict[str, object] = {"event": name(event)}
    data.update((field, getattr(event, field)) for field in event._fields)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _encode_spawn(event: Spawn) -> str:
    # Written out: these two are the executor's hot path (json.dumps: 4 x the time).
    at_us, step, iteration, attempt, pid, ticks, ticks_by, devices, log, worker = event
    held = ",".join(map(quoted, devices)) if devices else ""
    return (
        f'{{"event":"spawn","step":{quoted(step)},"iteration":{iteration},"attempt":{attempt},'
        f'"pid":{pid},"at_us":{at_us},"ticks":{ticks},"ticks_by":{ticks_by},'
        f'"devices":[{held}],"log":{quoted(log)},"worker":{quoted(worker)}}}'
    )


def _encode_exit(event: Exit) -> str:
    at_us, step, iteration, attempt, cause, code, number, detail, wall_us, cpu_us, rss_kb, *call = event
    begin, end, result = call
    given = "" if code is None else f',"code":{code}'
    if number is not None:
        given += f',"signal":{number}'
    if cpu_us is not None:
        given += f',"cpu_us":{cpu_us}'
    if rss_kb is not None:
        given += f',"rss_kb":{rss_kb}'
    if begin is not None:
        given += f',"log_from":{begin}'
    if end is not None:
        given += f',"log_to":{end}'
    if result is not None:
        given += f',"result":{result}'
    told = quoted(detail) if detail else '""'
    return (
        f'{{"event":"exit","step":{quoted(step)},"iteration":{iteration},"attempt":{attempt},'
        f'"cause":"{cause}","at_us":{at_us},"wall_us":{wall_us}{given},'
        f'"detail":{told}}}'
    )


WRITTEN_OUT: dict[type[Event], Callable[[Any], str]] = {Spawn: _encode_spawn, Exit: _encode_exit}
"""What encodes events of these kinds, for who makes thousands of them."""


_LEFT_OUT = dict.fromkeys(("code", "signal", "cpu_us", "rss_kb", "log_from", "log_to", "result"))
"""What an exit's record leaves out where it is not known."""


_TEXT = r'"([^"\\\x00-\x1f]*)"'
_AS_SPAWNED = (
    rf'{{"event":"spawn","step":{_TEXT},"iteration":(\d+),"attempt":(\d+),"pid":(\d+),"at_us":(\d+),'
    rf'"ticks":(\d+),"ticks_by":(\d+),"devices":\[\],"log":{_TEXT},"worker":{_TEXT}}}'
)
_AS_ENDED = (
    rf'{{"event":"exit","step":{_TEXT},"iteration":(\d+),"attempt":(\d+),"cause":{_TEXT},"at_us":(\d+),'
    rf'"wall_us":(\d+)(?:,"code":(\d+))?(?:,"cpu_us":(\d+))?(?:,"rss_kb":(\d+))?,"detail":{_TEXT}}}'
)
"""What most records of a long journal look like; reading them so takes a quarter of the time."""
_FORMS: list[re.Pattern[str]] = []
"""Both, compiled with the first record that is read: a new run reads none."""


def _decode_plain(payload: str) -> Event | None:
    """The event of a payload in one of the two common forms; None: it is of another."""
    if not _FORMS:
        _FORMS.extend(re.compile(form, re.ASCII) for form in (_AS_SPAWNED, _AS_ENDED))
    spawned, ended = _FORMS
    found = ended.fullmatch(payload)
    if found is not None and found[4] in _CAUSES:
        step, iteration, attempt, cause, at_us, wall_us, code, cpu_us, rss_kb, detail = found.groups()
        return Exit(
            int(at_us),
            intern(step),
            int(iteration),
            int(attempt),
            intern(cause),
            None if code is None else int(code),
            None,
            detail,
            int(wall_us),
            None if cpu_us is None else int(cpu_us),
            None if rss_kb is None else int(rss_kb),
            None,
            None,
            None,
        )
    found = spawned.fullmatch(payload)
    if found is None:
        return None
    step, iteration, attempt, pid, at_us, ticks, by, log, worker = found.groups()
    numbers = (int(iteration), int(attempt), int(pid), int(ticks), int(by))
    return Spawn(int(at_us), intern(step), *numbers, (), log, worker)


def decode(payload: str) -> Event:
    """The event of a journal payload; raises StoredFormError in words."""
    plain = _decode_plain(payload)
    if plain is not None:
        return plain
    data = parsed(payload)
    named = data.pop("event", None)
    kind = _KINDS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise StoredFormError(
            say("the journal holds a record of an unknown kind: {payload}", payload=payload[:60]),
            hint="it may have been written by a newer dsec; use that version",
        )
    if kind is Exit:
        if "result" in data:
            data["result"] = json.dumps(data["result"], ensure_ascii=False, separators=(",", ":"))
        data = _LEFT_OUT | data
    if data.keys() != _FIELDS[kind]:
        odd = sorted(set(data) ^ _FIELDS[kind])[0]
        raise StoredFormError(
            say("a {names} record of the journal has or lacks {odd!r}", names=_NAMES[kind], odd=odd),
            hint="it may have been written by a newer dsec; use that version",
        )
    _check(kind, data)
    if "devices" in data:
        data["devices"] = tuple(data["devices"])
    return kind(**data)


def parsed(payload: str) -> dict[str, Any]:
    """The object that a payload is; raises StoredFormError where it is none."""
    try:
        data = json.loads(payload)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise StoredFormError(
            say("the journal holds a record that is no JSON object: {payload}", payload=payload[:60]),
            hint="restore the file, or run the job anew under another job id",
        )
    return data


def _check(kind: type[Event], data: dict[str, Any]) -> None:
    """Refuse a value of another type than its field's, or one that its closed list does not have."""
    for field, of in kind.__annotations__.items():
        value, known = data[field], _CLOSED.get((kind, field))
        if not fits(value, of) or (known is not None and value not in known):
            raise StoredFormError(
                say(
                    "a {names} record of the journal has an unknown {field}: {value}",
                    names=_NAMES[kind],
                    field=field,
                    value=repr(value)[:60],
                ),
                hint="it may have been written by a newer dsec; use that version",
            )


def fits(value: object, of: str) -> bool:
    """Whether a value read from JSON is of the type that an annotation names."""
    if of.startswith("tuple["):
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if value is None:
        return of.endswith(" | None")
    wanted = {"int": int, "str": str, "bool": bool}[of.removesuffix(" | None")]
    return type(value) is wanted and (wanted is not int or -_MOST <= value <= _MOST)  # type: ignore[operator]


_MOST = 2**63
_CAUSES = frozenset(CAUSES)
_CLOSED: dict[tuple[type[Event], str], frozenset[str]] = {
    (Exit, "cause"): _CAUSES,
    (Pause, "how"): frozenset(("frozen", "suspended", "saved", "killed")),
    (DeviceState, "state"): frozenset(("ok", "dirty", "hot", "failing", "lost")),
    (Notice, "kind"): frozenset(NOTICES),
    (Cancel, "reason"): frozenset(("interrupted", "terminated", "hung-up", "cancelled")),
    (RunEnd, "outcome"): frozenset(("succeeded", "failed", "interrupted", "cancelled", "stopped")),
}
"""Fields that hold one word of a closed list."""
