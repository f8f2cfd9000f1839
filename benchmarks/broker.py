"""How long the broker takes to say who gets a GPU: 1,000 queued Steps of two runs on 8 GPUs.

`python benchmarks/broker.py [decide] [answer] [trip]`: whenever something ends, one decision. It is
timed three times:

    decide   the decision alone, with all 500 Steps of each run asked for at once
    answer   a message as it comes from a run: read, decided, the leases written, the answers made;
             runs ask for at most 32 Steps at a time
    trip     from a run that sends what it gives back and what it wants, through the sockets of a broker
             in a process of its own, to the run that is granted what was given back

On a machine with other work the slow end of a trip is the wait of two processes for a processor; as root
`chrt -f 1 python benchmarks/broker.py trip` leaves that out.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import tempfile
from time import perf_counter_ns, thread_time_ns

from dsec.broker import messages, place, register
from dsec.broker.desk import Desk, Who
from dsec.broker.messages import MOST_REQUESTS, Hello, read
from dsec.core.brokerage import Brokerage, Grant, Request
from dsec.core.search import Draw
from dsec.sweep import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Times: TypeAlias = "list[int]"
    Running: TypeAlias = "list[tuple[int, str, tuple[str, ...]]]"
    """When what runs ends, whose it is, and on which devices."""

CLOCKS = (perf_counter_ns, thread_time_ns)
QUEUED = 500
"""Of each of the two runs, at every decision."""
DECISIONS = 20_000
TRIPS = 10_000
GPUS = tuple(f"GPU-{at:08x}-0000-4000-8000-{at:012x}" for at in range(8))
RUNS = ("a", "b")
SORTS = [Request(many, (GPUS,), 0, 0) for many in (1, 1, 1, 2, 4, 8)]
"""What Steps ask for, by how often."""


class Queues:
    """What waits in both runs, and what runs."""

    def __init__(self) -> None:
        self._draw = Draw((1,))
        self._queues: dict[str, list[Request]] = {run: [] for run in RUNS}
        self.running: Running = []
        self.now = 0

    def fill(self, run: str) -> list[Request]:
        """The queue of the run, full again."""
        queue = self._queues[run]
        queue += [SORTS[self._draw.below(len(SORTS))] for _ in range(QUEUED - len(queue))]
        return queue

    def begin(self, run: str, devices: tuple[str, ...]) -> None:
        """What waited longest of that size runs, for up to a second."""
        queue = self._queues[run]
        queue.remove(next(one for one in queue if one.many == len(devices)))
        self.running.append((self.now + 1 + self._draw.below(1_000_000), run, devices))

    def end(self) -> tuple[str, tuple[str, ...]]:
        """What ends next."""
        first = min(self.running)
        self.running.remove(first)
        self.now = first[0]
        return first[1], first[2]


def decide() -> tuple[Times, Times]:
    """Nanoseconds of each decision, and of them on a processor."""
    queues, broker, times, busy = Queues(), Brokerage(), [], []
    for run in RUNS:
        broker.join(run, (), 0)
    while len(times) < DECISIONS:
        for run in RUNS:
            broker.want(run, queues.fill(run), queues.now)
        before = [clock() for clock in CLOCKS]
        decisions = broker.decide(queues.now)
        for kept, clock, since in zip((times, busy), CLOCKS, before, strict=True):
            kept.append(clock() - since)
        for one in decisions:
            if isinstance(one, Grant):
                queues.begin(one.run, one.devices)
        run, devices = queues.end()
        broker.give_back(run, devices, queues.now)
    return times, busy


def answer(folder: str) -> tuple[Times, Times]:
    """Nanoseconds from a packet to its answers, the leases kept in `folder`, and of them on a processor."""
    queues, desk, boot = Queues(), Desk(0), boot_id()
    times: Times = []
    busy: Times = []
    seen = dict.fromkeys(RUNS, 0)
    for at, run in enumerate(RUNS):
        desk.hear(at, Hello(run, f"/{run}", ()), 0, who=Who(run, f"/{run}", 100 + at, 1))
    run, back = "a", ()
    while len(times) < TRIPS:
        packet = messages.now(seen[run], back, queues.fill(run)[:MOST_REQUESTS], ())
        before = [clock() for clock in CLOCKS]
        message = read(packet)
        if isinstance(message, str):
            raise SystemExit(message)
        answers = desk.hear(RUNS.index(run), message, queues.now)
        if desk.changed:
            desk.changed = False
            register.save(f"{folder}/leases.json", desk.leases(), boot=boot)
        packets = [(connection, messages.pack(told)) for connection, told in answers]
        for kept, clock, since in zip((times, busy), CLOCKS, before, strict=True):
            kept.append(clock() - since)
        for connection, told in packets:
            if (one := json.loads(told))["tell"] == "grant":
                seen[RUNS[connection]] += 1
                queues.begin(RUNS[connection], tuple(one["devices"]))
        run, back = queues.end() if queues.running and len(times) > 1 else ("b", ())
    return times, busy


class Runs:
    """Two runs that talk to a broker in another process."""

    def __init__(self, folder: str) -> None:
        elected = place.elect(folder)
        if elected is None:
            raise SystemExit("a broker of one's own is needed")
        self.pid = place.spawn(folder, elected, os.environb)
        self.seen = dict.fromkeys(RUNS, 0)
        self.socks = {run: self._joined(folder, run) for run in RUNS}

    def _joined(self, folder: str, run: str) -> socket.socket:
        sock = place.connect(folder)
        if sock is None:
            raise SystemExit("the broker does not listen")
        sock.send(messages.hello(run, f"{folder}/{run}", ()))
        select.select([sock], [], [])
        return sock

    def heard(self) -> list[tuple[str, dict[str, object]]]:
        """What has arrived, as soon as something has."""
        ready = select.select(list(self.socks.values()), [], [])[0]
        return [(run, json.loads(sock.recv(65536))) for run, sock in self.socks.items() if sock in ready]

    def close(self) -> None:
        """End the broker, too."""
        for sock in self.socks.values():
            sock.close()
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def trip(folder: str) -> list[int]:
    """Nanoseconds from what is given back to the grant that it leads to."""
    queues, runs, times = Queues(), Runs(folder), []
    run, back = "a", ()
    while len(times) < TRIPS:
        packet = messages.now(runs.seen[run], back, queues.fill(run)[:MOST_REQUESTS], ())
        before = perf_counter_ns()
        runs.socks[run].send(packet)
        runs.socks[run].send(b'{"say":"ping"}')  # its answer comes behind all others
        first = over = False
        while not over:
            for whose, told in runs.heard():
                over = over or told["tell"] == "pong"
                if told["tell"] == "grant":
                    if back and not first:
                        times.append(perf_counter_ns() - before)
                    first = True
                    runs.seen[whose] += 1
                    queues.begin(whose, tuple(told["devices"]))  # type: ignore[arg-type]  # of a broker of ours
        run, back = queues.end() if (queues.running and run != "a") or back else ("b", ())
    runs.close()
    return times


def show(name: str, times: list[int]) -> None:
    """The middle and the slow end."""
    times.sort()
    at = {"median": 0.5, "p99": 0.99, "longest": 1.0}
    facts = [
        f"{word} {times[min(len(times) - 1, int(where * len(times)))] / 1000:.1f} us"
        for word, where in at.items()
    ]
    sys.stdout.write(f"{name:17}{', '.join(facts)} (of {len(times)})\n")


def main(only: list[str]) -> int:
    """Print those of the three that were named, or all."""
    if not only or "decide" in only:
        for name, times in zip(("decide", "  on a processor"), decide(), strict=True):
            show(name, times)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        if not only or "answer" in only:
            for name, times in zip(("answer", "  on a processor"), answer(folder), strict=True):
                show(name, times)
        if not only or "trip" in only:
            show("trip", trip(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
