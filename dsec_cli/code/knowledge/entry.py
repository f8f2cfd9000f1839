"""One entry of the knowledge base, and its parts."""

from __future__ import annotations

from dsec.record import Record

UNKNOWN = "unknown: "
"""Start of an egress item that says why the destination cannot be known from the name alone."""
ARGUMENT = "argument"
"""Path of a file that the caller chooses."""


class EnvName(Record):
    """An environment variable that is read."""

    name: str
    required: bool
    """It fails without it, unless the value is handed over as an argument."""
    secret: bool


class FileUse(Record):
    """A file or folder that is touched."""

    access: str
    """`read`, `write` or `read-write`."""
    path: str
    """A path, or `argument` where the caller chooses."""


class Entry(Record):
    """What one tool, client or server does; None: not known."""

    name: str
    kind: str
    framework: str
    imports: tuple[str, ...]
    """Names by which code reaches it, such as `openai.OpenAI` or `boto3.client(s3)`."""
    function: str
    egress: tuple[str, ...]
    """`host:port` each (`*` stands for a whole label), or `unknown: reason`; empty: calls nobody."""
    env: tuple[EnvName, ...]
    files: tuple[FileUse, ...]
    subprocess: bool | None
    executes: bool | None
    """It runs code or commands that are its input."""
    privileges: str | None = None
    rate: str | None = None
    """The provider's own limit, as `1req/s`."""
    rate_source: str | None = None
    calls: str | None = None
    """`blocking`, `async` or `both`."""
    streams: bool | None = None
    cost: str | None = None
    notes: str | None = None
    source: str | None = None
    checked: str | None = None
    """ISO date on which the entry was compared with its source."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The destinations that are known, `host:port` each."""
        return tuple(item for item in self.egress if not item.startswith(UNKNOWN))

    @property
    def unknown_egress(self) -> tuple[str, ...]:
        """Why more destinations than `hosts` are possible; empty: they are all."""
        return tuple(item[len(UNKNOWN) :] for item in self.egress if item.startswith(UNKNOWN))
