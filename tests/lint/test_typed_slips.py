"""What people mistype, each in a contract that is right: one finding, in its place, with the way out."""

from __future__ import annotations

import pytest

from dsec_cli.diagnostics import Diagnostic, Severity
from dsec_cli.lint import linter
from dsec_cli.source.text import SourceText


def lint(source: SourceText) -> tuple[Diagnostic, ...]:
    """All findings but for the one that names keys which no run applies yet."""
    return tuple(one for one in linter.lint(source) if one.code != "DS116")


RIGHT = """\
version: "1.2.0"
name: train
baseline:
  gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
  cpu: 8
  memory: 64Gi
elasticity:
  gpu:
    min_count: 2
    max_count: 4
  network: {bandwidth_min: 1Gbps, bandwidth_max: 10Gbps}
fault_tolerance:
  level: critical
  checkpoint_grace_period: 30s
dependencies:
  - package: torch
    version: ">=2.1,<2.4"
  - name: llama
    type: model
    source: hf://meta/llama@0123456789012345678901234567890123456789
    version: "1.0.0"
runtime_context:
  env_vars:
    - {name: HF_HOME, value: /data/hf}
security_policy:
  network:
    egress:
      - domain: hub.example.com
        ports: [443]
        rate_limit: 100req/min
  filesystem:
    read_allowed: [/data, /etc/resolv.conf]
    write_allowed: [/tmp]
steps:
  - id: rollout
    run: python rollout.py
    timeout: 10m
    resources: {gpu: {count: 1, memory: 12Gi}, cpu: 4, memory: 16Gi}
    outputs: ["{run}/rollout.npz"]
  - id: score
    run: python score.py --fast
    timeout: 5m
    needs: [rollout]
    resources: {cpu: 2}
    inputs: ["{run}/rollout.npz"]
  - id: update
    call: train:update
    args: {lr: 0.001}
    timeout: 5m
    needs: [score]
    retries: 2
"""

