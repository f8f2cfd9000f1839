"""The promise to a Step that does not fit: what starts behind it does not delay it.

The runtime's side of what `machine` plans. Ends are expected ones, so this is as good as the
estimates are; an attempt that runs longer than expected is taken to end now, and then nothing that
the Step needs is given to another.
"""

from __future__ import annotations

from dsec.core.leases import Ledger
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.core.leases import Lease
    from dsec.plan import Demand


class Held(Record):
    """A running attempt's lease, and when it is expected back."""

    end: int
    lease: Lease


def delays(ledger: Ledger, waiting: Demand, started: Held, running: Iterable[Held]) -> bool:
    """Whether the Step that has just got `started.lease` would keep `waiting` from starting in time.

    `running` are the others; what else the ledger holds is not expected back.
    """
    if not _contended(ledger, waiting, started.lease):
        return False
    later = ledger.copy()
    later.release(started.lease)
    expected = sorted(running, key=lambda one: one.end)
    for at, held in enumerate(expected):
        later.release(held.lease)
        if at + 1 < len(expected) and expected[at + 1].end == held.end:
            continue
        if later.grant(waiting) is not None:
            return held.end < started.end and not later.hold(started.lease)
    return False  # it waits for something that no attempt holds


def _contended(ledger: Ledger, waiting: Demand, lease: Lease) -> bool:
    """Whether the two could want the same thing at all."""
    if lease.devices and waiting.gpu_count:
        return True
    return not ledger.has_beside(waiting)
