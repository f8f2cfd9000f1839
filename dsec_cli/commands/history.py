"""Which of the durations that earlier runs left count for a contract and a machine."""

from __future__ import annotations

from dsec.durations import work_of
from dsec_cli.dag.demand import demand_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsec.durations import Learned
    from dsec.inventory import Inventory
    from dsec_cli.contract.values import Contract, Step


def matching(
    contract: Contract, known: Mapping[str, Sequence[Learned]], inventory: Inventory | None
) -> dict[str, int]:
    """Milliseconds per Step id; a part of a split Step (`S2.0`) counts as the Step does.

    What was measured of another command never counts. What was measured on other devices counts only
    where the contract expects nothing: it is better than no number, and worse than a declared one.
    """
    steps = {step.id: step for step in contract.steps}
    speeds = None if inventory is None else {one.type: one.speed for one in inventory.devices}
    found: dict[str, int] = {}
    for name, every in known.items():
        step = steps.get(name)
        whole = steps.get(name.rpartition(".")[0]) if step is None else step
        if whole is None:
            continue
        same = [one for one in every if one.work == _work(whole)] if name[-1:].isdecimal() or step else every
        best = _on_like_devices(whole, contract, same, speeds)
        if best is None and whole.expect is None and same:
            best = same[0]
        if best is not None:
            found[name] = best.ms
    return found


def _work(step: Step) -> str:
    run = step.run
    if run is None:
        return ""
    return work_of(run.argv, run.shell or "", run.call or "", step.args if run.call else "")


def _on_like_devices(
    step: Step, contract: Contract, every: Sequence[Learned], speeds: Mapping[str, int] | None
) -> Learned | None:
    """The latest on the quickest devices of the machine that the Step may have, as many as it asks for."""
    demand = demand_of(step, contract)
    if not demand.gpu_count:
        return next((one for one in every if not one.devices), None)
    fit: list[tuple[int, int, Learned]] = []
    for at, one in enumerate(every):
        count, _, kind = one.devices.partition(" x ")
        able = kind in speeds if speeds is not None else True
        if able and count == str(demand.gpu_count) and (not demand.gpu_types or kind in demand.gpu_types):
            fit.append((-speeds[kind] if speeds is not None else 0, at, one))
    return min(fit, key=lambda one: one[:2])[2] if fit else None