SLIPS = (
    (
        "elasticity:",
        "elastcity:",
        "DS101",
        "elastcity",
        "unknown key 'elastcity'",
        "did you mean elasticity?",
    ),
    ("timeout: 10m", "timeotu: 10m", "DS101", "timeotu", "unknown key", "did you mean timeout?"),
    ("memory: 64Gi", "memory: 64G", "DS106", "64G", "'G' is not a unit of size", "did you mean 64Gi?"),
    ("timeout: 10m", "timeout: 600", "DS106", "600", "'600' has no unit", "did you mean 600s?"),
    ("timeout: 10m", "timeout: 10 minutes", "DS106", "10 minutes", "must be a duration", "did you mean 10m?"),
    ("timeout: 10m", "timeout: 10m;", "DS106", "10m;", "must be a duration", "did you mean 10m?"),
    (
        "{count: 2,",
        "{count: 2-4,",
        "DS104",
        "2-4",
        "must be a whole number",
        "gpu: {min_count: 2, max_count: 4}",
    ),
    (
        "{count: 1,",
        "{count: 1..2,",
        "DS104",
        "1..2",
        "must be a whole",
        "count: 1, min_count: 1, max_count: 2",
    ),
    ("retries: 2", "retries: 2 to 3", "DS104", "2 to 3", "must be", "write one number: 2 or 3"),
    ("{count: 2,", "{count:2,", "DS101", "count:2", "unknown key", "write `count: ...`"),
    ("cpu: 8\n", 'cpu: "8"\n', "DS104", '"8"', "must be a number", "remove the quotes"),
    ("cpu: 8\n", "cpu: 8,\n", "DS104", "8,", "must be a number", "remove the `,`"),
    ("cpu: 8\n", "cpu: 8#cores\n", "DS104", "8#cores", "must be a number", "a comment needs a space"),
    ("cpu: 8\n", "cpu = 8\n", "DS002", "c", "neither `key: value`", "add `: `"),
    ("cpu: 8\n", "cpu：8\n", "DS002", "：", "the colon after `cpu` is full-width", "write `cpu: ...`"),
    ("cpu: 8\n", "cpu:8\n", "DS002", ":", "no space after the colon of `cpu`", "write `cpu: ...`"),
    ("min_count: 2", 'min_count: "2"', "DS104", '"2"', "must be a whole number", "remove the quotes"),
    (
        "fault_tolerance:\n",
        "fault_tolerance\n",
        "DS002",
        "f",
        "no colon after `fault_tolerance`",
        "write `fault",
    ),
    (
        "fault_tolerance:\n",
        "fault_tolerance：\n",
        "DS002",
        "：",
        "is full-width",
        "write `fault_tolerance: ...`",
    ),
    ("level: critical", "level critical", "DS002", "l", "neither `key: value`", "add `: `"),
    ("level: critical", "level:critical", "DS002", ":", "no space after the colon", "write `level: ...`"),
    ("level: critical", "level: Critical", "DS105", "Critical", "must be critical", "did you mean critical?"),
    (
        "level: critical",
        "level: pausable",
        "DS105",
        "pausable",
        "must be critical",
        "did you mean pauseable?",
    ),
    ("level: critical", "level: [critical]", "DS104", "[critical]", "not a list", "without the brackets"),
    (
        "needs: [rollout]",
        "needs: rollout",
        "DS104",
        "rollout",
        "must be a list",
        "write it as a list: [rollout]",
    ),
    (
        "needs: [rollout]",
        "needs: [rolout]",
        "DS501",
        "rolout",
        "no Step has this id",
        "did you mean 'rollout'?",
    ),
    (
        "needs: [rollout]",
        "needs: [rollout, rollout]",
        "DS113",
        "rollout",
        "names rollout twice",
        "remove one",
    ),
    (
        "needs: [rollout]",
        "depends_on: [rollout]",
        "DS101",
        "depends_on",
        "unknown key",
        "did you mean needs?",
    ),
    ("needs: [score]", "needs: [{id: score}]", "DS101", "id", "unknown key 'id'", "did you mean step?"),
    ("    min_count: 2", "\tmin_count: 2", "DS002", "\t", "a tab indents this line", "spaces"),
    ("    timeout: 10m", "   timeout: 10m", "DS002", "t", "aligned with no key", "indent it like"),
    ("    timeout: 10m", "     timeout: 10m", "DS002", "t", "as if it continued the value", "align it"),
    ("memory: 12Gi}", "memory: 12Gi", "DS002", "{", "is not closed", "close it with `}`"),
    ('">=2.1,<2.4"', '">=2.1,<2.4', "DS002", '"', "quote is never closed", "close it"),
    ('">=2.1,<2.4"', ">=2.1,<2.4", "DS002", ">", "cannot start with `>`", "in quotes"),
    ('">=2.1,<2.4"', '"2.1.*"', "DS108", '"2.1.*"', "no version range", '"==2.1.*"'),
    (
        'outputs: ["{run}/rollout.npz"]',
        "outputs: [{run}/rollout.npz]",
        "DS002",
        "{",
        "needs quotes",
        '"{run}/',
    ),
    ('version: "1.2.0"', "version: 1.2", "DS103", "1.2", "YAML reads the number 1.2", "in quotes"),
    (
        "    timeout: 10m",
        "    timeout: 10m\n    timeout: 20m",
        "DS003",
        "timeout",
        "duplicate key",
        "remove one",
    ),
    ("ports: [443]", 'ports: ["443"]', "DS104", '"443"', "must be a whole number", "remove the quotes"),
    ("ports: [443]", "ports: 443", "DS104", "443", "must be a list", "[443]"),
    (
        "ports: [443]",
        "ports:\n          - 443\n          -80",
        "DS002",
        "-",
        "no space after the `-`",
        "write `- 80`",
    ),
    ("  - id: score", "  -id: score", "DS002", "-", "no space after the `-`", "write `- id: score`"),
    (
        "  - id: score\n    run",
        "  - run",
        "DS109",
        "run: python score.py --fast",
        "lacks the required key id",
        "add id",
    ),
    ("  - id: update", "  -\n  - id: update", "DS104", "", "is empty", "give it a value"),
    (
        "    run: python score.py --fast",
        "    command: python score.py",
        "DS101",
        "command",
        "unknown",
        "mean run?",
    ),
    ("run: python score.py --fast", "run: python a: b", "DS002", ":", "a second `: `", "in quotes"),
    (
        "rate_limit: 100req/min",
        "rate_limit: 100/min",
        "DS106",
        "100/min",
        "request rate",
        "did you mean 100req/min?",
    ),
    ("memory: 64Gi", "memory: {{ mem }}", "DS009", "{{", "Helm or Jinja", "render the template"),
    (
        "checkpoint_grace",
        "checkpoint-grace",
        "DS101",
        "checkpoint-grace_period",
        "unknown key",
        "checkpoint_grace",
    ),
    ("resources: {cpu: 2}", "resources: *res", "DS008", "*res", "refers to no anchor", "quotes"),
    ("resources: {cpu: 2}", "gpu: {count: 1}", "DS101", "gpu", "unknown key", "into this Step's resources"),
    ("resources: {cpu: 2}", "resources: {gpus: 1}", "DS101", "gpus", "unknown key", "resources.gpu.count"),
    ("    timeout: 10m", "    timeout: 0s", "DS505", "0s", "a timeout of 0", "300s"),
    ("    max_count: 4", "    max_count: 1", "DS202", "2", "is 1 above max_count 1", "swapped"),
    ("memory: 12Gi", "memory: 120Gi", "DS210", "120Gi", "asks for 120Gi per GPU", "40Gi at most"),
    ("call: train:update", "call: train.update", "DS104", "train.update", "no call", "train:update"),
    ("args: {lr: 0.001}", "args: [0.001]", "DS104", "[0.001]", "must be a mapping", ""),
    ("steps:\n", "---\nsteps:\n", "DS102", "steps", "none of the four", "remove the line `---`"),
    (
        "elasticity:\n",
        "<<<<<<< a\n=======\n>>>>>>> b\nelasticity:\n",
        "DS002",
        "<<<<<<<",
        "merge conflict",
        "keep one",
    ),
)
"""What is replaced by what; code, marked text, and parts of the message and of the advice of the finding."""


