"""SARIF as code hosts take it: the published schema, and a test for each mistake that loses an upload.

The mistakes are those that users of other linters have reported: a whole upload is refused for one bad
result, or results are shown in the wrong place.
"""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
import string
import subprocess
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.diagnostics import Severity, Silenced
from dsec_cli.report.format import Report
from dsec_cli.report.formats import sarif
from dsec_cli.source.text import SourceText

from .conftest import Ran, command
from .reports import CLEAN, TEXT, at, everything, found, place, report

Ds = Callable[..., Ran]
SCHEMA = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "sarif" / "sarif-schema-2.1.0.json").read_text("utf-8")
)
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def written(shown: Report) -> dict[str, Any]:
    """The document of a report, which the schema has accepted."""
    document: dict[str, Any] = json.loads(sarif.FORMAT.render(shown))
    check(document)
    return document


def check(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document)
    (run,) = document["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert len(result["locations"]) == 1
        if "ruleIndex" in result:
            assert ids[result["ruleIndex"]] == result["ruleId"]
    for region in regions(run):
        assert min(region.values()) >= 1
        assert (region["startLine"], region.get("startColumn", 1)) <= (
            region["endLine"],
            region.get("endColumn", region.get("startColumn", 1)),
        )
    for artifact in artifacts(run):
        check_uri(artifact)


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every object inside `value`."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes(inner)


def regions(run: dict[str, Any]) -> list[dict[str, int]]:
    return [node[key] for node in nodes(run) for key in ("region", "deletedRegion") if key in node]


def artifacts(run: dict[str, Any]) -> list[dict[str, str]]:
    return [node for node in nodes(run) if "uri" in node]


def check_uri(artifact: dict[str, str]) -> None:
    uri = artifact["uri"]
    assert uri
    assert uri.isascii()
    assert not set(uri) & set(' <>"{}|\\^`')
    scheme = urllib.parse.urlsplit(uri).scheme
    assert scheme == ("" if artifact.get("uriBaseId") == "%SRCROOT%" else "file")
    assert not uri.startswith(("/", "..", "./"))


def results(shown: Report) -> list[dict[str, Any]]:
    found_results: list[dict[str, Any]] = written(shown)["runs"][0]["results"]
    return found_results


def test_the_schema_accepts_a_full_report() -> None:
    (run,) = written(everything())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["DS106", "DS601", "DS503", "DS310", "DS310"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda run: run["results"][0].pop("message"),
        lambda run: run["results"][0].update(level="fatal"),
        lambda run: run["results"][0].update(ruleIndex=-2),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(startColumn=0),
        lambda run: run.update(columnKind="bytes"),
        lambda run: run["results"][1]["suppressions"][0].pop("kind"),
    ],
)
def test_the_schema_refuses_what_is_wrong(spoil: Callable[[dict[str, Any]], object]) -> None:
    """A schema that accepts everything would prove nothing."""
    document = copy.deepcopy(written(everything()))
    spoil(document["runs"][0])
    assert not VALIDATOR.is_valid(document)


def test_every_result_has_a_physical_location() -> None:
    """Also one about a whole document, and one about an empty file."""
    empty = SourceText.from_bytes("empty.yaml", b"")
    nowhere = found(CLEAN, "a", place=place(empty, 0, 0), path="")
    (result,) = results(report(nowhere, texts=(empty,)))
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "empty.yaml", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1},
            }
        }
    ]


