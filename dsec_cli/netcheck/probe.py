"""What a probe of the path is: one measurement, both of its ends."""

from __future__ import annotations

from typing import Any

from dsec.record import Record
from dsec_cli import discovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec_cli.netcheck.line import Ask, End, Line


class Probe(Record):
    """One measurement; found by being there."""

    name: str
    order: int
    """Probes run by ascending order: later ones use what earlier ones found."""
    reading: type[Any]
    """The record that it gives."""
    measure: Callable[[Line, Ask], Any]
    """This end's half; raises LineLost where the other end goes."""
    answer: Callable[[End, dict[str, Any]], dict[str, Any]]
    """The other end's half; what it returns is the last thing that it says."""
    combined: Callable[[Sequence[Any]], Any] | None = None
    """Several processes' readings as one; None: one process is enough."""
    repeated: Callable[[Callable[[], Any]], Any] | None = None
    """Measures again what says little the first time; None: once is enough."""


def find_probes() -> tuple[Probe, ...]:
    """Every probe, in the order in which they are made."""
    found = discovery.instances("dsec_cli.netcheck.probes", Probe)
    return tuple(sorted(found, key=lambda probe: probe.order))
