"""What an output format is, and what it is given."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dsec_cli.diagnostics import Diagnostic, Severity
    from dsec_cli.source.text import SourceText

    Tell = Callable[[str], str]
    """A text of ours in the language that was asked for."""


SECRETS = frozenset(("DS601",))
"""Codes whose place is a secret: output shows where it is, never what it is."""


class RuleInfo(Record):
    """A rule as its page describes it."""

    code: str
    name: str
    severity: Severity
    summary: str
    """First sentence of the page."""
    page: str
    """The whole page, Markdown."""
    why: str = ""
    """The paragraph that says why the rule exists."""


def as_it_is(text: str) -> str:
    """English, which every text of ours is written in."""
    return text


class Report(Record):
    """All that one lint found, and how it is to be shown."""

    files: tuple[str, ...]
    """Every file that was checked, findings or not, in order."""
    texts: Mapping[str, SourceText]
    diagnostics: tuple[Diagnostic, ...]
    """Sorted by file, place and code; those that do not count say why (`silenced`)."""
    rules: Callable[[], tuple[RuleInfo, ...]]
    """Pages of the rules that ran, by code; read only by formats that carry them."""
    color: bool = False
    width: int = 80
    quiet: bool = False
    fold: bool = False
    """Fold headlines too: for a terminal, which would break them anywhere; never for a file or pipe."""
    notes: tuple[str, ...] = ()
    """What the run itself has to say: older findings left out, entries of a baseline that are gone."""
    tell: Tell = as_it_is
    """For the words of the formats themselves; diagnostics and notes are translated before."""

    def counting(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that nothing silences."""
        return tuple(one for one in self.diagnostics if one.silenced is None)


class Format(Record):
    """One way to write a report down; its module is named like it."""

    name: str
    pieces: Callable[[Report], Iterable[str]]
    """The text in parts, so that nobody has to hold the whole of twenty thousand findings."""

    def render(self, report: Report) -> str:
        """The whole text."""
        return "".join(self.pieces(report))
