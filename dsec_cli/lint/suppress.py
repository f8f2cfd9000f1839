"""Suppression comments: `# dsec: ignore[DS203] reason`, and what each of them covers.

`until=2027-01-31` before the reason lets one end by itself; `ignore-file` covers the whole text.

A comment at the end of a line covers the findings of that line and of what hangs below its key;
a comment on a line of its own covers the next key and its subtree. Text inside block scalars is
no comment, so nothing there suppresses.
"""

from __future__ import annotations

from bisect import bisect_left

from dsec.record import Record
from dsec_cli.diagnostics import Silenced
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Mapping as Table

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.source.tree import Comment, Node, Tree

MARK = "dsec:"
MARKS = (MARK, "DSEC:", "Dsec:", "DSec:")
"""How people write it; all are read."""
VERB, VERB_FILE = "ignore", "ignore-file"
UNTIL = "until="


class Suppression(Record):
    """One code that one comment silences over a range of the text."""

    code: str
    """"" when the comment names none."""
    comment: Span
    covers: Span
    reason: str
    until: str = ""
    """The last day on which it holds, as written; "" for ever."""
    written: str = ""
    """The code, or the name of its rule, as the comment has it."""


class Said(Record):
    """A suppression comment taken apart."""

    codes: tuple[str, ...]
    until: str
    reason: str
    whole: bool


def named(suppressions: tuple[Suppression, ...], codes: Table[str, str]) -> tuple[Suppression, ...]:
    """The suppressions with codes for the names of rules, and for codes in small letters."""
    return tuple(
        one._replace(code=codes.get(one.code.lower(), one.code), written=one.code) for one in suppressions
    )


def is_day(text: str) -> bool:
    """Whether `text` is a day as suppressions write it: 2027-01-31."""
    year, month, day = (*text.split("-"), "", "")[:3]
    if [len(year), len(month), len(day), len(text)] != [4, 2, 2, 10] or not text.isascii():
        return False
    if not (year + month + day).isdigit() or not 1 <= int(month) <= 12:
        return False
    leap = int(year) % 4 == 0 and (int(year) % 100 != 0 or int(year) % 400 == 0)
    longest = 29 + leap - 1 if month == "02" else 30 if month in ("04", "06", "09", "11") else 31
    return 1 <= int(day) <= longest


def expired(suppression: Suppression, today: str) -> bool:
    """Whether its last day is over; one whose day cannot be read never holds."""
    if not suppression.until:
        return False
    return not is_day(suppression.until) or (today != "" and suppression.until < today)


def read(text: str, tree: Tree) -> tuple[Suppression, ...]:
    """Every suppression in the comments of `tree`, in text order."""
    if not any(mark in text for mark in MARKS):
        return ()
    asked = [(comment, said) for comment in tree.comments if (said := _asked(comment.text)) is not None]
    if not asked:
        return ()
    spans = sorted(_spans(tree))
    starts = [span.start for span in spans]
    lines = _lines(text, [comment for comment, _ in asked])
    covered: dict[int, Span] = {}
    found: list[Suppression] = []
    for (comment, said), start in zip(asked, lines, strict=True):
        if start not in covered:
            line_end = _line_end(text, start)
            begun = spans[bisect_left(starts, start) : bisect_left(starts, line_end)]
            covered[start] = Span(start, max([line_end, *(span.end for span in begun)]))
        covers = Span(0, len(text) + 1) if said.whole else covered[start]
        found.extend(Suppression(code, comment.span, covers, said.reason, said.until) for code in said.codes)
    return tuple(found)


def directive(comment: str) -> str:
    """`dsec: ignore[...] ...` of a comment, also behind another one's text; "" where there is none."""
    at = -1
    while (at := comment.find("#", at + 1)) >= 0:
        body = comment[at:].lstrip("#").strip()
        if body[: len(MARK)].lower() == MARK:
            return body
    return ""


