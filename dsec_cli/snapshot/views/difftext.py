"""Differences for a terminal: known causes first, then section by section, lines of code in colour."""

from __future__ import annotations

from dsec_cli.cells import shown
from dsec_cli.snapshot.views.quantities import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsec_cli.snapshot.section import Difference, Hunk

    Paint = Callable[[str, str], str]

_BOLD, _DIM, _RED, _GREEN, _CYAN, _MARKED = "1", "2", "31", "32", "36", "1;33"
_SIGNS = {"-": _RED, "+": _GREEN, "!": _MARKED, " ": ""}
_KINDS = {
    "added": "+",
    "removed": "-",
    "changed": "~",
    "renamed": ">",
    "rebuilt": "~",
    "suspect": "!",
    "unknown": "?",
}
_COLOURS = {"+": _GREEN, "-": _RED, "!": _MARKED, "?": _DIM}
MOST = 12
"""Differences of a section that are listed without `--all`."""
MOST_HUNKS = 6


def render(
    differences: Sequence[Difference], before: str, after: str, *, paint: Paint, everything: bool = False
) -> str:
    """The whole text; `before` and `after` say what is compared."""
    head = [f"{paint('before', _DIM)}  {shown(before)}", f"{paint('after', _DIM)}   {shown(after)}", ""]
    known = [one for one in differences if one.cause]
    others = [one for one in differences if not one.cause]
    lines = list(head)
    if known:
        lines.append(paint("Known to change what a run computes, the likeliest first", _BOLD))
        lines += _listed(known, paint, everything=everything)
    for section in dict.fromkeys(one.section for one in others):
        lines += (
            ["", paint(section.capitalize(), _BOLD)] if lines[-1] else [paint(section.capitalize(), _BOLD)]
        )
        lines += _listed([one for one in others if one.section == section], paint, everything=everything)
    lines += [""] if lines[-1] else []
    return "".join(f"{line}\n" for line in [*lines, summary(differences)])


def summary(differences: Sequence[Difference]) -> str:
    """One line: how many there are, and of which sections."""
    told = [one for one in differences if one.kind not in ("unknown", "suspect")]
    if not told:
        return "nothing differs"
    sections = dict.fromkeys(one.section for one in told)
    counts = ", ".join(f"{name} {sum(one.section == name for one in told)}" for name in sections)
    known = sum(bool(one.cause) for one in told)
    return f"{counted(len(told), 'difference')} ({counts}); {known} with a known effect"


def _listed(differences: Sequence[Difference], paint: Paint, *, everything: bool) -> Iterator[str]:
    most = len(differences) if everything else MOST
    for one in differences[:most]:
        yield from difference(one, paint, everything=everything)
    if len(differences) > most:
        yield paint(f"  ... and {len(differences) - most} more (--all)", _DIM)


def difference(one: Difference, paint: Paint, *, everything: bool = False) -> Iterator[str]:
    """The lines of one difference."""
    sign = _KINDS.get(one.kind, "~")
    place = f"{shown(one.subject)}:{one.line}" if one.line else shown(one.subject)
    section = f"{one.section} " if one.cause or one.kind == "suspect" else ""
    arrow = _arrow(one)
    yield f"  {paint(sign, _COLOURS.get(sign, _CYAN))} {paint(section, _DIM)}{paint(place, _BOLD)}{arrow}"
    if one.cause:
        yield f"      {shown(one.cause)}"
    hunks = one.hunks if everything else one.hunks[:MOST_HUNKS]
    for hunk in hunks:
        yield from _hunk(hunk, paint)
    if hunks:
        yield ""
    if len(one.hunks) > len(hunks):
        yield paint(f"      ... {len(one.hunks) - len(hunks)} more changed places (--all)", _DIM)


def _arrow(one: Difference) -> str:
    if one.hunks:
        return ""
    if one.kind == "renamed":
        return f"  renamed from {shown(one.before)}"
    before, after = shown(one.before), shown(one.after)
    if not before and not after:
        return ""
    if not before or not after:
        return f"  {before or after}"
    return f"  {before} -> {after}"


def _hunk(hunk: Hunk, paint: Paint) -> Iterator[str]:
    width = len(str(max(hunk.before_at, hunk.after_at) + len(hunk.lines)))
    if hunk.where:
        yield f"      {paint('in ' + shown(hunk.where), _CYAN)}"
    old, new = hunk.before_at, hunk.after_at
    for sign, text in hunk.lines:
        number = old if sign == "-" else new
        mark = " " if sign == "!" else sign
        line = f"{'>' if sign == '!' else ' '} {number:>{width}} {mark} {shown(text)}".rstrip()
        yield f"    {paint(line, _SIGNS[sign]) if _SIGNS[sign] else line}"
        old += sign != "+"
        new += sign != "-"
