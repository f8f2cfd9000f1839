"""What a run has behind it when another executor takes it over.

An instance is finished when its exit 0 is in the journal, its Step's key is the plan's (the journal
names the plan by its hash, which covers every key) and its declared outputs exist. Outputs are
looked for as far back as an unfinished iteration reads; older ones belong to iterations that are
complete, and Steps may have cleared them away (a checkpoint rotation does).
"""

from __future__ import annotations

import gc
import os
import time

from dsec.attempts import Past
from dsec.core.calendar import trusted
from dsec.core.fold import Fold, RunState
from dsec.errors import PlanProblem, RunProblem
from dsec.events import decode
from dsec.journal import Header, read_header, walk
from dsec.record import Record
from dsec.rundir import never_began
from dsec.sweep import boot_id, look
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dsec.events import RunStart
    from dsec.plan import Plan, PlannedStep
    from dsec.rundir import RunDir


class Told(Record):
    """A journal, read."""

    header: Header
    fold: Fold
    """All events so far, ready to take more."""
    state: RunState
    good_bytes: int
    torn_bytes: int
    lost: int
    """Whole records behind a place that never reached the disk; they are not part of the run."""


def read_run(run: RunDir) -> Told:
    """The journal of the run; raises StoredFormError where it is damaged."""
    try:
        with open(run.journal, "rb") as file:
            data = file.read()
    except OSError as problem:
        raise RunProblem(say("{journal}: {why}", journal=run.journal, why=system(problem))) from None
    folding = Fold()
    first: list[str] = []
    headers: list[Header] = []

    def take(payload: str) -> None:
        if headers:
            folding.take(decode(payload))
        else:
            first.append(payload)
            headers.append(read_header(first, name=run.journal))

    collecting = gc.isenabled()
    gc.disable()  # nothing here is a circle; looking for some takes half of the time
    try:
        walked = walk(data, take, name=run.journal)
    finally:
        if collecting:
            gc.enable()
    if not headers and not walked.lost:
        raise never_began(run)
    header = headers[0] if headers else read_header([], name=run.journal)
    return Told(header, folding, folding.state(), *walked)


def past_of(plan: Plan, told: Told, *, logs: str, missing_output: Callable[[PlannedStep, int], str]) -> Past:
    """What need not be done again; `missing_output` gives the first declared output that is absent, or "".

    `logs`: the folder of the run's logs. An attempt whose executor was killed before its record has left one,
    and its number is not given to another.
    """
    if told.header.plan != plan.hash:
        raise PlanProblem(
            say("the plan of run {job} is not the one that it began with", job=told.header.job),
            hint="restore its plan.json, or start a new run",
        )
    number = {step.id: at for at, step in enumerate(plan.steps)}
    finished = _by_iteration(told.state.finished, number)
    dropped = _by_iteration(told.state.dropped, number)
    _distrust(plan, finished, dropped, missing_output)
    return Past(
        finished={iteration: frozenset(steps) for iteration, steps in finished.items() if steps},
        dropped={iteration: frozenset(steps) for iteration, steps in dropped.items() if steps},
        attempts=_attempts(told.state.attempts, logs),
    )


def _attempts(recorded: Mapping[tuple[str, int], int], logs: str) -> dict[tuple[str, int], int]:
    """By instance the highest number of an attempt, in the journal or among the logs."""
    highest = dict(recorded)
    try:
        names = os.listdir(logs)
    except OSError:
        return highest
    for name in names:
        stem, _, number = name.removesuffix(".log").rpartition(".")
        step, _, iteration = stem.rpartition("@")
        if step and iteration.isdecimal() and number.isdecimal() and name.endswith(".log"):
            instance = (step, int(iteration))
            highest[instance] = max(highest.get(instance, 0), int(number))
    return highest


def _by_iteration(instances: Iterable[tuple[str, int]], number: dict[str, int]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for step, iteration in instances:
        found.setdefault(iteration, set()).add(number[step])
    return found


def _distrust(
    plan: Plan,
    finished: dict[int, set[int]],
    dropped: dict[int, set[int]],
    missing_output: Callable[[PlannedStep, int], str],
) -> None:
    """Take back what lost its outputs, as far back as something unfinished may read."""
    reach = max(
        (1 + edge.staleness for step in plan.steps for edge in step.needs if edge.kind == "carried"),
        default=0,
    )
    none: set[int] = set()

    def left(iteration: int) -> bool:
        return len(finished.get(iteration, none)) + len(dropped.get(iteration, none)) < len(plan.steps)

    base = next(
        (iteration for iteration in range(plan.iterations.count) if left(iteration)), plan.iterations.count
    )
    lowest = max(0, min(base, plan.iterations.count - 1) - reach)
    iteration = max(finished, default=-1)
    while iteration >= lowest:
        gone = {at for at in finished.get(iteration, none) if missing_output(plan.steps[at], iteration)}
        if gone:
            finished[iteration] -= gone
            lowest = max(0, min(lowest, iteration - reach))
        iteration -= 1


def holder(run: RunDir) -> str:
    """Who carries the run out now, in words."""
    if pid := locked_by(run.journal):
        return f"process {pid}"
    try:
        told = read_run(run)
    except (RunProblem, PlanProblem):
        return "another process"
    session = told.state.sessions[-1] if told.state.sessions else None
    return f"process {session.pid}" if session and executor_lives(session) else "another process"


def locked_by(path: str) -> int:
    """The process that holds a lock on the file, as far as the kernel tells; 0: none is known.

    Who has just begun, or waits for an earlier warden, is in no journal yet.
    """
    try:
        inode = os.stat(path).st_ino
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except (OSError, ValueError):
        return 0
    # As in `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`; a row of who waits has an arrow in it.
    pids = [
        int(row[4])
        for row in rows
        if len(row) > 5 and row[1] == "FLOCK" and row[5].rpartition(":")[2] == str(inode)
    ]
    return next((pid for pid in pids if pid > 0 and look(pid) is not None), 0)


def is_alive(told: Told) -> bool:
    """Whether the executor that wrote last is still there."""
    session = told.state.sessions[-1] if told.state.sessions else None
    return session is not None and told.state.end is None and executor_lives(session)


def running_us(session: RunStart) -> int:
    """For how long the living executor of this session has run."""
    by_calendar = time.time_ns() // 1000 - session.wall_ms * 1000
    ticks_us = 1_000_000 * session.ticks // os.sysconf("SC_CLK_TCK")
    return max(0, trusted(by_calendar, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000 - ticks_us))


def executor_lives(session: RunStart) -> bool:
    """Whether the process that began this session is still there."""
    if session.boot != boot_id():
        return False
    process = look(session.pid)
    return (
        process is not None
        and not process.zombie
        and process.ticks == session.ticks
        and session.pid != os.getpid()
    )
