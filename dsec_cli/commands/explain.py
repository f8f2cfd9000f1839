"""`dsec explain`: the page of a rule, or the list of all rules."""

from __future__ import annotations

import sys

from dsec_cli.commands.terminal import colored
from dsec_cli.exit import YES, UsageError
from dsec_cli.lint import page
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.lint.rule import find_rules
from dsec_cli.report.cells import wrap
from dsec_cli.report.output import emit
from dsec_cli.report.terminal import columns, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.lint.rule import Rule
    from dsec_cli.options import Args
    from dsec_cli.report.terminal import Paint


def main(args: Args) -> int:
    """Print one page, or one line per rule."""
    rules = find_rules()
    if args.json:
        emit(_json(_named(args.code, rules)) if args.code is not None else _all_json(rules))
        return YES
    ink = paint(wanted=colored("auto", sys.stdout))
    if args.code is None:
        emit(_list(rules, ink))
        return YES
    emit(_page(_named(args.code, rules), ink))
    return YES


def _json(rule: Rule) -> str:
    import json

    return json.dumps({"format": "dsec.rule/1", **_page_of(rule)}, ensure_ascii=False, indent=2) + "\n"


def _all_json(rules: tuple[Rule, ...]) -> str:
    import json

    whole = {"format": "dsec.rule/1", "rules": [_page_of(rule) for rule in rules]}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _page_of(rule: Rule) -> dict[str, str]:
    """The parts of a rule's page, for programs."""
    from dsec_cli.commands.rules import described

    read = page.read(rule)
    return {
        **described(rule),
        "why": read.why,
        "bad": read.bad.text,
        "good": read.good.text,
        "source": read.source,
        "markdown": page.markdown(rule),
    }


def _named(word: str, rules: tuple[Rule, ...]) -> Rule:
    for rule in rules:
        if word.upper() == rule.code or word.lower() == rule.name:
            return rule
    known = [rule.code for rule in rules] if word[:2].upper() == "DS" else [rule.name for rule in rules]
    word = word.upper() if word[:2].upper() == "DS" else word.lower()
    hint = did_you_mean(word, known) or "dsec explain lists all rules"
    raise UsageError(f"there is no rule {word!r}", hint=hint)


def _list(rules: tuple[Rule, ...], ink: Paint) -> str:
    width = max(len(rule.name) for rule in rules)
    rows = (
        f"{ink(rule.code, '1')}  {rule.severity.value:<7}  {rule.name:<{width}}  {page.read(rule).summary}"
        for rule in rules
    )
    return "".join(row + "\n" for row in rows)


def _page(rule: Rule, ink: Paint) -> str:
    read = page.read(rule)
    head = f"{ink(f'{rule.code} {rule.name}', '1')} ({rule.severity.value})"
    blocks = [
        head,
        _filled(read.summary),
        _filled(read.why),
        f"{ink('Bad', '1;31')}\n{_indented(read.bad.text)}",
        f"{ink('Good', '1;32')}\n{_indented(read.good.text)}",
        _filled(f"Source: {read.source}"),
        "To excuse one place, write on its line or on the line above:",
        f"    # dsec: ignore[{rule.code}] why",
    ]
    return "\n\n".join(blocks) + "\n"


def _filled(text: str) -> str:
    return "\n".join(wrap(" ".join(text.split()), columns(sys.stdout)))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip("\n").split("\n"))