def _asked(comment: str) -> Said | None:
    """The parts of `# dsec: ignore[CODE, CODE] reason`; None when it is another comment."""
    body = directive(comment)
    if not body:
        return None
    order = body[len(MARK) :].strip()
    if not order.startswith(VERB):
        return None
    whole = order.startswith(VERB_FILE)
    rest = order[len(VERB_FILE if whole else VERB) :]
    if rest[:1].isalnum():
        return None
    rest = rest.lstrip()
    if not rest.startswith("["):
        return Said(("",), "", rest.strip(), whole)
    inside, closed, reason = rest[1:].partition("]")
    codes = tuple(dict.fromkeys(code.strip() for code in inside.split(",") if code.strip()))
    if not closed or not codes:
        return Said(("",), "", reason.strip(), whole)
    reason = reason.strip(" \t:-")
    until = ""
    if reason[:6] == "until " and is_day(reason[6:].strip()[:10]):
        reason = UNTIL + reason[6:].strip()
    if reason.startswith(UNTIL):
        until, _, reason = reason[len(UNTIL) :].partition(" ")
        until, reason = until.rstrip(":,;"), reason.strip(" \t:-")
        # `until=` with nothing behind it is a day that cannot be read, not a suppression for ever.
        until = until or "?"
    return Said(codes, until, reason, whole)


def _lines(text: str, comments: list[Comment]) -> list[int]:
    """Where the lines begin that comments speak about: each one's own, or the next that says something."""
    found: list[int] = []
    spoken: dict[int, int] = {}
    """Line of a comment -> the line it speaks about: a thousand in a row ask the same."""
    for comment in reversed(comments):
        own = start = text.rfind("\n", 0, comment.span.start) + 1
        if not text[own : comment.span.start].strip():
            start = spoken[own] = _next_statement(text, comment.span.end, spoken)
        found.append(start)
    return found[::-1]


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _next_statement(text: str, offset: int, known: dict[int, int]) -> int:
    """Start of the first line after `offset` that is neither empty nor a comment; some are `known`."""
    at = _line_end(text, offset) + 1
    while at < len(text):
        if at in known:
            return known[at]
        line = text[at : _line_end(text, at)].strip()
        if line and not line.startswith("#"):
            return at
        at = _line_end(text, at) + 1
    return len(text)


def _spans(tree: Tree) -> Iterator[Span]:
    """Ranges of all entries and items: from the first character to the end of what hangs below."""
    waiting: list[Node] = [document.root for document in tree.documents if document.root is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            for key, value in node.entries:
                yield Span(key.span.start, max(key.span.end, value.span.end))
                waiting.append(value)
        elif isinstance(node, Sequence):
            for item in node.items:
                yield item.span
                waiting.append(item)


def apply(
    diagnostics: Iterable[Diagnostic], suppressions: tuple[Suppression, ...]
) -> tuple[list[Diagnostic], frozenset[Suppression]]:
    """`diagnostics`, those that a comment covers marked as silenced, and the suppressions that were used."""
    marked = list(diagnostics)
    by_code: dict[str, list[Suppression]] = {}
    for one in suppressions:
        by_code.setdefault(one.code, []).append(one)
    used: set[Suppression] = set()
    for code, mine in by_code.items():
        found = sorted((one.place.span.start, at) for at, one in enumerate(marked) if one.code == code)
        places = [place for place, _ in found]
        used.update(one for one in mine if _between(places, one.covers))
        for (_, at), owner in zip(found, _owners(places, mine), strict=True):
            if owner is not None:
                marked[at] = marked[at]._replace(silenced=Silenced("comment", owner.reason))
    return marked, frozenset(used)


def _between(places: list[int], span: Span) -> range:
    """Which of sorted places are in a span."""
    return range(bisect_left(places, span.start), bisect_left(places, span.end))


def _owners(places: list[int], suppressions: list[Suppression]) -> list[Suppression | None]:
    """The first suppression that covers each of the sorted places; a thousand may cover all of them."""
    owners: list[Suppression | None] = [None] * len(places)
    free = list(range(len(places) + 1))
    """From each place on, the way to the next that has no owner yet."""
    for one in suppressions:
        inside = _between(places, one.covers)
        first = inside.start
        while (first := _next_free(free, first)) < inside.stop:
            owners[first] = one
            free[first] = first + 1
    return owners


def _next_free(free: list[int], at: int) -> int:
    while free[at] != at:
        free[at] = free[free[at]]
        at = free[at]
    return at