def test_the_contract_is_right() -> None:
    assert lint(SourceText.from_bytes("dsandbox.yaml", RIGHT.encode())) == ()


@pytest.mark.parametrize(
    ("old", "new", "code", "marked", "message", "advice"), SLIPS, ids=[f"{row[1]!r}" for row in SLIPS]
)
def test_a_slip_is_told_once_where_it_is(
    old: str, new: str, code: str, marked: str, message: str, advice: str
) -> None:
    assert old in RIGHT
    text = SourceText.from_bytes("dsandbox.yaml", RIGHT.replace(old, new, 1).encode())
    found = lint(text)
    assert [one.code for one in found] == [code], found
    (one,) = found
    assert text.text[one.place.span.start : one.place.span.end] == marked
    assert message in one.message
    assert advice in one.help


QUOTES = "look like quotes and are none in YAML"
ODDITIES = (
    ("{count: 2,", "{count:\xa02,", "\xa0", "NO-BREAK SPACE"),
    ("  level: critical", "  level:\u3000critical", "\u3000", "IDEOGRAPHIC SPACE"),
    ("    min_count: 2\n", "\xa0\xa0\xa0\xa0min_count: 2\n", "\xa0", "NO-BREAK SPACE"),
    (
        "  gpu:\n    min_count: 2\n    max",
        "  gpu:\n\u3000\u3000min_count: 2\n\u3000\u3000max",
        "\u3000",
        "SPACE",
    ),
    ("  - id: rollout", "  -\xa0id: rollout", "\xa0", "NO-BREAK SPACE"),
    ("timeout: 10m", "time\u200bout: 10m", "\u200b", "ZERO WIDTH SPACE"),
    ("elasticity:", "\u200belasticity:", "\u200b", "ZERO WIDTH SPACE"),
    ("timeout: 10m", "timeout: 10m\u200b", "\u200b", "ZERO WIDTH SPACE"),
    ("level: critical", "level: critical\u200b", "\u200b", "ZERO WIDTH SPACE"),
    ("needs: [score]", "needs: [score\u200b]", "\u200b", "ZERO WIDTH SPACE"),
    ('version: ">=2.1,<2.4"', "version: \u201c>=2.1,<2.4\u201d", "\u201c", QUOTES),
    ('version: "1.2.0"', "version: \u201c1.2.0\u201d", "\u201c", QUOTES),
    ("{count: 2, memory: 24Gi", "{count: 2, memory: \u201824Gi\u2019", "\u2018", QUOTES),
    ("timeout: 10m", "\u201ctimeout\u201d: 10m", "\u201c", QUOTES),
)


