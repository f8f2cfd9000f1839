"""What an import leaves behind, each with its place and reason, and what it takes where nothing is said."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.words import said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.text import SourceText, Span

LONGEST = 72


class Where(Record):
    """A place of a source file; both numbers count from 1."""

    file: str
    line: int
    column: int

    def text(self) -> str:
        """`dvc.yaml:3:5`."""
        return f"{one_line(self.file)}:{self.line}:{self.column}"


class Left(Record):
    """One thing that could not be mapped, and all places where the source has it."""

    what: str
    why: str
    places: tuple[Where, ...]
    open: bool = False
    """The run cannot work before somebody settles it; lint stops until then."""

    def line(self) -> str:
        """The first place, what and why, in one line."""
        more = say(" ({count} places)", count=len(self.places)) if len(self.places) > 1 else ""
        place, what, why = self.places[0].text(), said(self.what), said(self.why)
        return say("{place}: {what}: {why}{more}", place=place, what=what, why=why, more=more)


class Notes:
    """Collects both lists while a file is read; equal statements are joined."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], dict[Where, None]] = {}
        self._open: set[tuple[str, str]] = set()
        self._taken: dict[str, None] = {}

    def left(self, source: SourceText, span: Span, what: str, why: str) -> None:
        """`what` at `span` has no place in a contract, because of `why`."""
        line, column = source.position(span.start)
        self._left.setdefault((one_line(what), one_line(why, 200)), {})[Where(source.name, line, column)] = (
            None
        )

    def open(self, source: SourceText, span: Span, what: str, why: str) -> None:
        """The same for what the run cannot do without."""
        self.left(source, span, what, why)
        self._open.add((one_line(what), one_line(why, 200)))

    def taken(self, text: str) -> None:
        """Something was assumed."""
        self._taken[one_line(text, 200)] = None

    def all_left(self) -> tuple[Left, ...]:
        """Everything left behind, in the order of the first places."""
        found = [
            Left(what, why, tuple(sorted(places)), (what, why) in self._open)
            for (what, why), places in self._left.items()
        ]
        return tuple(sorted(found, key=lambda one: (one.places[0], one.what, one.why)))

    def all_taken(self) -> tuple[str, ...]:
        """Everything assumed, in the order it was."""
        return tuple(self._taken)


def one_line(text: str, longest: int = LONGEST) -> str:
    """`text` as a part of a line: nothing that a terminal or a comment would obey, and not too long."""
    if len(text) <= longest and text.isprintable():
        return text  # as it is: it may be one that can be translated
    plain = "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text[:longest])
    return plain if len(text) <= longest else f"{plain}..."
