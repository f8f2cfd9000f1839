"""Findings as a Markdown table, for summaries of CI jobs and comments."""

from __future__ import annotations

from dsec.markup import markdown_text
from dsec_cli.diagnostics import SEVERITY_WORDS
from dsec_cli.report.format import Format
from dsec_cli.report.formats.text import summary
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.report.format import Report, Tell


def pieces(report: Report) -> Iterator[str]:
    """The sum, a table of what counts, and notes."""
    tell = report.tell
    counting = report.counting()
    yield f"**{_plain(summary(report._replace(color=False)))}**\n"
    if counting:
        titles = (say("place"), say("severity"), say("rule"), say("finding"))
        yield f"\n{_row(*map(tell, titles))}\n{_row(*['---'] * len(titles))}\n"
        for one in counting:
            yield _finding(one, tell) + "\n"
    if report.notes:
        yield "\n"
    for note in report.notes:
        yield f"- {_plain(note)}\n"


def _finding(one: Diagnostic, tell: Tell) -> str:
    start = one.place.start
    place = f"{_plain(one.place.file)}:{start.line}:{start.column}"
    words = [_plain(one.message)]
    if one.help:
        words.append(tell(say("help: {text}", text=_plain(one.help))))
    return _row(place, tell(SEVERITY_WORDS[one.severity]), f"{one.code} {one.name}", "<br>".join(words))


def _row(*texts: str) -> str:
    return f"| {' | '.join(texts)} |"


def _plain(text: str) -> str:
    """`text` on one line, with nothing in it that Markdown or HTML would read as markup."""
    return markdown_text(text)


FORMAT = Format("markdown", pieces)
