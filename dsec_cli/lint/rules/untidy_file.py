r"""A byte order mark, line ends of two kinds, or no line end after the last line.

Why: None of them changes what the contract says, and each makes some tool stumble: a mark before
the first key, lines that differ where nobody edited them, a last line to which the next one is
joined. One remark per file.

Bad (text):
    data_source: ds://datasets/a\r\n
    nvlink_mode: switched\n

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a

Source: linters' users (findings about CRLF that they could not read).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Edit, Finding, Fix, Severity
from dsec_cli.lint.rule import TEXT, Facts, Rule
from dsec_cli.lint.show import counted
from dsec_cli.source.text import Span
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = b"\xef\xbb\xbf"


def check(facts: Facts) -> Iterator[Finding]:
    """All that is untidy about the bytes, as one finding at the first place."""
    told = list(_told(facts.text.data, facts.text.text))
    if not told:
        return
    words = [what for _, what in told]
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=min(span for span, _ in told),
        message=_joined(words),
        reason=say("nothing changes in what it says, but tools and diffs stumble over it"),
        help=say("save it as UTF-8 without a mark, with one kind of line end, also after the last line"),
        fixes=_fixes(facts, len(told)),
    )


def _joined(words: list[str]) -> str:
    if len(words) == 1:
        return say("{one}", "one", one=words[0])
    if len(words) == 2:
        return say("{one}, and {two}", "two", one=words[0], two=words[1])
    return say("{one}, {two}, and {three}", "three", one=words[0], two=words[1], three=words[2])


def _told(data: bytes, text: str) -> Iterator[tuple[Span, str]]:
    if data.startswith(MARK):
        yield Span(0, min(1, len(text))), say("the file begins with a byte order mark")
    if not text:
        return
    if "\r" in text:
        yield from _mixed(text)
    if text[-1] not in "\r\n":
        yield Span(len(text) - 1, len(text)), say("the last line has no line end")


def _mixed(text: str) -> Iterator[tuple[Span, str]]:
    """The first line end of the rarer kind."""
    both = text.count("\r\n")
    counts = {"\r\n": both, "\n": text.count("\n") - both, "\r": text.count("\r") - both}
    used = sorted((count, end) for end, count in counts.items() if count)
    if len(used) < 2:
        return
    rare, common = used[0], used[-1]
    at = _find(text, rare[1])
    names = {"\r\n": "CR LF", "\n": "LF", "\r": "CR"}
    yield (
        Span(at, at + len(rare[1])),
        say(
            "{rare} with {odd}, the other {common} with {usual}",
            rare=counted(rare[0], "line"),
            odd=names[rare[1]],
            common=sum(count for count, _ in used[1:]),
            usual=names[common[1]],
        ),
    )


def _find(text: str, end: str) -> int:
    """The first such line end, which is there; one of two characters is none of its halves."""
    at = text.find(end)
    while len(end) == 1 and "\r\n" in (text[max(at - 1, 0) : at + 1], text[at : at + 2]):
        at = text.find(end, at + 1)
    return at


def _fixes(facts: Facts, count: int) -> tuple[Fix, ...]:
    """All of it in one go."""
    from dsec_cli.lint import tidy_lines  # only a finding pays for it

    text = facts.text.text
    edits = [edit for unit in tidy_lines.mark(facts.text, facts.tree) for edit in unit]
    edits += [edit for unit in tidy_lines.line_ends(facts.text, facts.tree) for edit in unit]
    if text and text[-1] not in "\r\n":
        end = edits[-1].text if edits and edits[-1].text else "\r\n" if "\r\n" in text else "\n"
        edits.append(Edit(Span(len(text), len(text)), end))
        if count == 1:
            return (Fix(say("add the line end"), tuple(edits)),)
    return (Fix(say("make the file tidy"), tuple(edits)),)


RULE = Rule("DS007", "untidy-file", Severity.INFO, check, TEXT, when=("untidy",))