@pytest.mark.battery
@given(st.text(max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_lines_and_columns_count_from_1(content: str, start: int, length: int) -> None:
    text = SourceText.from_bytes("x.yaml", content.encode("utf-8", "replace"))
    start = min(start, len(text.text))
    end = min(start + length, len(text.text))
    results(report(found(CLEAN, "a", place=place(text, start, end)), texts=(text,)))


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("", "."),
        (".", "."),
        ("./a//b.yaml", "a/b.yaml"),
        ("a b/合.yaml", "a%20b/%E5%90%88.yaml"),
        ("100%.yaml", "100%25.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
        ("../up.yaml", None),
        ("/etc/x.yaml", "file:///etc/x.yaml"),
        (os.fsdecode(b"caf\xe9.yaml"), "caf%E9.yaml"),
        ("a:b.yaml", "a%3Ab.yaml"),
    ],
)
def test_a_uri_is_never_empty_and_always_one(name: str, uri: str | None) -> None:
    text = SourceText.from_bytes(name, b"a: 1\n")
    (result,) = results(report(found(CLEAN, "a", place=at(text, "a")), texts=(text,)))
    said = result["locations"][0]["physicalLocation"]["artifactLocation"]
    if uri is None:
        assert said["uri"].startswith("file:///")
    else:
        assert said["uri"] == uri


def test_a_rule_index_is_right_or_absent() -> None:
    known, unknown = found(CLEAN, "a", code="DS503"), found(CLEAN, "a", code="DS777")
    first, second = results(report(known, unknown, texts=(CLEAN,)))
    assert first["ruleIndex"] == 2
    assert "ruleIndex" not in second


def test_many_files_are_one_run() -> None:
    """More than 20 runs are refused, however small they are."""
    texts = tuple(SourceText.from_bytes(f"{at}.yaml", b"a: 1\n") for at in range(50))
    shown = report(*[found(CLEAN, "a", place=at(text, "a")) for text in texts], texts=texts)
    document = written(shown)
    assert len(document["runs"]) == 1
    assert len(document["runs"][0]["artifacts"]) == 50


def test_too_many_results_are_cut_by_severity_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sarif.MOST == 25_000
    monkeypatch.setattr(sarif, "MOST", 3)
    silent = found(CLEAN, "a", silenced=Silenced("comment", "known"))
    remark, warning = (found(CLEAN, "a", severity=one) for one in (Severity.INFO, Severity.WARNING))
    error = found(CLEAN, "a")
    (run,) = written(report(silent, remark, warning, error, silent, error, texts=(CLEAN,)))["runs"]
    assert [result["level"] for result in run["results"]] == ["warning", "error", "error"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "3 findings beyond 3 were left out."


def test_columns_are_utf16_units_and_it_is_said() -> None:
    (run,) = written(everything())["runs"]
    assert run["columnKind"] == "utf16CodeUnits"
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    before = TEXT.line_text(2).partition("24G")[0]
    assert region["startColumn"] == len(before.encode("utf-16-le")) // 2 + 1
    assert region["startColumn"] not in (len(before) + 1, len(before.encode()) + 1)


def test_what_is_silenced_is_kept_as_suppressed() -> None:
    """Left out, the alert would be closed and opened again with each change of the baseline."""
    (run,) = written(everything())["runs"]
    assert [one.get("suppressions") for one in run["results"]] == [
        None,
        [{"kind": "external", "status": "accepted", "justification": "baseline: rotated, ticket 7"}],
        None,
        [{"kind": "inSource", "status": "accepted", "justification": "comment: we know"}],
        None,
    ]


def test_fingerprints_stay_when_lines_move_and_tell_equal_ones_apart() -> None:
    def prints(content: bytes, *, times: int = 1) -> list[str]:
        text = SourceText.from_bytes("x.yaml", content)
        shown = report(*[found(text, "24G")] * times, texts=(text,))
        return [one["partialFingerprints"]["dsecFinding/v1"] for one in results(shown)]

    assert prints(b"a: 24G\n") == prints(b"# moved\n\n\na:   24G # here\n")
    assert len(set(prints(b"a: 24G\n", times=3))) == 3


def test_fingerprints_do_not_depend_on_how_a_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seen = set()
    for name in ("x.yaml", "./x.yaml", str(tmp_path / "x.yaml"), f"../{tmp_path.name}/x.yaml"):
        text = SourceText.from_bytes(name, b"a: 24G\n")
        (one,) = results(report(found(text, "24G"), texts=(text,)))
        seen.add(json.dumps([one["partialFingerprints"], one["locations"]]))
    assert len(seen) == 1


def test_notes_are_told() -> None:
    (run,) = written(everything())["runs"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note == {"level": "note", "message": {"text": "3 findings are older than main and not shown"}}


def test_rules_have_what_code_hosts_show() -> None:
    (run,) = written(everything())["runs"]
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]


@pytest.mark.battery
def test_a_slow_pipe_gets_the_whole_document(tmp_path: Path) -> None:
    """Other linters have been seen to lose the end of what they write to a pipe; -u is the hard case."""
    (tmp_path / "x.yaml").write_bytes(b"".join(b"key%d: 1\n" % number for number in range(1500)))
    python, *rest = command("ds-contract-lint", "x.yaml", "--output", "sarif")
    with subprocess.Popen([python, "-u", *rest], cwd=tmp_path, stdout=subprocess.PIPE) as lint:
        assert lint.stdout is not None
        received = b""
        while chunk := os.read(lint.stdout.fileno(), 4096):
            received += chunk
            if len(received) < 200_000:
                time.sleep(0.001)
        assert lint.wait(timeout=60) == 1
    assert len(received) > 500_000
    document = json.loads(received)
    assert len(document["runs"][0]["results"]) >= 1500


@pytest.mark.battery
def test_as_many_results_as_are_taken_stay_below_ten_megabytes(ds: Ds, tmp_path: Path) -> None:
    """More is refused, as it is sent: compressed. Words drawn by lot hardly shrink."""
    chance = random.Random(7)
    keys = ("".join(chance.choices(string.ascii_lowercase, k=200)) for _ in range(26_000))
    (tmp_path / "x.yaml").write_text("".join(f"{key}: 1\n" for key in keys))
    ran = ds("ds-contract-lint", "x.yaml", "-f", "sarif")
    assert len(json.loads(ran.stdout)["runs"][0]["results"]) == sarif.MOST
    assert 2**20 < len(gzip.compress(ran.stdout)) < 10 * 2**20


def test_real_contracts_fit_the_schema(ds: Ds, tmp_path: Path) -> None:
    golden = Path(__file__).resolve().parents[1] / "golden" / "lint" / "all"
    for path in golden.glob("*.yaml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    ran = ds("ds-contract-lint", "*.yaml", "-f", "sarif")
    assert ran.returncode == 1
    document = json.loads(ran.stdout)
    check(document)
    assert document["runs"][0]["results"]
