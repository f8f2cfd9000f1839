"""How long the broker takes to decide who gets a GPU: 1,000 queued Steps of two runs on 8 GPUs.

`python benchmarks/broker.py`: whenever something ends, one decision; each is timed by itself.
"""

from __future__ import annotations

import sys
from time import perf_counter_ns

from dsec.core.brokerage import Brokerage, Grant, Request
from dsec.core.search import Draw

QUEUED = 500
"""Of each of the two runs, at every decision."""
DECISIONS = 20_000


def main() -> int:
    """Print the middle and the slow end of the decisions."""
    gpus = tuple(f"GPU-{at}" for at in range(8))
    draw, broker, now = Draw((1,)), Brokerage(), 0
    times: list[int] = []
    running: list[tuple[int, str, tuple[str, ...]]] = []
    for run in ("a", "b"):
        broker.join(run, (), now)
    while len(times) < DECISIONS:
        for run in ("a", "b"):
            lacking = QUEUED - len(broker.requests(run))
            more = [Request((1, 1, 1, 2, 4, 8)[draw.below(6)], (gpus,), now, 0) for _ in range(lacking)]
            broker.want(run, (*broker.requests(run), *more), now)
        before = perf_counter_ns()
        decisions = broker.decide(now)
        times.append(perf_counter_ns() - before)
        granted = [one for one in decisions if isinstance(one, Grant)]
        running += [(now + 1 + draw.below(1_000_000), one.run, one.devices) for one in granted]
        first = min(running)
        running.remove(first)
        now = first[0]
        broker.give_back(first[1], first[2], now)
    times.sort()
    for name, at in (("median", 0.5), ("p99", 0.99), ("longest", 1.0)):
        sys.stdout.write(f"{name} {times[min(len(times) - 1, int(at * len(times)))] / 1000:.1f} us\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
