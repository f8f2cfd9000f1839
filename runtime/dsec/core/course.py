"""The list schedule of `machine` with everything that it counts: devices, tokens and resident workers, too.

In one loop, as a schedule is tried out some hundred times and a call per decision takes as long as the
decision. `machine` says what is decided and why.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush

from dsec.core.grants import NOT_ASKED
from dsec.core.pace import slowed
from dsec.core.trial import Run, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.grants import Group, State
    from dsec.core.machine import Machine
    from dsec.core.trial import Graph, Manner

_NONE: tuple[int, int, int, State] = (-1, 0, 0, ())
"""No reservation."""


def course(  # noqa: C901  # a call per Step and decision is what this spares
    machine: Machine, graph: Graph, order: Sequence[int], manner: Manner
) -> Run | None:
    """The schedule that `order` leads to; None as soon as it must end after the limit."""
    bucket_of, durations, cpus, memories = (
        machine.bucket_of,
        machine.durations,
        machine.cpus,
        machine.memories,
    )
    workers, devices, grants, speeds = (
        machine.workers,
        machine.devices,
        machine.grants,
        machine.grants.best_speeds,
    )
    successors, tails, waits = graph.successors, graph.tails, list(graph.waits)
    limit, quick, queued, choices = manner
    n, least = len(order), machine.least
    quicks = choices if choices is not None else [quick] * n
    answers = grants.answers(quick=False), grants.answers(quick=True)
    place_of, arrived = places(order), [step for step, count in enumerate(waits) if not count]
    buckets: list[list[int]] = [[] for _ in cpus]
    for at, step in enumerate(arrived):
        heappush(buckets[bucket_of[step]], at * n * queued + place_of[step])
    # The first of each bucket, in order, and whose it is: most are passed over for what their bucket needs.
    line = sorted([bucket[0] for bucket in buckets if bucket])
    whose = sorted(
        [number for number, bucket in enumerate(buckets) if bucket], key=lambda one: buckets[one][0]
    )
    before = len(arrived) * n * queued
    running: list[int] = []
    busy: set[str] = set()
    refused: set[int] = set()
    starts, ends, groups = [-1] * n, [0] * n, [None] * n  # type: list[int], list[int], list[Group | None]
    now, cpu, memory, state = 0, machine.cpu, machine.memory, grants.empty
    waiting, (until, cpu_then, memory_then, state_then) = -1, _NONE
    promised, cpu_first, memory_first, busy_first = -1, cpu, memory, busy
    while True:
        rest: Sequence[int] = ()
        if cpu >= least or waiting < 0:
            refused.clear()
            waiting, promised = -1, waiting
            cpu_first, memory_first, busy_first = cpu, memory, busy.copy()
            rest = whose
        while rest:
            for number in rest:
                needed, more = cpus[number], memories[number]
                if needed > cpu or more > memory:
                    if waiting >= 0:
                        continue
                    # What never fitted waits for room, not for its worker, that was free at first.
                    if workers[number] in busy and (
                        (needed <= cpu_first and more <= memory_first) or workers[number] in busy_first
                    ):
                        continue
                    waiting = order[buckets[number][0] % n]
                    if waiting != promised:
                        until = -1
                    if cpu < least:
                        rest = ()
                        break
                    continue
                kind = devices[number]
                if workers[number] in busy or kind in refused:
                    continue
                bucket = buckets[number]
                step = order[bucket[0] % n]
                end, after, group = now + durations[step], state, None
                if waiting >= 0 and 0 <= until < end and (needed > cpu_then or more > memory_then):
                    continue  # whatever its devices, it would take what is reserved
                if kind >= 0:
                    answer = answers[quicks[step]][number].get(state, NOT_ASKED)
                    if answer is NOT_ASKED:
                        answer = grants.ask(state, number, quick=quicks[step])
                    if answer is None:
                        refused.add(kind)
                        if waiting < 0:
                            waiting = step
                            if waiting != promised:
                                until = -1
                            if cpu < least:
                                rest = ()
                                break
                        continue
                    after, group = answer
                    if group.speed < speeds[number]:
                        end = now + slowed(durations[step], speeds[number], group.speed)
                if waiting < 0:
                    promised = -1
                else:
                    # Kept while the Step waits: until it starts, only what delays nothing starts, too.
                    if until < 0:
                        until, cpu_then, memory_then, state_then = _reserved(
                            machine, (running, groups), waiting, (cpu, memory, state), quick=quicks[waiting]
                        )
                    if end > until:
                        if needed > cpu_then or more > memory_then:
                            continue
                        if group is not None:
                            later = grants.take(state_then, number, group)
                            if later is None:
                                answer = grants.grant(state_then, number, quick=quicks[step])
                                if answer is None:
                                    continue
                                later, other = answer
                                taken = grants.take(state, number, other)
                                # What is kept free for another is no reason to put two on one device.
                                if taken is None or grants.shared(state, other) > grants.shared(state, group):
                                    continue
                                group = other
                                after = taken
                                end = now + slowed(durations[step], speeds[number], group.speed)
                            state_then = later
                        cpu_then -= needed
                        memory_then -= more
                if now + tails[step] > limit:
                    return None
                starts[step], ends[step] = now, end
                if group is not None:
                    groups[step], state = group, after
                cpu -= needed
                memory -= more
                if workers[number]:
                    busy.add(workers[number])
                heappush(running, end * n + step)
                heappop(bucket)
                at = whose.index(number)
                del line[at], whose[at]
                if bucket:
                    to = bisect_left(line, bucket[0], at)
                    line.insert(to, bucket[0])
                    whose.insert(to, number)
                rest = whose[at:] if cpu >= least or waiting < 0 else ()
                break
            else:
                break
        if not running:
            break
        now = running[0] // n
        later_than = (now + 1) * n
        while running and running[0] < later_than:
            step = heappop(running) % n
            number, group = bucket_of[step], groups[step]
            cpu += cpus[number]
            memory += memories[number]
            if group is not None:
                state = grants.release(state, number, group)
            if workers[number]:
                busy.discard(workers[number])
            for target in successors[step]:
                waits[target] = left = waits[target] - 1
                if not left:
                    number, entry = bucket_of[target], before + place_of[target]
                    bucket = buckets[number]
                    if not bucket or entry < bucket[0]:
                        if bucket:
                            at = whose.index(number)
                            del line[at], whose[at]
                        at = bisect_left(line, entry)
                        line.insert(at, entry)
                        whose.insert(at, number)
                    heappush(bucket, entry)
                    if queued:
                        arrived.append(target)
                        before += n
    if -1 in starts:
        raise AssertionError(
            "a Step fits no empty machine, or the graph has a circle: both are refused before"
        )
    return Run(now, starts, ends, groups, places(arrived) if queued else [])


def _reserved(
    machine: Machine,
    held: tuple[Sequence[int], Sequence[Group | None]],
    waiting: int,
    free: tuple[int, int, State],
    *,
    quick: bool,
) -> tuple[int, int, int, State]:
    """When the Step that waits will fit, as far as what runs now decides it, and what is then left."""
    bucket_of, cpus, memories, grants = machine.bucket_of, machine.cpus, machine.memories, machine.grants
    (running, groups), n, wanted = held, len(bucket_of), bucket_of[waiting]
    cpu, memory, state = free[0] - cpus[wanted], free[1] - memories[wanted], free[2]
    back: list[tuple[int, Group]] = []
    ends = sorted(running)
    last = len(ends) - 1
    for at, entry in enumerate(ends):
        step = entry % n
        number, group = bucket_of[step], groups[step]
        cpu += cpus[number]
        memory += memories[number]
        if group is not None:
            back.append((number, group))
        if cpu < 0 or memory < 0 or (at < last and ends[at + 1] // n == entry // n):
            continue
        if back:
            state = grants.release_all(state, back)
            back.clear()
        if machine.devices[wanted] >= 0:
            answer = grants.grant(state, wanted, quick=quick)
            if answer is None:
                continue
            state = answer[0]
        return entry // n, cpu, memory, state
    raise AssertionError("a Step fits no empty machine: this is refused before")
