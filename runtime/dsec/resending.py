"""Which Steps must run once more, because what they wrote for another one is gone."""

from __future__ import annotations

from dsec.core.paths import covers, normal
from dsec.rundir import missing_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.launch import Launcher
    from dsec.plan import PlannedStep


def writers_of_lost(
    step: PlannedStep, steps: Sequence[PlannedStep], iteration: int, launcher: Launcher
) -> list[int]:
    """Numbers of the needed Steps that declare as output a declared input of `step` that is not there."""
    folder, work = launcher.folder, launcher.run.work
    lost = [
        normal(one) for one in step.inputs if missing_output((one,), folder, work=work, iteration=iteration)
    ]
    if not lost:
        return []
    needs = {edge.step for edge in step.needs if edge.kind != "carried"}
    return [
        at
        for at, other in enumerate(steps)
        if other.id in needs and any(covers(output, name) for output in other.outputs for name in lost)
    ]
