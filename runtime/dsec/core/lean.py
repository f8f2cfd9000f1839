"""The list schedule of `machine` where Steps take processors and memory and nothing else.

The same decisions in the same order, without a call per Step: most large graphs are such, and half
of what planning them took was this. `machine` says what is decided and why.
"""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace

from dsec.core.trial import NEVER, Run, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.machine import Machine
    from dsec.core.trial import Graph, Manner

_NONE = -1, 0, 0
"""No reservation."""


def lean_run(  # noqa: C901  # a call per Step and decision is what this spares
    machine: Machine, graph: Graph, order: Sequence[int], manner: Manner
) -> Run | None:
    """The schedule that `order` leads to; None as soon as it must end after the limit."""
    bucket_of, durations, cpus, memories = (
        machine.bucket_of,
        machine.durations,
        machine.cpus,
        machine.memories,
    )
    successors, tails, waits = graph.successors, graph.tails, list(graph.waits)
    n, least, limit, queued = len(order), machine.least, manner.limit, manner.queued
    place_of, arrived = places(order), [step for step, count in enumerate(waits) if not count]
    buckets: list[list[int]] = [[] for _ in cpus]
    kinds = list(zip(buckets, cpus, memories, strict=True))
    for at, step in enumerate(arrived):
        heappush(buckets[bucket_of[step]], at * n * queued + place_of[step])
    before = len(arrived) * n * queued
    running: list[int] = []
    starts, ends = [-1] * n, [0] * n
    now, cpu, memory = 0, machine.cpu, machine.memory
    waiting, (until, cpu_then, memory_then) = -1, _NONE
    while True:
        heads, first = [], NEVER
        for bucket, needed, more in kinds:
            if bucket:
                if needed <= cpu and more <= memory:
                    heads.append(bucket[0])
                elif bucket[0] < first:
                    first = bucket[0]
        heads.sort()
        waiting, promised = -1, waiting
        while heads and (waiting < 0 or cpu >= least):
            place = heads[0]
            if waiting < 0 and place > first:
                waiting = order[first % n]
                if waiting != promised:
                    until = -1
            step = order[place % n]
            number = bucket_of[step]
            needed, more = cpus[number], memories[number]
            end = now + durations[step]
            if needed > cpu or more > memory:
                heappop(heads)
                if waiting < 0:
                    waiting = step
                    if waiting != promised:
                        until = -1
                continue
            if waiting < 0:
                promised = -1
            else:
                if until < 0:
                    until, cpu_then, memory_then = _reserved(machine, running, waiting, cpu, memory)
                if end > until:
                    if needed > cpu_then or more > memory_then:
                        heappop(heads)
                        continue
                    cpu_then -= needed
                    memory_then -= more
            if now + tails[step] > limit:
                return None
            starts[step], ends[step] = now, end
            cpu -= needed
            memory -= more
            heappush(running, end * n + step)
            bucket = buckets[number]
            heappop(bucket)
            if bucket:
                heapreplace(heads, bucket[0])
            else:
                heappop(heads)
        if waiting < 0 and first < NEVER:
            waiting = order[first % n]
            if waiting != promised:
                until = -1
        if not running:
            break
        now = running[0] // n
        after = (now + 1) * n
        while running and running[0] < after:
            step = heappop(running) % n
            number = bucket_of[step]
            cpu += cpus[number]
            memory += memories[number]
            for target in successors[step]:
                waits[target] = left = waits[target] - 1
                if not left:
                    heappush(buckets[bucket_of[target]], before + place_of[target])
                    if queued:
                        arrived.append(target)
                        before += n
    if -1 in starts:
        raise AssertionError(
            "a Step fits no empty machine, or the graph has a circle: both are refused before"
        )
    return Run(now, starts, ends, [None] * n, places(arrived) if queued else [])


def _reserved(
    machine: Machine, running: Sequence[int], waiting: int, cpu: int, memory: int
) -> tuple[int, int, int]:
    """When the Step that waits will fit, as far as what runs now decides it, and what is then left."""
    bucket_of, cpus, memories, n = machine.bucket_of, machine.cpus, machine.memories, len(machine.durations)
    number, time = bucket_of[waiting], -1
    cpu -= cpus[number]
    memory -= memories[number]
    for entry in sorted(running):
        if time >= 0 and entry // n != time:
            break
        number = bucket_of[entry % n]
        cpu += cpus[number]
        memory += memories[number]
        if time < 0 and cpu >= 0 and memory >= 0:
            time = entry // n
    return time, cpu, memory
