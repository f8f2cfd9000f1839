"""The machine that a contract asks for: its baseline, described as an inventory.

`ds-dag-analyze` judges a graph by itself; what a real machine makes of it is the plan's business.
"""

from __future__ import annotations

from dsec.inventory import AMPLE_CPU_M, Device, Inventory
from dsec.plan import Terms
from dsec_cli.dag.demand import tokens_of
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.plan import Demand
    from dsec_cli.contract.values import Contract

BASELINE = "baseline"
"""Origin of the machine that is made of a contract's own words."""
AMPLE = AMPLE_CPU_M
"""Thousandths of a core where the contract states no cpu: processors then hold nothing up."""


def untyped(demands: Sequence[Demand]) -> list[Demand]:
    """The demands without what the pool's devices do not have: types, links, MIG instances."""
    return [demand._replace(gpu_types=(), terms=_plain(demand.terms)) for demand in demands]


def _plain(terms: Terms | None) -> Terms | None:
    if terms is None:
        return None
    return Terms("" if terms.share == "mig" else terms.share, tokens=terms.tokens)


def pool_of(contract: Contract, demands: Sequence[Demand]) -> Inventory:
    """The baseline's GPUs, cores and memory, enlarged where a single Step needs more."""
    baseline = contract.baseline
    gpu = baseline.gpu if baseline is not None else None
    count = max([gpu.count or 0 if gpu is not None else 0, *(demand.gpu_count for demand in demands)])
    stated = int(gpu.memory.bytes) if gpu is not None and gpu.memory is not None else 0
    size = max([stated, *(demand.gpu_memory_bytes for demand in demands)])
    cores = (baseline.cpu_m if baseline is not None else None) or AMPLE
    memory = int((baseline.memory if baseline is not None else None) or 0)
    return Inventory(
        origin=BASELINE,
        cpu_m=max([cores, *(demand.cpu_m for demand in demands)]),
        memory_bytes=max([memory, *(demand.memory_bytes for demand in demands)]) if memory else None,
        disk_bytes=None,
        numa_nodes=None,
        devices=tuple(_device(at, size or None) for at in range(count)),
        notes=(),
        tokens=_enough_tokens(contract, demands),
    )


def _enough_tokens(contract: Contract, demands: Sequence[Demand]) -> tuple[tuple[str, int], ...] | None:
    """What the contract has of counted things, enlarged where a single Step takes more."""
    there = dict(tokens_of(contract) or ())
    for demand in demands:
        for name, amount in demand.terms.tokens if demand.terms is not None else ():
            there[name] = max(amount, there.get(name, 0))
    return tuple(sorted(there.items())) or None


def basis_text(contract: Contract, pool: Inventory) -> str:
    """What the pool is, in words: `2 GPUs, 8 cores (baseline)`."""
    some = say("1 core") if pool.cpu_m == 1000 else say("{count:g} cores", count=pool.cpu_m / 1000)
    parts: list[str] = [say("any number of cores") if pool.cpu_m == AMPLE else some]
    if pool.devices:
        count = len(pool.devices)
        parts.insert(0, say("1 GPU") if count == 1 else say("{count} GPUs", count=count))
    machine = joined(", ", parts)
    return say("{machine} (baseline)", machine=machine) if contract.baseline is not None else machine


def _device(at: int, size: int | None) -> Device:
    return Device(
        uuid=f"GPU-{at}",
        index=at,
        model="",
        type="",
        memory_bytes=size,
        free_bytes=None,
        numa=None,
        pci=None,
        links=(),
        speed=1000,
        health="ok",
    )
