"""What a section of a snapshot is made of, and what capturing and comparing one has at hand."""

from __future__ import annotations

import os

from dsec.record import Record
from dsec_cli.snapshot.hashes import Hashes
from dsec_cli.snapshot.manifest import ABSENT, PARTIAL, PRESENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dsec.inventory import Inventory
    from dsec.rundir import RunDir
    from dsec.store import Store
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.redaction import Found, Redactor

    Reader = Callable[[str], "bytes | None"]
    """Content id -> bytes; None: not kept here."""


class Wanted(Record):
    """What the user asked to have in a snapshot."""

    code: bool = True
    deps: bool = True
    deps_content: bool = False
    full_state: bool = False
    data: tuple[str, ...] = ()
    budget: int | None = None
    """Bytes that the code may have; None: no limit."""
    kind: str = "manual"
    excluded: Callable[[str], bool] | None = None
    """Whether the contract leaves this path out (its include-code)."""


class Scene:
    """What is captured, and with which means."""

    def __init__(
        self,
        *,
        folder: str,
        state: str,
        environ: Mapping[str, str],
        store: Store,
        redactor: Redactor,
        wanted: Wanted,
        argv: tuple[str, ...] | None = None,
        run: RunDir | None = None,
        inventory: Inventory | None = None,
        pids: tuple[int, ...] = (),
    ) -> None:
        self.folder, self.state = folder, state
        """Absolute: what the code is taken from, and the `.dsec` folder."""
        self.environ, self.store, self.redactor, self.wanted = environ, store, redactor, wanted
        self.argv, self.run = argv, run
        """The command line of the run, and the run; None: there is none."""
        self.inventory = inventory
        """A described machine, in place of this one."""
        self.pids = pids
        """Processes of the run that are alive."""
        self.redactions: list[tuple[str, Found]] = []
        """(where, what) of all that was not taken in as it is."""
        self.hashes = Hashes(os.path.join(state, "cache", "hashes.json"))
        self.memory: dict[str, object] = {}
        """What one section found out and another needs, too."""


class Captured(Record):
    """What capturing a section came to."""

    status: str
    reason: str
    data: Plain
    trees: tuple[tuple[str, str], ...] = ()
    contents: tuple[tuple[str, str], ...] = ()
    size: int = 0
    """Bytes beside the document."""


class Difference(Record):
    """One thing that differs between two snapshots."""

    section: str
    kind: str
    """`added`, `removed`, `changed`, or `unknown`: it cannot be compared."""
    subject: str
    before: str
    """As a person reads it; "" where there is nothing."""
    after: str
    weight: int = 0
    """The higher, the likelier it changes what a run computes."""
    cause: str = ""
    """Why it is known to; "" where it is not."""
    path: str = ""
    """The file it is in."""
    line: int = 0
    """From 1, in the newer state; 0: none."""
    hunks: tuple[Hunk, ...] = ()


class Hunk(Record):
    """Changed lines of a file with those around them."""

    before_at: int
    """Number of the first line before, from 1."""
    after_at: int
    where: str
    """The function or class that they are in; ""."""
    lines: tuple[tuple[str, str], ...]
    """(sign, text): " " kept, "-" only before, "+" only after."""


class Side(Record):
    """A section of one of two snapshots."""

    status: str
    reason: str
    data: Plain
    trees: Mapping[str, str]
    contents: Mapping[str, str]
    store: Store
    """Where the content of this side is."""
    key: str
    """Which key made its digests."""


class Pair(Record):
    """What is compared: the same section, before and after."""

    before: Side
    after: Side
    live: bool = False
    """The newer is this machine as it is now."""


class Part(Record):
    """A section: found because its module is there."""

    name: str
    title: str
    order: int
    capture: Callable[[Scene], Captured]
    compare: Callable[[Pair], Iterable[Difference]]


def present(data: Plain, **more: Plain) -> Captured:
    """A section that is all there."""
    return Captured(PRESENT, "", data, **more)


def absent(reason: str) -> Captured:
    """A section that is not there, and why."""
    return Captured(ABSENT, reason, None)


def partial(reason: str, data: Plain, **more: Plain) -> Captured:
    """A section that is there in part, and why."""
    return Captured(PARTIAL, reason, data, **more)


def judged(reasons: Iterable[str], data: Plain, **more: Plain) -> Captured:
    """Present without reasons against it, else partial for all of them."""
    told = "; ".join(reasons)
    return partial(told, data, **more) if told else present(data, **more)
