"""What a call of a resident worker says and takes, and what the worker itself takes."""

from __future__ import annotations

import json

from dsec.plan import Terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.plan import Demand, PlannedStep


def fixed_part(step: PlannedStep) -> str:
    """What is the same in every call of the Step, as JSON without its braces."""
    command = step.command
    return f'"call":{json.dumps(command.call)},"step":{json.dumps(step.id)},"args":{command.args or "{}"}'


def without_gpus(demand: Demand) -> Demand:
    """What each call takes."""
    terms = Terms(tokens=demand.terms.tokens) if demand.terms is not None else None
    return demand._replace(gpu_count=0, gpu_memory_bytes=0, gpu_types=(), terms=terms)


def only_gpus(demand: Demand) -> Demand:
    """What its worker takes as long as it lives."""
    terms = None if demand.terms is None else demand.terms._replace(tokens=())
    return demand._replace(cpu_m=0, memory_bytes=0, disk_bytes=0, network_bps=0, terms=terms)


def both(worker: Demand, call: Demand) -> Demand:
    """What the first call takes, its worker's GPUs included."""
    terms = call.terms if worker.terms is None else worker.terms
    if terms is not None and call.terms is not None:
        terms = terms._replace(tokens=call.terms.tokens)
    return worker._replace(cpu_m=call.cpu_m, memory_bytes=call.memory_bytes, terms=terms)


def size_of(demand: Demand) -> tuple[int, bool, int]:
    """By which the larger of two Steps of one worker is known."""
    return demand.gpu_count, demand.gpu_count > 0 and not demand.gpu_memory_bytes, demand.gpu_memory_bytes
