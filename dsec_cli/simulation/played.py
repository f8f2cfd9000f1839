"""A scene that was played, with the words that views need."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.simmeasures import Measures
    from dsec.core.simulated import History, Scene
    from dsec_cli.simulation.values import Machine


class Played(Record):
    """What views show."""

    title: str
    kind: str
    """`plan` or `fleet`."""
    scene: Scene
    machines: tuple[Machine, ...]
    history: History
    measures: Measures
    planned_ms: int | None
    """What the plan states for one iteration; None: not a plan of one iteration without faults."""
    seed: int | None
