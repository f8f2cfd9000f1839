"""The leases of a broker as a file: the next one reads what this one had granted.

The file is renamed into place before a grant is answered. It is not made durable: pids and leases mean
nothing to another boot of the machine.
"""

from __future__ import annotations

import json
import os

from dsec.broker.desk import Lease, Who
from dsec.sweep import boot_id
from dsec.wholefile import write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FORMAT = "dsec.leases/1"


def save(path: str, leases: Iterable[Lease], *, boot: str) -> None:
    """Keep what is held; raises OSError."""
    runs = [{**one.who._asdict(), "devices": one.devices, "used_us": one.used_us} for one in leases]
    text = json.dumps({"format": FORMAT, "boot": boot, "runs": runs}, separators=(",", ":"))
    write_whole(path, [text.encode(), b"\n"], durable=False)


def load(path: str) -> list[Lease] | None:
    """What was held when it was kept last; None: it is not there, or cannot be read."""
    try:
        with open(path, "rb") as file:
            told = json.loads(file.read())
        if told["format"] != FORMAT:
            return None
        return [_lease(one) for one in told["runs"]] if told["boot"] == boot_id() else []
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _lease(told: dict[str, Any]) -> Lease:
    who = Who(str(told["job"]), str(told["path"]), int(told["pid"]), int(told["ticks"]))
    return Lease(who, tuple(map(str, told["devices"])), int(told["used_us"]))


def forget(path: str) -> None:
    """Remove a file that could not be kept: a wrong one is worse than none."""
    try:
        os.unlink(path)
    except OSError:
        return
