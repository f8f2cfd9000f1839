"""What a check of the machine is."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli import discovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Answer(Record):
    """What a check found."""

    status: str
    """`ok`, `problem` or `unknown`."""
    lines: tuple[str, ...]
    """The first says it, the others are details."""
    mend: str = ""
    """What to do about it."""


class Check(Record):
    """One question about the machine."""

    name: str
    look: Callable[[], Answer]


def find_checks() -> tuple[Check, ...]:
    """Every check, by name."""
    return tuple(sorted(discovery.instances("dsec_cli.doctor.checks", Check)))
