"""The floor in Python: what `floor.c` does, and nothing else, to show what the language itself costs.

    python -I -S bare.py GRAPH LOGS SLOTS

No journal, pidfd, epoll, timeout, marker, retry, lease or report; see `floor.c` for the graph's form.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque

ENVIRONMENT = dict(os.environb)  # a plain dict: `os.environb` itself costs each start 50 us
SIGNALS = sorted(signal.valid_signals())


def start(at: int, logs: str) -> int:
    """Start Step `at`, its log opened in the child, in a session of its own."""
    log = f"{logs}/s{at}@0.1.log"
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(
        b"/bin/true",
        (b"/bin/true",),
        ENVIRONMENT,
        file_actions=actions,
        setsid=True,
        setsigmask=(),
        setsigdef=SIGNALS,
    )


def main(graph: str, logs: str, slots: int) -> int:
    """Run the graph."""
    with open(graph, encoding="ascii") as file:
        needs = [[int(word) for word in line.split()] for line in file]
    after: list[list[int]] = [[] for _ in needs]
    for at, before in enumerate(needs):
        for need in before:
            after[need].append(at)
    missing = [len(before) for before in needs]
    ready = deque(at for at, count in enumerate(missing) if not count)
    running: dict[int, int] = {}
    while ready or running:
        while ready and len(running) < slots:
            at = ready.popleft()
            running[start(at, logs)] = at
        pid, status, _ = os.wait4(-1, 0)
        if status:
            return 1
        for other in after[running.pop(pid)]:
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
