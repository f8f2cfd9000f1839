"""Where nobody else is there, a run need not wait for the broker that it starts.

Who was elected and finds that nobody holds anything writes into the leases that it has all devices, as
the broker would before it said so, and begins. The broker reads that and expects the run.
"""

from __future__ import annotations

import os

from dsec import sweep
from dsec.broker import register
from dsec.broker.desk import Lease, Who
from dsec.broker.place import LEASES, Elected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.rundir import RunDir


def first(run: RunDir, folder: str, elected: Elected, devices: Sequence[str]) -> bool:
    """Take all devices for the run; False: somebody has some, or may have."""
    path = f"{folder}/{LEASES}"
    leases = register.load(path)
    if leases or (leases is None and os.pread(elected.lock, 1, 0)):
        return False  # with a broker before and without its leases nobody knows who has what
    me = sweep.look(os.getpid())
    if me is None:
        return False
    lease = Lease(Who(run.job, run.path, me.pid, me.ticks), tuple(devices), 0)
    try:
        register.save(path, [lease], boot=sweep.boot_id())
    except OSError:
        register.forget(path)
        return False
    return True
