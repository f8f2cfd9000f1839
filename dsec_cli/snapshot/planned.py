"""The plan of the run that is captured, read once."""

from __future__ import annotations

from dsec.quickplan import read_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.plan import Plan
    from dsec_cli.snapshot.section import Scene


def plan_of(scene: Scene) -> Plan | None:
    """The plan; None: there is no run. Raises DSecError where it cannot be read."""
    if scene.run is None:
        return None
    if "plan" not in scene.memory:
        scene.memory["plan"] = read_plan(scene.run.plan)
    plan: Plan = scene.memory["plan"]  # type: ignore[assignment]  # put there just above
    return plan
