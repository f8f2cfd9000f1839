"""`dsec rules` and `dsec explain --json`: the registry, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from dsec_cli.commands.rules import GROUPS, described, fixable, since
from dsec_cli.diagnostics import Edit, Finding, Fix, Severity
from dsec_cli.lint.rule import Rule, find_rules
from dsec_cli.source.text import Span

from .conftest import Ran

Ds = Callable[..., Ran]
RULES = find_rules()


def test_every_rule_is_listed(ds: Ds) -> None:
    rows = ds("dsec", "rules").stdout.decode().splitlines()
    assert [row.split()[0] for row in rows] == [rule.code for rule in RULES]
    assert [row.split()[1] for row in rows] == [rule.severity.value for rule in RULES]


@pytest.mark.battery
def test_the_list_for_programs(ds: Ds) -> None:
    document = json.loads(ds("dsec", "rules", "--json").stdout)
    assert document["format"] == "dsec.rules/1"
    assert document["rules"] == [described(rule) for rule in RULES]
    for one in document["rules"]:
        assert set(one) == {"code", "name", "group", "severity", "fix", "since", "summary"}
        assert one["fix"] in ("", "safe", "unsafe")
        assert all(part.isdigit() for part in one["since"].split("."))


def test_every_code_belongs_to_a_group() -> None:
    assert {rule.code[:3] for rule in RULES} <= set(GROUPS)
    assert len(set(GROUPS.values())) == len(GROUPS)


@pytest.mark.parametrize(
    ("safe", "said"), [((), ""), ((True,), "safe"), ((False,), "unsafe"), ((False, True), "unsafe")]
)
def test_a_fix_is_found_by_running_the_bad_example(safe: tuple[bool, ...], said: str) -> None:
    model = next(rule for rule in RULES if rule.code == "DS203")
    fixes = tuple(Fix("x", (Edit(Span(0, 0), ""),), safe=one) for one in safe)

    def check(facts: object) -> list[Finding]:
        return [Finding("DS203", Severity.WARNING, Span(0, 1), "x", fixes=fixes)]

    check.__module__ = model.check.__module__
    assert fixable(Rule("DS203", model.name, Severity.WARNING, check)) == said


def test_fixes_of_rules_that_read_code_are_listed() -> None:
    said = {rule.code: fixable(rule) for rule in RULES if rule.code.startswith("DS80")}
    assert {code for code, fix in said.items() if fix == "unsafe"} == {"DS801", "DS802", "DS803"}


def test_the_first_version_is_the_pages_or_the_first_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    rule = RULES[0]
    assert since(rule) == "0.1.0"
    monkeypatch.setattr(sys.modules[rule.check.__module__], "__doc__", "X.\n\nWhy: y\n\nSince: 0.3.0\n")
    assert since(rule) == "0.3.0"


def test_a_page_for_programs(ds: Ds) -> None:
    document = json.loads(ds("dsec", "explain", "elasticity-too-wide", "--json").stdout)
    assert document["format"] == "dsec.rule/1"
    assert (document["code"], document["group"]) == ("DS203", "resources")
    assert document["markdown"].startswith("# DS203")
    assert all(document[part] for part in ("summary", "why", "bad", "good", "source"))
    assert ds("dsec", "explain", "DS9999", "--json").returncode == 2


def test_all_pages_for_programs(ds: Ds) -> None:
    document = json.loads(ds("dsec", "explain", "--json").stdout)
    assert [one["code"] for one in document["rules"]] == [rule.code for rule in RULES]
