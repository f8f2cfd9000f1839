"""How good our schedules are: makespan over lower bound on recorded workflows.

Reads WfFormat (schema 1.5) instances, each a real execution with its tasks, their needs and run
times. Orders are compared on 4, 8 and 16 equal slots and on model B, a described workstation: 16
cores, two GPUs of speed 1.0 with 80 GiB and two of speed 0.6 with 24 GiB. No instance records GPUs, so
in model B each task's demand is made up from the SHA-256 of its name without the number at its end:
1 to 4 cores, and for five names of six (7 of 10 tasks of the instances from WfCommons that we have) 1 or
2 GPUs of which it takes 10, 20 or 40 GiB. Run times are taken to be those on the quickest devices.

Two bounds are told apart: critical path, area, head and tail (`simple`), and the highest that we know.

    python benchmarks/schedule.py ../shared/wf
"""

import hashlib
import json
import math
import re
import sys
import time
from pathlib import Path

from dsec.core.contest import Contest
from dsec.core.order import topological
from dsec.core.schedule import Work
from dsec.core.search import best_order
from dsec.inventory import Device, Inventory
from dsec.plan import Demand

GIB = 2**30
ORDERS = ("fifo", "lpt", "rank", "rank+fbi", "best")
TARGETS = {"P=4": 1.0115, "P=8": 1.052, "P=16": 1.017, "B": 1.047}
ONE_CORE = Demand(1000, 0, 0, 0, (), 0, 0)


def read_instance(path):
    """Names, successors and milliseconds of the tasks of a WfFormat file."""
    workflow = json.loads(path.read_bytes())["workflow"]
    tasks = workflow["specification"]["tasks"]
    ran = {task["id"]: task for task in workflow["execution"]["tasks"]}
    number = {task["id"]: at for at, task in enumerate(tasks)}
    successors = [sorted({number[child] for child in task["children"]}) for task in tasks]
    lengths = [max(0, round(ran[task["id"]]["runtimeInSeconds"] * 1000)) for task in tasks]
    return [task["name"] for task in tasks], successors, lengths


def slots(count):
    """A machine of so many cores, one for each Step."""
    return Inventory(f"slots:{count}", count * 1000, None, None, None, (), ())


def workstation():
    """The machine of model B."""
    cards = [("fast", 1000, 80), ("fast", 1000, 80), ("slow", 600, 24), ("slow", 600, 24)]
    devices = tuple(
        Device(f"GPU-{at}", at, "", kind, size * GIB, None, None, None, (), speed, "ok")
        for at, (kind, speed, size) in enumerate(cards)
    )
    return Inventory("model B", 16_000, None, None, None, devices, ())


def made_up(name):
    """The demand of a task in model B."""
    drawn = hashlib.sha256(re.sub(r"_(ID)?\d+$", "", name).encode()).digest()
    cores = 1 + drawn[0] % 4
    if drawn[1] % 100 >= 78:
        return Demand(cores * 1000, 0, 0, 0, (), 0, 0)
    return Demand(cores * 1000, 0, 1 + drawn[2] % 2, (10, 20, 40)[drawn[3] % 3] * GIB, (), 0, 0)


def found(instance, machine, demand_of):
    """The search's result for one instance."""
    names, successors, lengths = instance
    works = [Work(demand_of(name), length, 0) for name, length in zip(names, lengths, strict=True)]
    return best_order(Contest(successors, topological(successors), works, machine))


def ratios(one):
    """Per order and bound: makespan over bound."""
    spans = dict(one.makespans) | {"best": one.best.run.makespan}
    highest = max(bound for _, bound in one.bounds)
    simple = max(bound for name, bound in one.bounds if not name.endswith("in turns"))
    return {
        (order, kind): spans[order] / bound
        for order in ORDERS
        for kind, bound in (("simple", simple), ("highest", highest))
    }


def mean(values):
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def compare(title, instances, machine, demand_of):
    """Print the means of one machine; what is worse than `fifo` or over the target is told."""
    before = time.process_time()
    results = {name: found(instance, machine, demand_of) for name, instance in instances.items()}
    spent = time.process_time() - before
    best = {}
    for kind in ("simple", "highest"):
        means = [mean([ratios(one)[order, kind] for one in results.values()]) for order in ORDERS]
        best[kind] = means[-1]
        print(f"{title:5} {kind:8}", *(f"{value:9.4f}" for value in means), f"{spent:7.1f}")
    worse = [name for name, one in results.items() if one.best.run.makespan > dict(one.makespans)["fifo"]]
    print(f"      worse than fifo: {', '.join(worse) or 'none'}")
    return not worse and best["simple"] <= TARGETS[title]


def main(folder):
    """Compare on every machine; 0: all targets are met."""
    paths = sorted(Path(folder).glob("*.json"))
    if not paths:
        print(f"schedule: no WfFormat instances in {folder}, so nothing is compared; name their folder")
        return 0
    instances = {path.stem: read_instance(path) for path in paths}
    print(f"{len(paths)} instances; geometric mean of makespan / bound; CPU s of everything in the line")
    print(f"{'':5} {'bound':8}", *(f"{order:>9}" for order in ORDERS), f"{'CPU s':>7}")
    met = [compare(f"P={count}", instances, slots(count), lambda _: ONE_CORE) for count in (4, 8, 16)]
    met.append(compare("B", instances, workstation(), made_up))
    print("B: GPU demands are made up from task names, as no instance records any")
    return 0 if all(met) else 1


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[2] / "shared" / "wf"
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else default))
