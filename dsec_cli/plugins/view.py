"""The shape of an output of a scan; each lies in a file of `views/` and is found because it is there."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.plugins.result import Scan


@dataclass(frozen=True, slots=True)
class Signature:
    """What is known of who made the plugin."""

    status: str
    """`unsigned`, `trusted`, `unknown-key`, `bad`, `modified`, `expired`, `rollback`."""
    detail: str


@dataclass(frozen=True, slots=True)
class View:
    """One way to print a scan."""

    name: str
    render: Callable[[Scan, str, Signature], str]
    """(scan, path as the user wrote it, signature) to the whole text."""
    folded: Callable[[Scan, str, Signature], str] | None = None
    """The same cut down to what one reads at first; None: the whole is for programs."""
