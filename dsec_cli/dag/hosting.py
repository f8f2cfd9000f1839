"""What a plan needs of the machine beside the devices and memory that its Steps demand."""

from __future__ import annotations

from dsec.plan import HostNeed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.plan import Demand
    from dsec_cli.contract.values import Step

_JOINED = ("p2p", "switched")


def host_needs(
    steps: Sequence[Step], demands: Sequence[Demand], *, nvlink_mode: str | None
) -> tuple[HostNeed, ...] | None:
    """By the names of `dsec doctor`, each with the Step or key that asks for it; None: nothing."""
    found: list[HostNeed] = []
    users = [step.id for step, demand in zip(steps, demands, strict=True) if demand.gpu_count]
    if users:
        found.append(HostNeed("driver", _asks(users, "GPUs")))
    cut = [
        step.id
        for step, demand in zip(steps, demands, strict=True)
        if demand.terms is not None and demand.terms.share == "mig"
    ]
    if cut:
        found.append(HostNeed("mig", _asks(cut, "MIG instances")))
    if nvlink_mode in _JOINED and users:
        found.append(HostNeed("nvlink", f"nvlink_mode is {nvlink_mode}"))
    keepers = [step.id for step, demand in zip(steps, demands, strict=True) if demand.disk_bytes]
    if keepers:
        found.append(HostNeed("space", _asks(keepers, "disk")))
    return tuple(found) or None


def _asks(ids: Sequence[str], what: str) -> str:
    """`Step train asks for GPUs`, `Step train and 3 more ask for GPUs`."""
    if len(ids) == 1:
        return f"Step {ids[0]} asks for {what}"
    return f"Step {ids[0]} and {len(ids) - 1} more ask for {what}"