@pytest.mark.parametrize(
    ("old", "new", "marked", "message"), ODDITIES, ids=[ascii(row[1]) for row in ODDITIES]
)
def test_an_odd_character_is_all_that_is_told_of_what_it_does(
    old: str, new: str, marked: str, message: str
) -> None:
    assert old in RIGHT
    text = SourceText.from_bytes("dsandbox.yaml", RIGHT.replace(old, new, 1).encode())
    (one,) = lint(text)
    assert (one.code, one.severity) == ("DS005", Severity.ERROR)
    assert text.text[one.place.span.start : one.place.span.end] == marked
    assert message in one.message


@pytest.mark.parametrize("old", ["timeout: 10m", "cpu: 4,"])
def test_an_odd_character_hides_nothing_else(old: str) -> None:
    """What is wrong elsewhere is told, and what the character is about, too, where a comment allows it."""
    wrong = RIGHT.replace(old, f"{old[:3]}x{old[3:]}").replace("level: critical", "level: critical\u200b")
    assert [one.code for one in lint(SourceText.from_bytes("dsandbox.yaml", wrong.encode()))] == [
        "DS005",
        "DS101",
    ]
    excused = wrong.replace("  level:", "  # dsec: ignore[DS005] pasted\n  level:")
    found = lint(SourceText.from_bytes("dsandbox.yaml", excused.encode()))
    assert [one.code for one in found] == ["DS105", "DS101"]


def test_an_odd_character_that_hurts_nothing_stays_a_warning() -> None:
    text = RIGHT.replace("name: train", "name: Note:\xa0train")
    (one,) = lint(SourceText.from_bytes("dsandbox.yaml", text.encode()))
    assert (one.code, one.severity) == ("DS005", Severity.WARNING)


@pytest.mark.parametrize(
    "value", ["\u201c\u8bad\u7ec3\u201d", "\u201ca\u201d \u4e00", "'\u201ca\u201d'", "x # \u201ca\u201d"]
)
def test_quotes_of_prose_are_left_alone(value: str) -> None:
    text = RIGHT.replace("name: train", f"name: {value}")
    assert lint(SourceText.from_bytes("dsandbox.yaml", text.encode())) == ()


@pytest.mark.parametrize("after", ["id: rollout", "name: train", "level: critical", "cpu: 8", "value: /data"])
def test_a_text_that_took_in_an_unreadable_line_is_not_told_as_wrong(after: str) -> None:
    """A plain text goes on below a tab; what it then says is the tab's doing, and stood before it."""
    at = RIGHT.index("\n", RIGHT.index(after)) + 1
    text = RIGHT[:at] + "\t" + RIGHT[at:].lstrip(" ")
    found = lint(SourceText.from_bytes("dsandbox.yaml", text.encode()))
    assert found
    assert found[0].code == "DS002"


def test_a_tab_before_a_command_is_the_only_finding() -> None:
    text = RIGHT.replace("    run: python rollout.py", "\t run: python rollout.py")
    assert [one.code for one in lint(SourceText.from_bytes("dsandbox.yaml", text.encode()))] == ["DS002"]


_INDENTED = [at for at, line in enumerate(RIGHT.split("\n")) if line.startswith(" ")]


@pytest.mark.parametrize("kept", ["none", "less", "all"])
@pytest.mark.parametrize("row", _INDENTED)
def test_a_tab_on_any_line_has_no_other_consequence(row: int, kept: str) -> None:
    lines = RIGHT.split("\n")
    bare = lines[row].lstrip(" ")
    width = len(lines[row]) - len(bare)
    lines[row] = " " * {"none": 0, "less": width - 2, "all": width}[kept] + "\t" + bare
    found = lint(SourceText.from_bytes("dsandbox.yaml", "\n".join(lines).encode()))
    at = lines[row].index("\t") + 1
    assert [(one.code, one.place.start.line, one.place.start.column) for one in found] == [
        ("DS002", row + 1, at)
    ]


def test_tabs_on_lines_that_lie_apart_are_told_once() -> None:
    text = RIGHT.replace("    - {name: HF", "\t- {name: HF").replace("    egress:", "\tegress:")
    found = lint(
        SourceText.from_bytes("dsandbox.yaml", text.replace("  - id: score", "\t- id: score").encode())
    )
    assert [(one.code, "(3 lines)" in one.message) for one in found] == [("DS002", True)]
