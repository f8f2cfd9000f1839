"""Differences as one page that works offline and loads nothing."""

from __future__ import annotations

from dsec.markup import html_text
from dsec_cli.snapshot.views.difftext import summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec_cli.snapshot.section import Difference, Hunk

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --added: #1a7f37; --removed: #cf222e; --mark: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --added: #3fb950; --removed: #f85149; --mark: #d29922; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid var(--line); }
article { margin: 1rem 0; } .subject { font-weight: 600; } .section { opacity: .7; margin-right: .5rem; }
.cause { margin: .2rem 0 .4rem; } dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; }
pre { font: 13px/1.45 ui-monospace, monospace; border: 1px solid var(--line); border-radius: 6px;
      padding: .5rem; overflow-x: auto; margin: .4rem 0; } .where { opacity: .7; font-size: .85rem; }
.l { display: block; } .a { color: var(--added); } .r { color: var(--removed); }
.m { color: var(--mark); font-weight: 700; }
.added { color: var(--added); } .removed { color: var(--removed); } .suspect { color: var(--mark); }
.value { overflow-wrap: anywhere; }
"""
_CLASSES = {"+": "l a", "-": "l r", "!": "l m", " ": "l"}


def render(differences: Sequence[Difference], before: str, after: str) -> str:
    """The page."""
    known = [one for one in differences if one.cause]
    others = [one for one in differences if not one.cause]
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(before.split('  ')[0])}: differences</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_text(summary(differences))}</h1>",
        f"<dl><dt>before</dt><dd>{_text(before)}</dd><dt>after</dt><dd>{_text(after)}</dd></dl>",
    ]
    if known:
        parts.append("<h2>Known to change what a run computes, the likeliest first</h2>")
        parts += map(_article, known)
    for section in dict.fromkeys(one.section for one in others):
        parts.append(f"<h2>{_text(section.capitalize())}</h2>")
        parts += [_article(one) for one in others if one.section == section]
    return "\n".join([*parts, "</body></html>\n"])


def _text(text: str) -> str:
    return html_text(text)


def _article(one: Difference) -> str:
    place = f"{one.subject}:{one.line}" if one.line else one.subject
    head = (
        f'<article><div class="{_text(one.kind)}"><span class="section">{_text(one.section)}</span>'
        f'<span class="subject">{_text(place)}</span> {_text(one.kind)}</div>'
    )
    cause = f'<p class="cause">{_text(one.cause)}</p>' if one.cause else ""
    return head + cause + _values(one) + "".join(map(_hunk, one.hunks)) + "</article>"


def _values(one: Difference) -> str:
    if one.hunks or not (one.before or one.after):
        return ""
    return (
        f'<div class="value"><span class="r">{_text(one.before) or "&ndash;"}</span> &rarr; '
        f'<span class="a">{_text(one.after) or "&ndash;"}</span></div>'
    )


def _hunk(hunk: Hunk) -> str:
    where = f'<div class="where">in {_text(hunk.where)}</div>' if hunk.where else ""
    return f"{where}<pre>{''.join(_lines(hunk))}</pre>"


def _lines(hunk: Hunk) -> Iterator[str]:
    old, new = hunk.before_at, hunk.after_at
    for sign, text in hunk.lines:
        number = old if sign == "-" else new
        yield f'<span class="{_CLASSES[sign]}">{number:>5} {sign} {_text(text)}</span>'
        old += sign != "+"
        new += sign != "-"
