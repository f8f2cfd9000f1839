"""After a run: its report, what it teaches about durations, and the closing lines."""

from __future__ import annotations

import resource

from dsec.progress import span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.engines.local import Outcome, Session


def conclude(session: Session, outcome: Outcome, *, own_cpu_s: float) -> list[str]:
    """Closing lines."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = usage.ru_utime + usage.ru_stime
    return [f"{session.run.job}: {outcome.word} in {span(outcome.wall_s)} (CPU {span(cpu)}, executor {span(own_cpu_s)})"]
