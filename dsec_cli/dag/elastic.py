"""How few and how many GPUs a Step may be started with, from its own bounds and those of the job."""

from __future__ import annotations

from dsec.plan import Elastic
from dsec_cli.dag.demand import gpu_count
from dsec_cli.dag.tolerance import level_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec.plan import Demand
    from dsec_cli.contract.values import Contract, Step


def elastic_steps(
    steps: Sequence[Step], demands: Sequence[Demand], contract: Contract
) -> tuple[Elastic, ...] | None:
    """Steps whose count is not fixed, in their order; None: there is none."""
    return tuple(_found(steps, demands, contract)) or None


def _found(steps: Sequence[Step], demands: Sequence[Demand], contract: Contract) -> Iterator[Elastic]:
    job = contract.elasticity.gpu if contract.elasticity is not None else None
    if job is None and not any(
        step.demand.gpu is not None and (step.demand.gpu.min_count or step.demand.gpu.max_count)
        for step in steps
    ):
        return
    for step, demand in zip(steps, demands, strict=True):
        # A worker keeps its GPUs from call to call; and a part of a split Step has just its one.
        fixed = _is_call(step) or step.because
        if demand.gpu_count and demand.gpu_count == gpu_count(step.demand.gpu) and not fixed:
            least, most = _bounds(step, demand.gpu_count, contract)
            if least < most:
                yield Elastic(step.id, least, most, *_marks(contract))


def _marks(contract: Contract) -> tuple[int | None, int | None]:
    """Memory above which a Step gets one more GPU (the middle of the bounds), and below which one less."""
    job = contract.elasticity.gpu if contract.elasticity is not None else None
    if job is None or job.memory_min is None or job.memory_max is None:
        return None, None
    least, most = int(job.memory_min.bytes), int(job.memory_max.bytes)
    return (least + most) // 2, most // 2


def _is_call(step: Step) -> bool:
    return step.run is not None and step.run.call is not None


def _bounds(step: Step, count: int, contract: Contract) -> tuple[int, int]:
    """Its own, else those of the job where the Step is elastic; its count lies between them."""
    gpu = step.demand.gpu
    own_least, own_most = (None, None) if gpu is None else (gpu.min_count, gpu.max_count)
    job = contract.elasticity.gpu if contract.elasticity is not None else None
    least = most = count
    if job is not None and level_of(step, contract) == "elastic":
        least, most = job.min_count or count, job.max_count or count
    least = least if own_least is None else own_least
    most = most if own_most is None else own_most
    return max(1, min(least, count)), max(most, count)
