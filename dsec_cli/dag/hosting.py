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
    users = [at for at, demand in enumerate(demands) if demand.gpu_count]
    if users:
        found.append(HostNeed("driver", _asks(steps, users, "GPUs")))
    cut = [
        at for at, demand in enumerate(demands) if demand.terms is not None and demand.terms.share == "mig"
    ]
    if cut:
        found.append(HostNeed("mig", _asks(steps, cut, "MIG instances")))
    if nvlink_mode in _JOINED and users:
        found.append(HostNeed("nvlink", f"nvlink_mode is {nvlink_mode}"))
    keepers = [at for at, demand in enumerate(demands) if demand.disk_bytes]
    if keepers:
        found.append(HostNeed("space", _asks(steps, keepers, "disk")))
    return tuple(found) or None


def _asks(steps: Sequence[Step], who: Sequence[int], what: str) -> str:
    """`Step train asks for GPUs`, `Step train and 3 more ask for GPUs`."""
    first = steps[who[0]].id
    if len(who) == 1:
        return f"Step {first} asks for {what}"
    return f"Step {first} and {len(who) - 1} more ask for {what}"
