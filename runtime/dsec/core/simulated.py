"""What a simulation is given, and what comes out of it; times are milliseconds from its start."""

from __future__ import annotations

from dsec.plan import Demand
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsec.core.pace import Span
    from dsec.inventory import Inventory
    from dsec.plan import Iterations, PlannedStep

NOTHING = Demand(0, 0, 0, 0, (), 0, 0)
"""What an arrival takes."""
FAULTS = ("gpu-lost", "node-lost", "slow", "straggler")


class Fault(Record):
    """Something that goes wrong at a given time."""

    kind: str
    """One of FAULTS."""
    at_ms: int
    devices: tuple[str, ...]
    """`gpu-lost` and `slow`: which."""
    machine: int
    """`node-lost`: which; -1: one that has only these devices of its own."""
    steps: frozenset[int]
    """`straggler`: which Steps; the one that runs, or else the next to start."""
    permille: int
    """`slow`: what is left of the speed; `straggler`: what becomes of the work; in thousandths."""
    for_ms: int
    """How long it lasts; 0: for good."""
    text: str
    """As it was stated."""


class Workload(Record):
    """Steps to be simulated, and how they really behave."""

    steps: Sequence[PlannedStep]
    iterations: Iterations
    lengths_ms: Sequence[int]
    """Per Step: what it takes on the quickest devices that it may have, with its baseline of them."""
    jobs: Sequence[int]
    """Per Step: the job that it belongs to."""
    arrivals: Mapping[int, int]
    """Steps that stand for the arrival of their job, each with its time."""
    checkpoints_ms: Sequence[int]
    """Per Step: how much of its work is lost at most when its device is; 0: all of it."""
    spans: Mapping[int, Span]
    """Steps that may start on fewer or more GPUs than their baseline."""


class Manners(Record):
    """How machines and runtime are assumed to behave."""

    detect_ms: int = 0
    """From a fault until it is noticed."""
    restore_ms: int = 0
    """What a Step that goes on, or begins again after a fault, takes before it works."""
    preempt: bool = False
    """Whether a critical Step that does not fit may have others stopped."""
    quick: bool = False
    """Whether the quickest free devices are taken rather than those that fit best."""
    quicks: Sequence[bool] | None = None
    """The same per Step; None: for all the same."""


class Piece(Record):
    """One attempt, from its start to its end."""

    at: int
    iteration: int
    attempt: int
    ready_ms: int
    """Since when it waited."""
    from_ms: int
    to_ms: int
    machine: int
    devices: tuple[str, ...]
    cause: str
    """`ok`; `killed`, `paused` or `shrunk` for a critical Step; `gpu-lost` or `node-lost`."""
    lost_ms: int
    """Work that has to be done again, as time on its devices."""


class Kept(Record):
    """Devices that a resident worker held while it served no call."""

    worker: str
    devices: tuple[str, ...]
    from_ms: int
    to_ms: int


class Recovery(Record):
    """What a fault did, and how long until all that it hit ran again."""

    fault: Fault
    hit: int
    """Attempts that it ended, or slowed down."""
    waits_ms: tuple[int, ...]
    """Per attempt that it ended: from the fault until it worked again, or was done."""
    open: int
    """Attempts that it ended and that never ran again."""


class History(Record):
    """All that happened."""

    pieces: tuple[Piece, ...]
    end_ms: int
    recoveries: tuple[Recovery, ...]
    away: tuple[tuple[str, int, int], ...]
    """Devices that were lost: which, from when, until when."""
    never: tuple[tuple[int, int], ...]
    """Instances (Step, iteration) that were not done in the end."""
    kept: tuple[Kept, ...] = ()
    evicted: tuple[tuple[str, int], ...] = ()
    """Resident workers that made room for others, and when."""


class Scene(Record):
    """What is simulated, where, and what goes wrong."""

    work: Workload
    machines: Sequence[Inventory]
    faults: Sequence[Fault] = ()
    manners: Manners = Manners()
