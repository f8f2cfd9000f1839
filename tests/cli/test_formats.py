"""The output formats: what they write of given diagnostics, and what holds for any."""

from __future__ import annotations

import json
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.diagnostics import Diagnostic, Edit, Fix, Place, Severity
from dsec_cli.report.format import Report, RuleInfo
from dsec_cli.report.formats import json as json_format
from dsec_cli.report.formats import sarif as sarif_format
from dsec_cli.report.formats import text as text_format
from dsec_cli.source.text import SourceText, Span

RULES = (
    RuleInfo("DS106", "bad-quantity", Severity.ERROR, "A quantity without a unit.", "# DS106\n"),
    RuleInfo("DS503", "cycle", Severity.WARNING, "A cycle.", "# DS503\n"),
)


def place(text: SourceText, start: int, end: int) -> Place:
    return Place(text.name, Span(start, end), text.position(start), text.position(end))


def found(text: SourceText, part: str, **more: Any) -> Diagnostic:
    start = text.text.index(part)
    values: dict[str, Any] = {
        "code": "DS106", "name": "bad-quantity", "severity": Severity.ERROR,
        "place": place(text, start, start + len(part)), "path": "baseline.memory",
        "message": "'24G' has no meaning",
        "reason": "", "help": "", "related": (), "fixes": (), "silenced": None,
    }  # fmt: skip
    return Diagnostic(**(values | more))


def report(*diagnostics: Diagnostic, texts: tuple[SourceText, ...], **more: Any) -> Report:
    return Report(
        files=tuple(text.name for text in texts),
        texts={text.name: text for text in texts},
        diagnostics=diagnostics,
        rules=lambda: RULES,
        **more,
    )


TEXT = SourceText.from_bytes("a b/合同.yaml", "\ufeff# 智能体\n内存: 😀 24G\t# x\nend: 1\n".encode())


def test_text_block() -> None:
    one = found(TEXT, "24G", reason="G is two things.", help="write 24Gi")
    assert text_format.render(report(one, texts=(TEXT,))) == (
        "a b/合同.yaml:2:7: error[DS106] '24G' has no meaning\n"
        "2 | 内存: 😀 24G    # x\n"
        "  |          ^^^\n"
        "  why: G is two things.\n"
        "  help: write 24Gi\n"
        "  rule: bad-quantity (dsec explain DS106)\n"
        "\n"
        "1 error\n"
    )


def test_text_quiet() -> None:
    assert text_format.render(report(found(TEXT, "24G"), texts=(TEXT,), quiet=True)) == (
        "a b/合同.yaml:2:7: error[DS106] '24G' has no meaning\n"
    )


def test_text_related_places() -> None:
    other = SourceText.from_bytes("other.yaml", b"steps: []\n")
    places = (
        (place(TEXT, 0, 1), "first here"),
        (place(other, 0, 5), "and there"),
        (place(TEXT, 12, 15), "same"),
    )
    one = found(TEXT, "24G", related=places)
    assert text_format.render(report(one, texts=(TEXT, other), quiet=False)).splitlines()[1:8] == [
        "1 | # 智能体",
        "  | - first here",
        "2 | 内存: 😀 24G    # x",
        "  |          ^^^ same",
        "::: other.yaml:1",
        "1 | steps: []",
        "  | ----- and there",
    ]


def test_text_long_lines_are_cut_around_the_place() -> None:
    text = SourceText.from_bytes("x.yaml", ("a: " + "x" * 300 + " 24G " + "y" * 300 + "\n").encode())
    lines = text_format.render(report(found(text, "24G"), texts=(text,), width=60)).splitlines()
    assert "24G" in lines[1]
    assert all(len(line) <= 60 for line in lines[1:])
    assert lines[2].index("^") == lines[1].index("24G")


def test_text_place_over_several_lines() -> None:
    text = SourceText.from_bytes("x.yaml", b"a:\n  - b\n  - c\nd: 1\n")
    one = found(text, "- b\n  - c")
    assert text_format.render(report(one, texts=(text,))).splitlines()[1:3] == [
        "2 |   - b",
        "  |   ^^^",
    ]


def test_text_secret_is_never_shown() -> None:
    text = SourceText.from_bytes("x.yaml", b"env: {A: hunter2secret, B: 24G}\n")
    shown = text_format.render(
        report(found(text, "hunter2secret", code="DS601"), found(text, "24G"), texts=(text,), color=True)
    )
    assert "hunter2" not in shown
    assert "*************, B: " in shown


def test_text_obeys_no_control_character() -> None:
    text = SourceText.from_bytes("x\x1b]0;.yaml", b"a: \x1b[2J24G\x07\n")
    assert "\x1b" not in text_format.render(report(found(text, "24G", message="\x1b[2J"), texts=(text,)))


def test_text_sum() -> None:
    warning = found(TEXT, "24G", severity=Severity.WARNING)
    remark = found(TEXT, "end", severity=Severity.INFO)
    other = SourceText.from_bytes("z.yaml", b"")
    last = text_format.render(report(warning, warning, remark, texts=(TEXT, other))).splitlines()[-1]
    assert last == "2 warnings, 1 remark in 1 of 2 files"


