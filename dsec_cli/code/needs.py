"""What an agent's code was found to need: the result of reading it, each need with its place."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.diagnostics import Place

MODULE = "module"
"""Reached by importing or running the module itself."""
UNREACHED = "unreached"
"""Reached from no tool, no entry function and no module's own code."""


class Tool(Record):
    """A function that a model may call."""

    name: str
    framework: str
    function: str
    """Dotted name of the function or class behind it; "" where it is not part of the project."""
    place: Place
    summary: str
    parameters: tuple[str, ...]


class Variable(Record):
    """An environment variable that is read."""

    name: str
    default: str | None
    required: bool
    """The code fails, or goes on without a value, when it is not set."""
    secret: bool
    by: str
    """Dotted name of what reads it."""
    place: Place
    reached: tuple[str, ...]
    """Tools and entry functions from which the code gets here."""


class Egress(Record):
    """A destination that is called."""

    host: str
    port: int | None
    scheme: str
    rate: str | None
    """What the code itself limits it to, as `15req/min`."""
    variable: str
    """The environment variable whose default the host is; "" when it is fixed."""
    by: str
    place: Place
    reached: tuple[str, ...]


class Listen(Record):
    """A port that is listened on; None: not known."""

    host: str | None
    port: int | None
    by: str
    place: Place
    reached: tuple[str, ...]


class Process(Record):
    """A program that is started; None: not known which."""

    program: str | None
    shell: bool
    fixed: bool
    """Every word of the command is known."""
    by: str
    place: Place
    reached: tuple[str, ...]


class FileUse(Record):
    """A file or folder that is touched."""

    path: str
    """As the code names it, relative to the project; `*` stands for what is not known."""
    mode: str
    """`read`, `write` or `delete`."""
    by: str
    place: Place
    reached: tuple[str, ...]


class Execution(Record):
    """Text or data that is run as code."""

    what: str
    """`code`, `data` (unpickling runs what the data says), `download`, `function` or `import`."""
    fixed: bool
    """What is run is written in the project."""
    by: str
    place: Place
    reached: tuple[str, ...]


class Unknown(Record):
    """Something that could not be known by reading."""

    kind: str
    """`egress`, `environment`, `file`, `listen`, `process` or `source`."""
    reason: str
    variable: str
    """The environment variable that decides it; "" when none does."""
    by: str
    place: Place
    reached: tuple[str, ...]


class Unread(Record):
    """A file of the project that could not be read, and why."""

    file: str
    reason: str


class Needs(Record):
    """All that the code was found to need, in the order of files and lines."""

    files_read: int
    tools: tuple[Tool, ...] = ()
    environment: tuple[Variable, ...] = ()
    egress: tuple[Egress, ...] = ()
    listens: tuple[Listen, ...] = ()
    subprocesses: tuple[Process, ...] = ()
    files: tuple[FileUse, ...] = ()
    execution: tuple[Execution, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    unread: tuple[Unread, ...] = ()
    packages: tuple[str, ...] = ()
    """First components of what is imported and is not part of the project."""
