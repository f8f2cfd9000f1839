"""What a fleet file states."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.pace import Span
    from dsec.core.simulated import Manners
    from dsec.inventory import Inventory
    from dsec.plan import Demand
    from dsec_cli.simulation.draws import Lasts

HOLDS = ("step", "agent")


class Machine(Record):
    """One server."""

    name: str
    inventory: Inventory
    """Its devices' UUIDs are `NAME/INDEX`."""


class Part(Record):
    """One Step of every agent of a class."""

    id: str
    demand: Demand
    lasts: Lasts
    needs: tuple[str, ...]
    span: Span | None


class Arrival(Record):
    """When the agents of a class come."""

    kind: str
    """`at`: all at once; `within`: by chance, within so long; `every`: by chance, so far apart."""
    ms: int
    start_ms: int


class Agents(Record):
    """A class of agents."""

    name: str
    many: int
    level: str
    arrival: Arrival
    rounds: int
    checkpoint_ms: int
    grace_ms: int
    parts: tuple[Part, ...]


class Fleet(Record):
    """Servers, agents, faults and assumptions."""

    name: str
    seed: int
    hold: str
    """`step`: an agent holds what its present Step takes; `agent`: what any does, until its end."""
    machines: tuple[Machine, ...]
    agents: tuple[Agents, ...]
    faults: tuple[str, ...]
    """As `--fault` takes them."""
    manners: Manners
    prices: tuple[tuple[str, int], ...]
    """Device type and millionths per device-hour; "": every other type."""
