"""What a check of the machine is."""

from __future__ import annotations

import os

from dsec.record import Record
from dsec_cli import discovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.doctor.host import Host

OK, NOTE, PROBLEM, UNKNOWN, ABSENT = "ok", "note", "problem", "unknown", "absent"
ERROR, WARNING = "error", "warning"


class Answer(Record):
    """What a check found."""

    status: str
    """`ok`; `note`: worth knowing; `problem`; `unknown`: not found out; `absent`: not here at all."""
    lines: tuple[str, ...]
    """The first says it, the others are its evidence."""
    mend: str = ""
    """What to do about it."""
    severity: str = ""
    """Of a problem: `error` where runs fail or go wrong, `warning` where they are slower or at risk."""


class Check(Record):
    """One question about the machine."""

    name: str
    look: Callable[[Host], Answer]
    words: tuple[str, ...] = ()
    """What `--require` may call it besides its name."""
    budget_s: float = 3.0
    """How long it may take; afterwards its answer is `unknown`."""
    of_gpus: bool = False
    """Whether it looks at nothing but the GPUs' facts, so that it can judge another machine's output."""
    fix: Callable[[Host], str] | None = None
    """Mends it without asking, and says what was done; only what harms nothing and nobody."""


def find_checks() -> tuple[Check, ...]:
    """Every check, by name."""
    return tuple(sorted(discovery.instances("dsec_cli.doctor.checks", Check)))


def as_root(command: str) -> str:
    """A command that needs root, as this user has to write it."""
    return command if os.geteuid() == 0 else f"sudo {command}"


def problem(text: str, *evidence: str, mend: str = "", severity: str = WARNING) -> Answer:
    """Something that is to be mended."""
    return Answer(PROBLEM, (text, *evidence), mend, severity)


def fine(text: str, *evidence: str) -> Answer:
    """Nothing to do."""
    return Answer(OK, (text, *evidence))
