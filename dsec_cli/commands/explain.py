"""`dsec explain`: the page of a rule, or the list of all rules."""

from __future__ import annotations

import sys

from dsec_cli.cells import padded, wrap
from dsec_cli.commands.language import speech
from dsec_cli.commands.speaking import teller
from dsec_cli.commands.terminal import colored
from dsec_cli.diagnostics import SEVERITY_WORDS
from dsec_cli.exit import YES, UsageError
from dsec_cli.lint import page
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.lint.rule import find_rules
from dsec_cli.report.output import emit
from dsec_cli.report.terminal import columns, paint
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.lint.rule import Rule
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell
    from dsec_cli.report.terminal import Paint


def main(args: Args) -> int:
    """Print one page, or one line per rule."""
    rules = find_rules()
    tell = teller(speech(args.lang).of("json" if args.json else "text"), of_pages=True)
    if args.json:
        emit(_json(_named(args.code, rules), tell) if args.code is not None else _all_json(rules, tell))
        return YES
    ink = paint(wanted=colored("auto", sys.stdout))
    if args.code is None:
        emit(_list(rules, ink, tell), color=True)
        return YES
    emit(_page(_named(args.code, rules), ink, tell), color=True)
    return YES


def _json(rule: Rule, tell: Tell) -> str:
    import json

    return json.dumps({"format": "dsec.rule/1", **_page_of(rule, tell)}, ensure_ascii=False, indent=2) + "\n"


def _all_json(rules: tuple[Rule, ...], tell: Tell) -> str:
    import json

    whole = {"format": "dsec.rule/1", "rules": [_page_of(rule, tell) for rule in rules]}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _page_of(rule: Rule, tell: Tell) -> dict[str, str]:
    """The parts of a rule's page, for programs."""
    from dsec_cli.commands.rules import described

    read = page.read(rule)
    return {
        **described(rule, tell),
        "why": tell(read.why),
        "bad": read.bad.text,
        "good": read.good.text,
        "source": read.source,
        "markdown": page.markdown(rule, tell=tell),
    }


def _named(word: str, rules: tuple[Rule, ...]) -> Rule:
    for rule in rules:
        if word.upper() == rule.code or word.lower() == rule.name:
            return rule
    known = [rule.code for rule in rules] if word[:2].upper() == "DS" else [rule.name for rule in rules]
    word = word.upper() if word[:2].upper() == "DS" else word.lower()
    hint = did_you_mean(word, known) or say("dsec explain lists all rules")
    raise UsageError(say("there is no rule {word!r}", word=word), hint=hint)


def _list(rules: tuple[Rule, ...], ink: Paint, tell: Tell) -> str:
    width = max(len(rule.name) for rule in rules)
    rows = (
        f"{ink(rule.code, '1')}  {padded(tell(SEVERITY_WORDS[rule.severity]), 7)}  {rule.name:<{width}}  "
        f"{tell(page.read(rule).summary)}"
        for rule in rules
    )
    return "".join(row + "\n" for row in rows)


def _page(rule: Rule, ink: Paint, tell: Tell) -> str:
    read = page.read(rule)
    head = f"{ink(f'{rule.code} {rule.name}', '1')} ({tell(SEVERITY_WORDS[rule.severity])})"
    blocks = [
        head,
        _filled(tell(read.summary)),
        _filled(tell(read.why)),
        f"{ink(tell(say('Bad')), '1;31')}\n{_indented(read.bad.text)}",
        f"{ink(tell(say('Good')), '1;32')}\n{_indented(read.good.text)}",
        _filled(tell(say("Source: {source}", source=read.source))),
        tell(say("To excuse one place, write on its line or on the line above:")),
        f"    # dsec: ignore[{rule.code}] {tell(say('why'))}",
    ]
    return "\n\n".join(blocks) + "\n"


def _filled(text: str) -> str:
    return "\n".join(wrap(" ".join(text.split()), columns(sys.stdout)))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip("\n").split("\n"))
