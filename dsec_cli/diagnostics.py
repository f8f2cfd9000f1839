"""Findings (a rule's statement, by path) and diagnostics (the same, with its place in a file)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from dsec_cli.source.text import Position, Span
from dsec_cli.source.tree import Path


class Severity(Enum):
    """How much a finding matters; errors and warnings decide the exit code."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Edit(NamedTuple):
    """Replace the code points of `span` by `text`."""

    span: Span
    text: str


class Related(NamedTuple):
    """Another place that belongs to a finding, with what it is."""

    where: Path | Span
    label: str


class Finding(NamedTuple):
    """What a rule states: by path (or span, where no tree exists yet), never by line.

    `part` says which half of a mapping entry is meant: `key`, `value` or `entry` (both).
    """

    code: str
    severity: Severity
    where: Path | Span
    message: str
    reason: str = ""
    help: str = ""
    part: str = "value"
    related: tuple[Related, ...] = ()
    fix: tuple[Edit, ...] = ()


class Place(NamedTuple):
    """A span of a named file, with both ends as positions."""

    file: str
    span: Span
    start: Position
    end: Position


class Diagnostic(NamedTuple):
    """A finding that knows its place; what the output formats render."""

    code: str
    name: str
    severity: Severity
    place: Place
    path: str
    """Logical path with Step ids: `steps[S3].timeout`."""
    message: str
    reason: str
    help: str
    related: tuple[tuple[Place, str], ...]
    fix: tuple[Edit, ...]