def test_json_places_count_in_every_unit() -> None:
    document = json.loads(json_format.render(report(found(TEXT, "24G"), texts=(TEXT,))))
    assert document["format"] == "dsec.lint/1"
    assert document["summary"] == {"error": 1, "warning": 0, "info": 0, "silenced": 0}
    (one,) = document["diagnostics"]
    assert one["place"]["start"] == {"line": 2, "column": 7, "utf16_column": 8, "offset": 12, "byte": 28}
    assert TEXT.data[28:31] == b"24G"


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_json_bytes_are_the_place(content: str, start: int, length: int) -> None:
    text = SourceText.from_bytes("x", content.encode("utf-8", "replace"))
    start = min(start, len(text.text))
    end = min(start + length, len(text.text))
    one = found(TEXT, "24G", place=place(text, start, end))
    point = json.loads(json_format.render(report(one, texts=(text,))))["diagnostics"][0]["place"]
    assert text.data[point["start"]["byte"] : point["end"]["byte"]].decode() == text.text[start:end]
    rendered = json.loads(sarif_format.render(report(one, texts=(text,))))
    check_sarif(rendered)


def check_sarif(document: dict[str, Any]) -> None:
    """What SARIF 2.1.0 and code hosts ask of the parts that we write."""
    assert set(document) == {"$schema", "version", "runs"}
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    assert run["columnKind"] == "utf16CodeUnits"
    assert len(run["results"]) <= 25_000
    for result in run["results"]:
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        assert result["ruleId"]
        if "ruleIndex" in result:
            assert ids[result["ruleIndex"]] == result["ruleId"]
        assert len(result["locations"]) == 1
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        for location in (*result["locations"], *result.get("relatedLocations", [])):
            check_location(location)
        for fix in result.get("fixes", []):
            assert fix["description"]["text"]
            for change in fix["artifactChanges"]:
                check_artifact(change["artifactLocation"])
                for replacement in change["replacements"]:
                    check_region(replacement["deletedRegion"])
                    assert isinstance(replacement["insertedContent"]["text"], str)


def check_location(location: dict[str, Any]) -> None:
    check_artifact(location["physicalLocation"]["artifactLocation"])
    check_region(location["physicalLocation"]["region"])


def check_artifact(artifact: dict[str, Any]) -> None:
    uri = artifact["uri"]
    assert uri
    assert uri.isascii()
    assert not set(uri) & set(' <>"{}|\\^`')
    parts = urllib.parse.urlsplit(uri)
    assert parts.scheme == ("" if artifact.get("uriBaseId") == "%SRCROOT%" else "file")
    assert not uri.startswith(("/", ".."))


def check_region(region: dict[str, int]) -> None:
    assert min(region.values()) >= 1
    start, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
    assert start <= end


def test_sarif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    absolute = SourceText.from_bytes("/etc/x y.yaml", b"a: 24G\n")
    inside = SourceText.from_bytes(str(tmp_path / "in.yaml"), b"a: 24G\n")
    one = found(
        TEXT, "24G", related=((place(TEXT, 0, 1), ""),), help="write 24Gi",
        fixes=(Fix("write 24Gi", (Edit(Span(12, 15), "24Gi"),)),),
    )  # fmt: skip
    document = json.loads(
        sarif_format.render(
            report(
                one,
                found(absolute, "24G"),
                found(inside, "24G", code="DS503"),
                texts=(TEXT, absolute, inside),
            )
        )
    )
    check_sarif(document)
    results = document["runs"][0]["results"]
    first = results[0]["locations"][0]
    assert first["physicalLocation"]["region"] == {
        "startLine": 2,
        "startColumn": 8,
        "endLine": 2,
        "endColumn": 11,
    }
    assert first["logicalLocations"] == [{"fullyQualifiedName": "baseline.memory"}]
    uris = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results]
    assert uris == ["a%20b/%E5%90%88%E5%90%8C.yaml", "file:///etc/x%20y.yaml", "in.yaml"]
    assert results[2]["ruleIndex"] == 1


def test_sarif_fingerprints_stay_when_lines_move() -> None:
    def prints(content: bytes) -> list[str]:
        text = SourceText.from_bytes("x.yaml", content)
        document = json.loads(sarif_format.render(report(found(text, "24G"), texts=(text,))))
        return [one["partialFingerprints"]["dsecFinding/v1"] for one in document["runs"][0]["results"]]

    assert prints(b"a: 24G\n") == prints(b"# moved\n\n\na:   24G # here\n")
    text = SourceText.from_bytes("x.yaml", b"a: 24G\n")
    twice = json.loads(sarif_format.render(report(*[found(text, "24G")] * 2, texts=(text,))))
    assert len({one["partialFingerprints"]["dsecFinding/v1"] for one in twice["runs"][0]["results"]}) == 2


def test_sarif_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif_format, "MOST", 2)
    text = SourceText.from_bytes("x.yaml", b"a: 24G\n")
    remark, error = found(text, "24G", severity=Severity.INFO), found(text, "24G")
    (run,) = json.loads(sarif_format.render(report(remark, error, remark, error, texts=(text,))))["runs"]
    assert [one["level"] for one in run["results"]] == ["error", "error"]
    assert "2 findings" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_text_headlines_are_folded_for_terminals_only() -> None:
    one = found(TEXT, "24G", message="one two three four five six seven eight nine ten")
    piped = text_format.render(report(one, texts=(TEXT,), quiet=True, width=40))
    assert piped.count("\n") == 1
    shown = text_format.render(report(one, texts=(TEXT,), quiet=True, width=40, fold=True))
    assert shown.split() == piped.split()
    assert shown.startswith("a b/合同.yaml:2:7: error[DS106] one\n  two three")
    assert max(map(len, shown.splitlines())) <= 40
