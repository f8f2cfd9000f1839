"""Rule pages: a rule module's docstring, as plain text and as Markdown."""

from __future__ import annotations

import sys

from dsec_cli.report.format import RuleInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.lint.rule import Rule


def rule_info(rule: Rule) -> RuleInfo:
    """What the rule's module says of it."""
    text = page(rule)
    return RuleInfo(rule.code, rule.name, rule.severity, text.partition("\n")[0].strip(), markdown(text))


def page(rule: Rule) -> str:
    """The docstring of the module that holds the rule."""
    return (sys.modules[rule.check.__module__].__doc__ or "").strip()


def markdown(text: str) -> str:
    """A page with its indented examples as fenced blocks."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
        code = line.startswith("    ") or (inside and not line.strip())
        if code and not inside:
            lines += ["", "```yaml"]
        if inside and not code:
            _close(lines)
        lines.append(line[4:] if code else line)
        inside = code
    if inside:
        _close(lines)
    return "\n".join(lines)


def _close(lines: list[str]) -> None:
    blank = 0
    while lines and not lines[-1].strip():
        lines.pop()
        blank += 1
    lines += ["```", *[""] * blank]
