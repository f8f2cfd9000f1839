"""What the monitor sees at one moment: devices, attempts with their processes, the machine."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dsec.devices.sampling import Reading, XidEvent
    from dsec.monitor.processes import Seen, Usage
    from dsec.monitor.running import Watched
    from dsec.plan import Plan


class Use(Record):
    """An attempt (or an idle worker) and what it uses."""

    watched: Watched
    usage: Usage
    processes: tuple[Seen, ...]
    log_bytes: int | None
    log_age_ms: int | None
    """Since something was last written to its log."""
    devices: dict[str, int | None]
    """Memory on each device that its processes hold, by UUID; None: they hold it, how much is unknown."""


class Host(Record):
    """The machine."""

    memory_available_bytes: int | None
    memory_total_bytes: int | None
    disk_free_bytes: int | None
    """Where the run's folder is."""
    load_milli: int


class Scene(Record):
    """One moment of a run."""

    at_us: int
    """On the clock of the executor's session, as the events of its journal."""
    session: int
    run_dir: str
    devices: tuple[Reading, ...]
    holders: dict[str, dict[int, int | None] | None]
    """Per device: memory by pid; None: the driver does not say."""
    events: tuple[XidEvent, ...]
    """Since the scene before."""
    problem: str
    """Why devices cannot be read, or ""."""
    uses: tuple[Use, ...]
    host: Host
    ended: dict[tuple[str, int], dict[str, Any]]
    """Ends of attempts that were seen running, since the scene before: their journal records."""
    plan: Callable[[], Plan | None]
    """The run's plan, read when it is first asked for."""
    frozen: frozenset[tuple[str, int, int]] = frozenset()
    """Attempts that were made to stand still."""


Tell = dict[str, object]
"""What the monitor tells the executor: `tell` names the kind, the rest is of that kind."""
