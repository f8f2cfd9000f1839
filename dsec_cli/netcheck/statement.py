"""One statement about a flow or a host."""

from __future__ import annotations

from dsec.record import Record

OK, NOTE, PROBLEM, UNKNOWN, ABSENT = "ok", "note", "problem", "unknown", "absent"
"""`absent`: there is nothing to measure on these hosts, which is no fault."""


class Statement(Record):
    """What is so, what it rests on, and the command that would mend it."""

    aspect: str
    """`reach`, `latency`, `mtu`, `ecn`, `loss`, `rate`, `queue`, `tcp`, `flow`, `contract`, `nic`, ..."""
    state: str
    text: str
    cause: str = ""
    """Whose doing it is: `here`, `peer`, `path`, or the address of a hop; "": none, or not known."""
    mend: str = ""
