"""What a Step takes while it runs: its stated resources, completed from the contract's baseline."""

from __future__ import annotations

from dsec.cards import card, class_bytes, gives, resolve, spelt, types
from dsec.plan import Demand, Terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.contract.values import Contract, Gpu, GpuMemory, Step

ONE_CORE = 1000
"""Assumed where a Step states no cpu: it is a process, and processes compute."""
NETWORK = "network bit/s"
"""The job's network rate as something that Steps take parts of; no name in a contract has a blank."""


def demands_of(steps: Iterable[Step], contract: Contract) -> list[Demand]:
    """What each Step takes; of those that state the same it is the same object."""
    known: dict[object, Demand] = {}
    found: list[Demand] = []
    for step in steps:
        stated = step.demand
        gpu, cpu_m, memory, disk, _, network, *rates = stated[1:9]
        case = cpu_m, memory, disk, network, stated.tokens, gpu and (gpu[1:], step.layers, *rates)
        demand = known.get(case)
        if demand is None:
            demand = known[case] = demand_of(step, contract)
        found.append(demand)
    return found


def demand_of(step: Step, contract: Contract) -> Demand:
    """The resource vector of one attempt of `step`."""
    stated = step.demand
    gpu = stated.gpu
    count = gpu_count(gpu)
    return Demand(
        cpu_m=ONE_CORE if stated.cpu_m is None else stated.cpu_m,
        memory_bytes=int(stated.memory or 0),
        gpu_count=count,
        gpu_memory_bytes=_per_gpu(step, gpu) if gpu is not None and count else 0,
        gpu_types=_types(step, gpu, contract) if gpu is not None and count else (),
        disk_bytes=int(stated.disk or 0),
        network_bps=int(stated.network or 0),
        terms=_terms(step, contract),
    )


def _terms(step: Step, contract: Contract) -> Terms | None:
    """How its devices are had; None where it says nothing beyond what numbers and sizes say."""
    stated, gpu = step.demand, step.demand.gpu
    tokens = _tokens(step, contract) if stated.tokens or stated.network else ()
    if gpu is None or not (gpu.share or gpu.within or gpu.topology):
        return Terms(tokens=tokens) if tokens else None
    strict = gpu.topology == "strict"
    several = gpu_count(gpu) > 1
    share = gpu.share or ""
    if share == "fraction" or (share == "exclusive" and stated.gpu is not None and gpu.memory is None):
        share = ""  # as it is without a word
    within = gpu.within or ("nvlink" if strict else "")
    terms = Terms(share, within if several else "", strict and several, 0, tokens)
    return None if terms == Terms() else terms


def _tokens(step: Step, contract: Contract) -> tuple[tuple[str, int], ...]:
    """What it takes of counted things; the network is one where the contract bounds the job's rate."""
    taken = step.demand.tokens or ()
    bound = network_bound(contract)
    if not bound or not step.demand.network:
        return taken
    return tuple(sorted((*taken, (NETWORK, min(int(step.demand.network), bound)))))


def network_bound(contract: Contract) -> int:
    """Most bits a second that all Steps together may take; 0: not bounded."""
    network = contract.elasticity.network if contract.elasticity is not None else None
    return int(network.bandwidth_max or 0) if network is not None else 0


def tokens_of(contract: Contract) -> tuple[tuple[str, int], ...] | None:
    """What there is of counted things, by name; None: nothing is counted."""
    bound = network_bound(contract)
    counted = (*(contract.tokens or ()), *(((NETWORK, bound),) if bound else ()))
    return tuple(sorted(counted)) or None


def gpu_count(gpu: Gpu | None) -> int:
    """GPUs asked for; a `gpu` section without a count means one."""
    if gpu is None:
        return 0
    return 1 if gpu.count is None else gpu.count


def _per_gpu(step: Step, gpu: Gpu) -> int:
    """Memory on each GPU: as stated, else what the Step's layers take."""
    if gpu.memory is None and step.layers:
        return sum(layer.many * layer.memory for layer in step.layers)
    return _gpu_bytes(gpu.memory)


def _gpu_bytes(memory: GpuMemory | None) -> int:
    """Per GPU; 0 (the whole device) where nothing is stated."""
    if memory is None:
        return 0
    return class_bytes(int(memory.bytes)) if memory.nominal else int(memory.bytes)


def gpu_type_text(gpu: Gpu | None, contract: Contract) -> str | None:
    """The type as written: the Step's own, else the baseline's."""
    if gpu is not None and gpu.type is not None:
        return gpu.type
    standing = contract.baseline.gpu if contract.baseline is not None else None
    return standing.type if standing is not None else None


def _types(step: Step, gpu: Gpu, contract: Contract) -> tuple[str, ...]:
    """Canonical types that will do. A type that the card table does not know matches only itself.

    Where the Step states a rate, only types whose printed rate reaches it will do. Where none does, what is
    returned names the rate and is no device's type, so that the plan is refused with it.
    """
    text = gpu_type_text(gpu, contract)
    named = () if text is None else resolve(text) or (spelt(text),)
    flops, memory_rate = int(step.demand.fp16_throughput or 0), int(step.demand.memory_bandwidth or 0)
    if not flops and not memory_rate:
        return named
    rows = [row for name in named or types() if (row := card(name)) is not None]
    able = tuple([row.type for row in rows if gives(row, flops=flops, memory_rate=memory_rate)])
    if able or not rows:
        return able or named
    rates = (step.demand.fp16_throughput, step.demand.memory_bandwidth)
    return (f"{text or 'any card'} of {' and '.join(str(rate) for rate in rates if rate)}",)
