"""The shape of a question about a plugin; each lies in a file of `checks/` found because it is there."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding


@dataclass(frozen=True, slots=True)
class Check:
    """One question; `codes` are the reason codes that it may answer with."""

    name: str
    codes: tuple[str, ...]
    check: Callable[[Facts], Iterable[Finding]]


def find_checks() -> tuple[Check, ...]:
    """All checks, by name."""
    from dsec_cli.discovery import instances

    return instances("dsec_cli.plugins.checks", Check)
