"""What is looked at once for each picture: the run, the devices, the processes, a log, the clock."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsec.devices.reading import Reading
    from dsec_cli.screen.watch import Watch


MOST_READINGS = 8192
"""Kept of each device: more than two hours of a reading a second."""


class Use(Record):
    """What the processes of a running attempt use; None: not known."""

    rss_bytes: int | None
    cpu_permille: int | None
    """Of one processor, since the look before."""


class Trace(Record):
    """Readings of one device so far, in order of time, from the start of the first executor."""

    times_us: list[int]
    busy: list[int | None]
    memory: list[int | None]

    def add(self, at_us: int, busy: int | None, memory: int | None) -> None:
        """Add a reading that is later than all; of those long ago every second one is forgotten."""
        if self.times_us and at_us <= self.times_us[-1]:
            return
        self.times_us.append(at_us)
        self.busy.append(busy)
        self.memory.append(memory)
        if len(self.times_us) > MOST_READINGS:
            for some in (self.times_us, self.busy, self.memory):
                del some[1 : MOST_READINGS // 2 : 2]


class Scene(Record):
    """One moment of a run."""

    job: str
    state: str
    """`running`, `dead` or how it ended."""
    clock: str
    """Time of day."""
    now_us: int
    """On the clock of the last executor."""
    watch: Watch
    readings: Sequence[Reading]
    problem: str
    """Why no device is read, or ""."""
    read_us: int | None
    """When the readings were taken, on the clock of `run_us`; None: now."""
    uses: Mapping[tuple[str, int], Use]
    traces: Mapping[str, Trace]
    log: Sequence[str]
    log_name: str
    """"": nothing has been written."""
    read_permille: int = 1000
    """Of the journal: a long one is read piece by piece."""

    @property
    def run_us(self) -> int:
        """From the start of the first executor."""
        return self.watch.holdings.time(self.now_us)


class Wish(Record):
    """What whoever looks has chosen."""

    chosen: str
    """A Step, or "": the first that runs."""
    view: str = "run"
    """`run`, `log`, `heat` or `notices`."""
    still: bool = False
    """The picture stands still."""


def chosen_of(scene: Scene, wish: Wish) -> str:
    """The Step whose log is shown."""
    if wish.chosen in scene.watch.steps:
        return wish.chosen
    for step, _ in scene.watch.fold.running:
        return step
    return scene.watch.plan.steps[0].id if scene.watch.plan.steps else ""
