"""Hosts, packages, variables and words of a closed set: what is none, and what to write instead."""

from __future__ import annotations

import pytest

from dsec_cli.contract.build import build_all
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse
from tests.contract.checking import findings, only


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("https://api.example.com/v1", "write api.example.com"),
        ("http://me@api.example.com:8080/v1", "write api.example.com here, and 8080 among its ports"),
        ("api.example.com:443", "write api.example.com here, and 443 among its ports"),
        ("api.example.com/v1", "write api.example.com"),
        ("api example.com", "for example api.websearch.com"),
        ("h:x", "for example api.websearch.com"),
        ("api\u00a0example.com", "for example api.websearch.com"),
    ],
)
def test_what_is_no_host_name(text: str, advice: str) -> None:
    finding = only(f"security_policy: {{network: {{egress: [{{domain: '{text}'}}]}}}}")
    assert (finding.code, finding.help) == ("DS104", advice)


@pytest.mark.parametrize(
    "text", ["localhost", "a_b.example.com.", "*.example.com", "10.0.0.0/8", "::1", "fe80::/10", "名.example"]
)
def test_what_is_a_host_name(text: str) -> None:
    assert findings(f"security_policy: {{network: {{egress: [{{domain: {text!r}}}]}}}}") == []


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("numpy>=2", "write numpy here, and >=2 as its version"),
        ("torch ~= 2.4", "write torch here, and ~= 2.4 as its version"),
        ("git+https://git.example.org/x", "for example transformers"),
        ("a b", "for example transformers"),
    ],
)
def test_what_is_no_package_name(text: str, advice: str) -> None:
    finding = only(f"dependencies: [{{package: {text!r}}}]")
    assert (finding.code, finding.help) == ("DS104", advice)


def test_a_package_may_have_extras() -> None:
    assert findings("dependencies: [{package: 'vllm[flashinfer, audio]', version: '>=0.8'}]") == []


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("fault_tolerance: {resume_strategy: restart}", "did you mean step_resume?"),
        ("communication: [{from: a, to: b, protocol: nvlink}]", "did you mean nvlink-p2p?"),
        ("fault_tolerance: {level: x}", ""),
    ],
)
def test_a_choice_of_one_or_that_begins_so_is_proposed_without_an_edit(text: str, advice: str) -> None:
    finding = only(text)
    assert (finding.code, finding.help, finding.fixes) == ("DS105", advice, ())


@pytest.mark.parametrize(
    ("entry", "codes"),
    [
        ("{name: A, value: x}", []),
        ("{name: A, source: 'vault://x'}", []),
        ("{name: A}", ["DS109"]),
        ("{name: A, ttl: 2h}", ["DS109"]),
        ("{name: A, value: x, source: 'vault://x'}", ["DS109"]),
        ("{name: A, value: }", ["DS104"]),
        ("{name: A, source: 5}", ["DS104"]),
        ("{name: A, vlaue: x}", ["DS101"]),
        ("{value: x, source: y}", ["DS109"]),
    ],
)
def test_a_variable_has_a_value_or_a_source(entry: str, codes: list[str]) -> None:
    text = SourceText.from_bytes("f.yaml", f"runtime_context: {{env_vars: [{entry}]}}".encode())
    (built,) = build_all(parse(text), "ds_config.yaml")
    assert [one.code for one in built.findings] == codes
