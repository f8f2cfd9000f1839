"""`dsec rules`: every lint rule, for people and for programs."""

from __future__ import annotations

import sys

from dsec_cli.cells import padded
from dsec_cli.commands.language import speech
from dsec_cli.commands.speaking import teller
from dsec_cli.commands.terminal import colored
from dsec_cli.diagnostics import SEVERITY_WORDS
from dsec_cli.exit import YES
from dsec_cli.lint import page
from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import NOTHING, find_rules
from dsec_cli.report.format import as_it_is
from dsec_cli.report.output import emit
from dsec_cli.report.terminal import paint
from dsec_cli.source.text import SourceText
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.lint.rule import Rule, Surroundings
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell

GROUPS = {
    "DS0": "text",
    "DS1": "form",
    "DS2": "resources",
    "DS3": "tolerance",
    "DS4": "dependencies",
    "DS5": "steps",
    "DS6": "security",
    "DS7": "health",
    "DS8": "code",
    "DS9": "linter",
}
_FIX: dict[str, str] = {"": "-", "safe": say("safe"), "unsafe": say("unsafe")}
FIRST_VERSION = "0.1.0"
"""Of rules whose page names no other; a later rule says `Since: 0.2.0`."""


def main(args: Args) -> int:
    """Print one line per rule, or one JSON document."""
    rules = find_rules()
    tell = teller(speech(args.lang).of("json" if args.json else "text"), of_pages=True)
    if not args.json:
        emit(_table(rules, tell), color=True)
        return YES
    import json

    listed = [described(rule, tell) for rule in rules]
    emit(json.dumps({"format": "dsec.rules/1", "rules": listed}, ensure_ascii=False, indent=2) + "\n")
    return YES


def _table(rules: tuple[Rule, ...], tell: Tell) -> str:
    ink = paint(wanted=colored("auto", sys.stdout))
    width = max(len(rule.name) for rule in rules)
    return "".join(
        f"{ink(rule.code, '1')}  {padded(tell(SEVERITY_WORDS[rule.severity]), 7)}  "
        f"{padded(tell(_FIX[fixable(rule)]), 6)}  {rule.name:<{width}}  {tell(page.read(rule).summary)}\n"
        for rule in rules
    )


def described(rule: Rule, tell: Tell = as_it_is) -> dict[str, str]:
    """What programs are told about a rule."""
    read = page.read(rule)
    return {
        "code": rule.code,
        "name": rule.name,
        "group": GROUPS[rule.code[:3]],
        "severity": rule.severity.value,
        "fix": fixable(rule),
        "since": since(rule),
        "summary": tell(read.summary),
    }


def since(rule: Rule) -> str:
    """The version the rule first came with."""
    text = sys.modules[rule.check.__module__].__doc__ or ""
    _, found, rest = text.partition("\nSince: ")
    return rest.split()[0] if found else FIRST_VERSION


def fixable(rule: Rule) -> str:
    """`safe` or `unsafe` when the rule offers a fix for the bad example of its own page, else ""."""
    bad = page.read(rule).bad
    if bad.kind != "yaml":
        return ""
    first = bad.text.split("\n")[0]
    name = first[2:] if first.startswith("# ") and first.endswith(".yaml") else "dsandbox.yaml"
    found = lint(SourceText.from_bytes(name, bad.text.encode()), rules=(rule,), around=_around(bad.text))
    safe = {fix.safe for one in found if one.code == rule.code for fix in one.fixes[:1]}
    return "" if not safe else "safe" if True in safe else "unsafe"


_CODE = "# code: "
"""Before the agent's code, in examples of rules that hold a contract against it."""


def _around(example: str) -> Surroundings:
    code = next((line[len(_CODE) :] for line in example.split("\n") if line.startswith(_CODE)), "")
    if not code:
        return NOTHING
    from dsec_cli.code.analyse import analyse  # few rules read code
    from dsec_cli.code.project import Project

    text = SourceText.from_bytes("agent.py", code.encode())
    return NOTHING._replace(needs=analyse(Project({"agent.py": text})))
