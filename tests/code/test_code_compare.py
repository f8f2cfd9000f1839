"""Needs against contracts: what is missing is said once, and what is added is enough."""

from __future__ import annotations

import pytest

from dsec_cli.code.analyse import analyse
from dsec_cli.code.compare import compare
from dsec_cli.code.compare.egress import covers, is_loopback, per_day
from dsec_cli.code.compare.paths import allowed, folder
from dsec_cli.contract.build import build_all
from dsec_cli.diagnostics import Edit, Place, Severity
from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import Surroundings, find_rules
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

RULES = tuple(rule for rule in find_rules() if rule.code.startswith("DS80"))
BASE = "base: image:v1\n"


def contract(text: str):  # type: ignore[no-untyped-def]
    return build_all(parse(SourceText("env.yaml", text.encode())), "env.yaml")[0].contract


@pytest.mark.parametrize(
    ("domain", "host", "want"),
    [
        ("a.com", "a.com", True), ("A.com.", "a.com", True), ("a.com", "b.a.com", False),
        ("*.a.com", "b.a.com", True), ("*.a.com", "a.com", False), ("*", "a.com", True),
        ("x.a.com", "*.a.com", True), ("x.b.com", "*.a.com", False), (None, "a.com", False),
    ],
)  # fmt: skip
def test_domains(domain: str | None, host: str, want: bool) -> None:
    assert covers(domain, host) is want


@pytest.mark.parametrize(
    ("path", "entry", "want"),
    [
        ("/w/o/x.txt", "/w/o", True), ("/w/out", "/w/o", False), ("/w/o", "/w/o/", True), ("/w/o/*", "/w/o", True),
        ("/w/*/x", "/w/o", False), ("/x", "/", True), ("x/y", "/", False), ("x/y", ".", True), ("/x", ".", False),
        ("../x", ".", False), ("x/y", "./x", True), ("x/y", "x/**", True), ("~/x", "~", True),
    ],
)  # fmt: skip
def test_paths(path: str, entry: str, want: bool) -> None:
    assert allowed(path, [entry]) is want


def test_folders_rates_and_hosts() -> None:
    assert [folder(path) for path in ("a/b.txt", "x.txt", "/a/b/*", "out/*.md", "/data")] == [
        "a", ".", "/a/b", "out", "/data",
    ]  # fmt: skip
    assert per_day("100req/min") == 144_000
    assert per_day("1req/s") == per_day("60 req/min") == 86_400
    assert per_day("many") is per_day(None) is None
    assert is_loopback("127.0.0.1")
    assert not is_loopback("10.0.0.1")


def test_only_documents_that_state_a_policy_are_held_against_code(reading) -> None:
    needs = reading.needs(a="import requests; requests.get('https://h.com')")
    assert compare(needs, contract("name: x\nversion: 1.0.0\nentrypoint: x.so\n")) == ()
    assert [one.code for one in compare(needs, contract(BASE))] == ["DS801"]


def test_places_in_the_code_go_along(reading) -> None:
    needs = reading.needs(a="import requests\n\nrequests.get('https://h.com')")
    found = lint(SourceText("env.yaml", BASE.encode()), around=Surroundings(needs=needs), rules=RULES)
    place = found[0].related[0][0]
    assert isinstance(place, Place)
    assert (place.file, place.start.line) == ("a.py", 3)
    assert found[0].place.file == "env.yaml"


@pytest.mark.battery
@pytest.mark.parametrize("start", [BASE, BASE + "security_policy:\n  network:\n    egress:\n      - {domain: z.com}\n",
                                   BASE + "security_policy: {filesystem: {write_allowed: [/tmp]}}\n",
                                   BASE + "runtime_context:\n  env_vars:\n    - name: A\n      value: b\n"])  # fmt: skip
@pytest.mark.parametrize(
    "name", ["langchain-rag", "openai-functions", "trainer", "settings", "crewai-research"]
)
def test_what_is_added_is_enough(name: str, start: str, reading) -> None:
    needs = analyse(reading.stored(name))
    text = start
    for _ in range(40):
        found = lint(SourceText("env.yaml", text.encode()), around=Surroundings(needs=needs), rules=RULES)
        fixes = [one.fixes[0] for one in found if one.fixes]
        if not fixes:
            break
        assert not fixes[0].safe
        text = applied(text, fixes[0].edits)
    left = [one for one in found if one.code in ("DS801", "DS803") and one.severity is Severity.WARNING]
    assert left == []
    assert not [one for one in lint(SourceText("env.yaml", text.encode())) if one.severity is Severity.ERROR]


def applied(text: str, edits: tuple[Edit, ...]) -> str:
    for (start, end), new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def test_a_default_is_used_while_the_variable_is_not_given(reading) -> None:
    needs = reading.needs(a="import os, requests\nrequests.get(os.getenv('U', 'https://d.com'))")
    assert [one.message for one in compare(needs, contract(BASE)) if one.code == "DS801"] == [
        "the code calls d.com:443, which is not allowed"
    ]
    assert not [one for one in compare(needs, contract(BASE)) if one.code == "DS806"]
    given = BASE + "runtime_context: {env_vars: [{name: U, value: 'https://given.com:81'}]}\n"
    assert "given.com:81" in next(one.message for one in compare(needs, contract(given)))
    secret = BASE + "runtime_context: {env_vars: [{name: U, source: vault://u}]}\n"
    assert [one.code for one in compare(needs, contract(secret))] == ["DS806"]


def test_the_folder_of_the_run_is_no_open_question(reading) -> None:
    code = "import os, pathlib\n(pathlib.Path(os.environ['{}']) / 'policy').read_text()"
    for name in ("DSEC_RUN_DIR", "DSEC_DEP_POLICY"):
        assert compare(reading.needs(a=code.format(name)), contract(BASE)) == ()
    found = compare(reading.needs(a=code.format("MY_FOLDER")), contract(BASE))
    assert "DS806" in [one.code for one in found]


def test_without_code_nothing_is_said(reading) -> None:
    assert lint(SourceText("env.yaml", BASE.encode()), rules=RULES) == ()
