"""How far apart two executors of a run began: by the calendar, unless somebody set it meanwhile."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.events import RunStart

TICK_US = 10_000
"""Start times of processes are told in hundredths of a second on Linux, whatever the kernel's own clock."""
SET_US = 2_000_000
"""A calendar that is off by more than the start of an interpreter takes was set."""


def apart_us(first: RunStart, later: RunStart) -> int:
    """Time from the start of one executor to that of another one."""
    by_calendar = (later.wall_ms - first.wall_ms) * 1000
    if later.boot != first.boot or not 0 < first.ticks <= later.ticks:
        return by_calendar
    return trusted(by_calendar, (later.ticks - first.ticks) * TICK_US)


def trusted(by_calendar_us: int, by_kernel_us: int) -> int:
    """The finer of two lengths of time, where they agree."""
    return by_calendar_us if abs(by_calendar_us - by_kernel_us) <= SET_US else by_kernel_us
