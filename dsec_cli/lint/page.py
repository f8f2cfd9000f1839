"""A rule's documentation page, read from its module's docstring.

What is wrong, in one sentence.

Why: ...

Bad (yaml):
    an example that fires

Good (yaml):
    the same, mended

Source: where the rule comes from
"""

from __future__ import annotations

import sys

from dsec.record import Record
from dsec_cli.diagnostics import SEVERITY_WORDS
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.lint.rule import Rule

INDENT = "    "


class Example(Record):
    """An indented block of a page; `kind` is `yaml`, or says why it cannot be run as it stands."""

    kind: str
    text: str


class Page(Record):
    """The parts of a page."""

    summary: str
    why: str
    bad: Example
    good: Example
    source: str


def read(rule: Rule) -> Page:
    """The page of a rule; an AssertionError names the part that its docstring lacks."""
    text = sys.modules[rule.check.__module__].__doc__
    assert text is not None, f"{rule.name} has no docstring"
    return parse(text)


def parse(text: str) -> Page:
    """Take a docstring apart."""
    summary, _, rest = text.strip().partition("\n\n")
    blocks = rest.split("\n\n")
    return Page(
        summary=" ".join(summary.split()),
        why=_prose(blocks, "Why"),
        bad=_example(blocks, "Bad"),
        good=_example(blocks, "Good"),
        source=_prose(blocks, "Source"),
    )


def _prose(blocks: list[str], title: str) -> str:
    for block in blocks:
        if block.startswith(f"{title}: "):
            return " ".join(block[len(title) + 2 :].split())
    raise AssertionError(f"a rule's docstring needs a paragraph that starts with `{title}: `")


def _example(blocks: list[str], title: str) -> Example:
    for block in blocks:
        head, _, body = block.partition("\n")
        if head.startswith(f"{title} (") and head.endswith("):"):
            lines = [line.removeprefix(INDENT) for line in body.split("\n")]
            return Example(head[len(title) + 2 : -2], "\n".join(lines) + "\n")
    raise AssertionError(f"a rule's docstring needs a block `{title} (yaml):`")


def markdown(rule: Rule, *, tell: Callable[[str], str] = str) -> str:
    """The page as a reference document; `tell` says it in another language."""
    page = read(rule)
    excuse = say(
        "Write `# dsec: ignore[{code}] why it does not apply here` on the line, or on the line above.",
        code=rule.code,
    )
    return f"""# {rule.code}: {rule.name}

{tell(page.summary)}

{tell(say("Severity: {severity}", severity=SEVERITY_WORDS[rule.severity]))}

## {tell(say("Why"))}

{tell(page.why)}

## {tell(say("Bad"))}

{_fenced(page.bad)}

## {tell(say("Good"))}

{_fenced(page.good)}

## {tell(say("Source"))}

{page.source[:1].upper()}{page.source[1:]}

## {tell(say("Excusing one place"))}

{tell(excuse)}
"""


def _fenced(example: Example) -> str:
    language = "yaml" if example.kind == "yaml" else "text"
    return f"```{language}\n{example.text}```"
