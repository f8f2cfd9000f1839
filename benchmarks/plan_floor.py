"""What a plan of many Steps must cost in Python at least: the parts without which there is none.

Nothing of DSec runs but BLAKE3's binding. For the same layered graphs as `plan.py`, each Step as plain lists
of numbers that are at hand:

*schedule*: one list schedule on 32 processors: a heap of ready Steps, a heap of running ones, first come,
first served; no memory, devices, kinds of demand, reservation or gaps. *text*: one formatted string of
the keys that a plan has for each Step, joined and encoded. *keys*: BLAKE3 of each Step's own text and
its needs' keys. *hash*: BLAKE3 of all of the text. CPU seconds; *loop* as in `plan.py`.

    python benchmarks/plan_floor.py [--steps 100000] [--rounds 3]
"""

import argparse
import gc
import random
import statistics
import time
from heapq import heappop, heappush

from blake3 import blake3
from plan import loop_ms

CORES = 32
DEMAND = '{"cpu_m":1000,"gpu_count":0,"gpu_memory_bytes":0,"gpu_types":[],"memory_bytes":2147483648}'
REASONS = '["cpu only: no GPU asked for","level: as fault_tolerance.level has it"]'


def graph(steps):
    """Needs, cores and seconds of each Step, as in `plan.contract`."""
    chance, width = random.Random(steps), max(3, int(steps**0.5) // 2)
    needs, lengths = [], []
    for at in range(steps):
        above = at // width * width - width
        needs.append(sorted({above + chance.randrange(width) for _ in range(2)}) if above >= 0 else [])
        lengths.append(chance.randrange(1, 600))
    return needs, [1 + at % 4 for at in range(steps)], lengths


def schedule(needs, cores, lengths):
    """Starts, first come, first served."""
    count = len(needs)
    after, waits = [[] for _ in needs], [len(some) for some in needs]
    for at, some in enumerate(needs):
        for need in some:
            after[need].append(at)
    ready, running, starts = [at for at in range(count) if not waits[at]], [], [0] * count
    now, free = 0, CORES
    while True:
        while ready and cores[ready[0]] <= free:
            at = heappop(ready)
            starts[at] = now
            free -= cores[at]
            heappush(running, (now + lengths[at]) * count + at)
        if not running:
            return starts
        now, at = divmod(heappop(running), count)
        free += cores[at]
        for target in after[at]:
            waits[target] -= 1
            if not waits[target]:
                heappush(ready, target)


def keys(needs):
    """The keys of all Steps, each over those of its needs."""
    found = []
    for at, some in enumerate(needs):
        command = f'{{"argv":["python","train.py","--seed","{at}"]}}'
        own = f'{{"command":{command},"id":"S{at}","inputs":[]}}'.encode()
        found.append(blake3(b"".join([own, *[found[need] for need in some]])).hexdigest().encode())
    return found


def text(needs, lengths, starts, known):
    """All Steps in words."""
    parts = []
    for at, some in enumerate(needs):
        edges = ",".join(
            [
                f'{{"kind":"order","src":{{"column":13,"file":"dsandbox.yaml","line":{6 * at}}}'
                f',"staleness":0,"step":"S{need}"}}'
                for need in some
            ]
        )
        parts.append(
            f'{{"command":{{"args":"{{}}","argv":["python","train.py","--seed","{at}"],"call":"","shell":""'
            f',"worker":""}},"cwd":".","demand":{DEMAND},"env":[],"estimate_ms":{lengths[at]}'
            f',"estimate_source":"declared","grace_ms":10000,"id":"S{at}","inputs":[]'
            f',"key":"{known[at].decode()}","level":"pauseable","name":"","needs":[{edges}],"outputs":[]'
            f',"placement":{{"devices":[],"reason":"no GPU"}},"rank_ms":{starts[at]},"reasons":{REASONS}'
            f',"retries":{{"backoff_ms":0,"factor":1,"max":0}},"slack_ms":0'
            f',"src":{{"column":5,"file":"dsandbox.yaml","line":{6 * at}}},"timeout_ms":1800000}}'
        )
    return ",".join(parts).encode()


def timed(spent, name, work):
    """What `work` returns; its CPU seconds are kept under `name`."""
    before = time.process_time()
    found = work()
    spent.setdefault(name, []).append(time.process_time() - before)
    return found


def main():
    """Print the medians."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--steps", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=3)
    args = options.parse_args()
    gc.disable()
    spent, loops = {}, []
    for _ in range(args.rounds):
        loops.append(loop_ms())
        needs, cores, lengths = graph(args.steps)
        starts = timed(spent, "schedule", lambda n=needs, c=cores, d=lengths: schedule(n, c, d))
        known = timed(spent, "keys", lambda n=needs: keys(n))
        whole = timed(spent, "text", lambda n=needs, d=lengths, s=starts, k=known: text(n, d, s, k))
        timed(spent, "hash", lambda t=whole: blake3(t).hexdigest())
    medians = {name: statistics.median(some) for name, some in spent.items()}
    print(" ".join(f"{name} {value:.2f}" for name, value in medians.items()), end="; ")
    print(f"together {sum(medians.values()):.2f} CPU s, loop {statistics.median(loops):.0f} ms")


if __name__ == "__main__":
    main()
