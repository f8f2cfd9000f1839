"""Applies the fixes of findings to a text, and takes back each one that does more than it says.

A fix stays when the text is read again and differs at its edits only, every comment is the same
(but one that left with its entry), its finding is gone, and no error has come. Rounds go on until
nothing is left to mend, so a second run changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left

from dsec.record import Record
from dsec_cli.diagnostics import Severity
from dsec_cli.lint.edits import MARK
from dsec_cli.lint.proof import change_elsewhere, flatten
from dsec_cli.lint.splice import Shift, disjoint, in_order, spliced, text_with
from dsec_cli.source.yaml import parse
from dsec_cli.words import english, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from dsec_cli.diagnostics import Diagnostic, Edit, Fix
    from dsec_cli.lint.proof import Flat
    from dsec_cli.source.text import Position, SourceText, Span
    from dsec_cli.source.tree import Comment, Tree

    Lint = Callable[[SourceText], Sequence[Diagnostic]]
    Read = Callable[[SourceText], Tree]
    T = TypeVar("T")

MOST_ROUNDS = 8
MOST_READ, FEWEST_TRIALS = 2**19, 12
"""Characters that are linted anew to tell which of many fixes is to blame; a few trials are always made."""


class Mended(Record):
    """A fix that was applied."""

    code: str
    title: str
    at: Position
    comments: tuple[str, ...]
    """Comments that left with their entry."""


class Kept(Record):
    """A fix that was not applied, and why."""

    code: str
    title: str
    at: Position
    why: str


class Outcome(Record):
    """What became of a text."""

    text: SourceText
    mended: tuple[Mended, ...]
    kept: tuple[Kept, ...]


class _State(Record):
    """A text, and all that is known of it."""

    text: SourceText
    tree: Tree
    found: Sequence[Diagnostic]


class _Wanted(Record):
    """A fix with its finding."""

    one: Diagnostic
    fix: Fix
    edits: tuple[Edit, ...]


def fixed(text: SourceText, lint: Lint, *, unsafe: bool = False, read: Read = parse) -> Outcome:
    """`text` with the safe fixes (all, if `unsafe`) of what `lint` finds in it; `read` reads it."""
    if text.undecodable is not None:
        # Of bytes that are no text nobody can say which of them an edit would touch.
        return Outcome(text, (), ())
    state = _State(text, read(text), lint(text))
    mended: list[Mended] = []
    left = max(FEWEST_TRIALS, MOST_READ // max(1, len(text.text)))
    for _ in range(MOST_ROUNDS):
        trial = _Trial(state, lint, left, read=read)
        good, refused = _round(trial, _wanted(state, unsafe=unsafe))
        if not good:
            return Outcome(state.text, tuple(mended), tuple(_kept(one, why) for one, why in refused))
        mended += [_mended(state, one) for one in good]
        left = trial.left
        # What was refused is asked again: it may have been in the way of another fix only.
        state = trial.state_with(good)
    why = say("there is still something to mend after {rounds} rounds", rounds=MOST_ROUNDS)
    open_still = _wanted(state, unsafe=unsafe)
    return Outcome(state.text, tuple(mended), tuple(_kept(one, why) for one in open_still))


def _round(trial: _Trial, wanted: list[_Wanted]) -> tuple[list[_Wanted], list[tuple[_Wanted, str]]]:
    """As many of the fixes as can be made at once; when it is none, each has been tried and refused."""
    refused: list[tuple[_Wanted, str]] = []
    while wanted:
        some = _compatible(wanted)
        good, bad = accepted(some, trial.bounded_refusal)
        if good:
            return good, bad
        refused += bad
        wanted = [one for one in wanted if one not in some]
    return [], refused


def accepted(
    units: Sequence[T], refusal: Callable[[Sequence[T]], str]
) -> tuple[list[T], list[tuple[T, str]]]:
    """Units that together are not refused, as many as halving finds, and the others with the reason."""
    good: list[T] = []
    bad: list[tuple[T, str]] = []
    waiting = [list(units)] if units else []
    while waiting:
        some = waiting.pop()
        why = refusal([*good, *some])
        if not why:
            good += some
        elif len(some) == 1:
            bad.append((some[0], why))
        else:
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
    return good, bad


def _wanted(state: _State, *, unsafe: bool) -> list[_Wanted]:
    """The first fix of every finding that may be applied, from left to right."""
    found = []
    for one in state.found:
        fix = next((fix for fix in one.fixes if fix.edits and (fix.safe or unsafe)), None)
        if fix is not None and one.silenced is None and _possible(state.text, fix):
            found.append(_Wanted(one, fix, tuple(in_order(fix.edits))))
    return sorted(found, key=lambda one: (one.edits[0].span, one.edits[-1].span, _key(one)))


def _possible(text: SourceText, fix: Fix) -> bool:
    """Whether the edits lie in the text; without its mark, only UTF-8 can still be read."""
    return all(
        0 <= start <= end <= len(text.text) or ((start, end) == MARK and text.encoding == "utf-8")
        for (start, end), _ in fix.edits
    )


def _compatible(wanted: list[_Wanted]) -> list[_Wanted]:
    """From left to right, each fix that begins where the one before it has ended."""
    chosen: list[_Wanted] = []
    end = MARK.start
    for one in wanted:
        if one.edits[0].span.start >= end and disjoint(list(one.edits)):
            chosen.append(one)
            end = one.edits[-1].span.end
    return chosen


def _key(one: _Wanted) -> tuple[str, ...]:
    return (one.one.code, one.one.path, english(one.one.message), english(one.fix.title))


def _kept(one: _Wanted, why: str) -> Kept:
    return Kept(one.one.code, one.fix.title, one.one.place.start, why)


def _mended(state: _State, one: _Wanted) -> Mended:
    gone: dict[Span, str] = {}
    for (start, end), new in one.edits:
        for comment in _comments_in(state.tree.comments, start, end):
            if comment.text.strip() not in new and comment.span != one.one.place.span:
                gone[comment.span] = comment.text.rstrip()
    return Mended(one.one.code, one.fix.title, one.one.place.start, tuple(gone.values()))


def _comments_in(comments: tuple[Comment, ...], start: int, end: int) -> Iterator[Comment]:
    """Those that lie in a range, of all that there are in the order of the text."""
    for at in range(bisect_left(comments, start, key=lambda one: one.span.start), len(comments)):
        if comments[at].span.end > end:
            return
        yield comments[at]


class _Trial:
    """One round: sets of fixes tried on the same text."""

    def __init__(self, before: _State, lint: Lint, left: int, *, read: Read) -> None:
        self.before = before
        self.lint = lint
        self.read = read
        self.left = left
        self._flat: Flat | None = None
        self._counted = _counts(before.found)
        self._accepted: tuple[list[Edit], _State] = [], before
        """The last edits that were not refused, and what they make of the text."""

    def state_with(self, some: Sequence[_Wanted]) -> _State:
        """The text with these fixes, read and linted again."""
        edits = _edits(some)
        return self._accepted[1] if edits == self._accepted[0] else self._state(edits)

    def _state(self, edits: list[Edit]) -> _State:
        text = self.before.text.changed(spliced(self.before.text, edits))
        return _State(text, self.read(text), self.lint(text))

    def bounded_refusal(self, some: Sequence[_Wanted]) -> str:
        """As `refusal`; when the file has been linted often enough, nothing more is tried on it."""
        if not self.left:
            return say("too many fixes of this file get into each other's way to try them one by one")
        self.left -= 1
        return self.refusal(some)

    def refusal(self, some: Sequence[_Wanted]) -> str:
        """Why these fixes cannot stay; "" when they can."""
        edits = _edits(some)
        after = self._state(edits)
        why = self._why_not(edits, after) or self._judged(some, after)
        if not why:
            self._accepted = edits, after
        return why

    def _why_not(self, edits: list[Edit], after: _State) -> str:
        """What the edits do beside what they say."""
        if after.text.text != text_with(self.before.text.text, edits):
            return say("the file would decode differently")
        if after.text.data == self.before.text.data:
            return say("it changes nothing")
        self._flat = self._flat or flatten(self.before.tree)
        return change_elsewhere(self.before.tree, after.tree, Shift(edits), flat=self._flat)

    def _judged(self, some: Sequence[_Wanted], after: _State) -> str:
        """Whether findings have left that should, and errors have come."""
        before = dict(self._counted)
        now = _counts(after.found)
        for one in some:
            name = _name(one.one)
            before[name] -= 1
            if now.get(name, 0) > before[name]:
                return say("{code} would still be found", code=one.one.code)
        for told in after.found:
            name = _name(told)
            now[name] -= 1
            if told.severity is Severity.ERROR and now[name] >= before.get(name, 0):
                return say("it would bring {code}: {message}", code=told.code, message=told.message)
        return ""


def _edits(some: Sequence[_Wanted]) -> list[Edit]:
    return in_order(edit for one in some for edit in one.edits)


def _name(one: Diagnostic) -> tuple[str, str]:
    return one.code, english(one.message)


def _counts(found: Iterable[Diagnostic]) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for one in found:
        counts[_name(one)] = counts.get(_name(one), 0) + 1
    return counts
