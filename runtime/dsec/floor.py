"""What an executor works with: handed to the parts that decide what becomes of attempts."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.attempts import Attempt
    from dsec.core.leases import Ledger
    from dsec.core.scheduler import Scheduler
    from dsec.core.starting import Starter
    from dsec.launch import Launcher
    from dsec.plan import PlannedStep
    from dsec.processes import Children
    from dsec.recorder import Recorder
    from dsec.workers import Workers


class Floor(Record):
    """What the executor works with."""

    scheduler: Scheduler
    starter: Starter
    ledger: Ledger
    workers: Workers
    children: Children
    launcher: Launcher
    recorder: Recorder
    running: dict[Attempt, None]
    steps: tuple[PlannedStep, ...]
