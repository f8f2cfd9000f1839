"""The linter itself: order, selection, crash isolation, several documents, suppressions."""

from __future__ import annotations

import pytest

from dsec_cli.diagnostics import Finding, Severity, Silenced
from dsec_cli.lint.linter import lint, lint_all
from dsec_cli.lint.rule import TEXT, OverBudgetError, Rule, Surroundings, find_rules
from dsec_cli.lint.suppress import is_day
from dsec_cli.source.text import SourceText

BROKEN = """\
baseline:
  gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
elasticity:
  gpu: {min_count: 1, max_count: 8}
fault_tolerance: {level: critical, checkpoint_grace_period: 5s}
dependencies: []
"""


def source(text: str, name: str = "dsandbox.yaml") -> SourceText:
    return SourceText.from_bytes(name, text.encode())


def codes(text: str, name: str = "dsandbox.yaml", **options) -> list[str]:
    return [one.code for one in lint(source(text, name), **options)]


def test_findings_come_by_place() -> None:
    found = lint(source(BROKEN))
    assert [one.code for one in found] == ["DS201", "DS203", "DS301"]
    assert [one.place.span.start for one in found] == sorted(one.place.span.start for one in found)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"select": ["DS2"]}, ["DS201", "DS203"]),
        ({"select": ["elasticity-too-wide"]}, ["DS203"]),
        ({"select": ["DS2", "DS301"], "ignore": ["DS203"]}, ["DS201", "DS301"]),
        ({"ignore": ["DS"]}, []),
        ({"select": ["DS7"]}, []),
        ({"select": [""]}, []),
    ],
)
def test_select_and_ignore_take_prefixes_and_names(options, left: list[str]) -> None:
    assert codes(BROKEN, **options) == left


def test_deselected_rules_do_not_run() -> None:
    asked: list[str] = []

    def spy(facts):
        asked.append("ran")
        return ()

    rule = Rule("DS777", "spy", Severity.ERROR, spy)
    lint(source(BROKEN), rules=(rule,), ignore=["DS777"])
    assert asked == []
    lint(source(BROKEN), rules=(rule,))
    assert asked == ["ran"]


def _raises(facts):
    yield Finding("DS777", Severity.ERROR, ("baseline",), "said before the fall")
    raise ZeroDivisionError("by zero")


@pytest.mark.parametrize("scope", ["document", TEXT])
def test_a_crashing_rule_is_told_and_hides_nobody(scope: str) -> None:
    broken = Rule("DS777", "always-raises", Severity.ERROR, _raises, scope)
    found = lint(source(BROKEN), rules=(broken, *find_rules()))
    assert sorted(one.code for one in found) == ["DS201", "DS203", "DS301", "DS999"]
    crash = next(one for one in found if one.code == "DS999")
    assert "DS777 (always-raises) failed: ZeroDivisionError: by zero" in crash.message
    assert "--ignore DS777" in crash.help


def test_a_crashing_rule_is_told_once_for_many_documents() -> None:
    broken = Rule("DS777", "always-raises", Severity.ERROR, _raises)
    found = lint(source(f"{BROKEN}---\n{BROKEN}"), rules=(broken, *find_rules()))
    assert [one.code for one in found].count("DS999") == 1


def test_every_document_is_linted_with_its_own_places() -> None:
    found = lint(source(f"{BROKEN}---\n{BROKEN}"))
    assert [(one.code, one.place.start.line) for one in found] == [
        ("DS201", 2),
        ("DS203", 4),
        ("DS301", 5),
        ("DS115", 8),
        ("DS201", 9),
        ("DS203", 11),
        ("DS301", 12),
    ]


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "null\n", "42\n", "[]\n", "..."])
def test_a_text_without_a_contract_is_not_passed_in_silence(text: str) -> None:
    assert codes(text), repr(text)


def test_the_file_name_decides_the_kind_of_document() -> None:
    steps = "steps:\n  - {id: a, run: python a.py, timeout: 60s}\n"
    assert codes(steps, "ds_config.yaml") == []
    assert set(codes(steps, "dsandbox.yaml")) == {"DS102"}


LINE = "  gpu: {min_count: 2, max_count: 8}"


def suppressed(comment_on_line: str = "", above: str = "") -> str:
    text = BROKEN.replace("min_count: 1", "min_count: 2").replace("5s", "30s")
    return text.replace(LINE, f"{above}{LINE}{comment_on_line}")


@pytest.mark.parametrize(
    "text",
    [
        suppressed("  # dsec: ignore[DS203] peaks are measured"),
        suppressed("  # dsec: ignore[ DS203 , DS203 ] peaks are measured"),
        suppressed("  #dsec:ignore[DS203] peaks are measured"),
        suppressed(above="  # dsec: ignore[DS203] peaks are measured\n"),
        suppressed(above="  # dsec: ignore[DS203] peaks are measured\n\n  # another remark\n"),
    ],
)
def test_a_suppression_binds_to_its_line_and_to_the_one_below(text: str) -> None:
    assert codes(text) == []


def test_a_suppression_above_a_key_covers_what_hangs_below_it() -> None:
    text = BROKEN.replace("elasticity:\n", "# dsec: ignore[DS203] measured\nelasticity:\n")
    assert codes(text) == ["DS201", "DS301"]
    other = BROKEN.replace("baseline:\n", "# dsec: ignore[DS203] wrong place\nbaseline:\n")
    assert codes(other) == ["DS901", "DS201", "DS203", "DS301"]


def test_a_suppression_reaches_no_further_than_its_document() -> None:
    text = "# dsec: ignore[DS203] first only\n" + BROKEN
    assert codes(text)[0] == "DS901"


@pytest.mark.parametrize(
    ("comment", "wanted"),
    [
        ("# dsec: ignore[DS203]", ["DS903"]),
        ("# dsec: ignore[DS203] :", ["DS903"]),
        ("# dsec: ignore[DS777] no such rule", ["DS902", "DS203"]),
        ("# dsec: ignore everything", ["DS902", "DS203"]),
        ("# dsec: ignore[DS203 unclosed", ["DS902", "DS203"]),
        ("# dsec: ignored", ["DS203", "DS905"]),
        ("# dsec ignore[DS203] no colon", ["DS203", "DS905"]),
        ("# remark # dsec: ignore[DS203] behind another remark", []),
        ("# DSEC: ignore[DS203] in capitals", []),
        ("# dsec: ignore[ds203] in small letters", []),
        ("# dsec: ignore[elasticity-too-wide] by its rule's name", []),
        ("# dsec: ignore[DS203] until 2030-01-01 then the pool is shared", []),
        ("# see #12 # dsec: ignore[DS203] as #12 says", []),
        ("# noqa: DS203", ["DS203", "DS905"]),
    ],
)
def test_a_suppression_must_be_well_formed(comment: str, wanted: list[str]) -> None:
    assert sorted(codes(suppressed(f"  {comment}"))) == sorted(wanted)


def test_an_unused_suppression_is_judged_by_rules_that_are_not_selected() -> None:
    used = suppressed("  # dsec: ignore[DS203] measured")
    assert codes(used, select=["DS901"]) == []
    unused = suppressed("  # dsec: ignore[DS301] measured")
    assert codes(unused, select=["DS901"]) == ["DS901"]
    assert codes(unused, select=["DS301"]) == []


def test_findings_about_suppressions_cannot_be_suppressed() -> None:
    text = suppressed("  # dsec: ignore[DS301, DS901] twice wrong")
    assert "DS901" in codes(text)


def test_a_hash_in_a_block_scalar_suppresses_nothing() -> None:
    text = "steps:\n  - id: a\n    run: |\n      # dsec: ignore[DS505] not a comment\n      x\n"
    assert codes(text, "ds_config.yaml") == ["DS505", "DS905"]


def test_a_crash_is_told_whatever_is_selected() -> None:
    broken = Rule("DS777", "always-raises", Severity.ERROR, _raises)
    assert [one.code for one in lint(source(BROKEN), rules=(broken,), select=["DS777"])] == ["DS999"]


def test_no_message_quotes_a_secret() -> None:
    secret = "g" + "hp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    found = lint(source(f"data_source: [{secret}]\nnvlink_mode: {secret}\nmax_gpu_hours: {secret}\n"))
    assert "DS601" in {one.code for one in found}
    assert not [one for one in found if secret in one.message + one.help + one.reason]


def test_messages_stay_on_one_line() -> None:
    found = lint(source('steps:\n  - id: "a\\nb"\n    run: x\n', "ds_config.yaml"))
    assert found
    assert not [one for one in found if "\n" in one.message + one.help]


def _ends_never(facts):
    raise AssertionError("the watch stops it before it begins")


def test_a_rule_that_takes_too_long_is_stopped_and_hides_nobody() -> None:
    endless = Rule("DS777", "never-ends", Severity.ERROR, _ends_never)

    def watch(rule, ask):
        if rule is endless:
            raise OverBudgetError
        return ask()

    found = lint(source(BROKEN), rules=(endless, *find_rules()), watch=watch)
    assert sorted(one.code for one in found) == ["DS201", "DS203", "DS301", "DS998"]
    assert "DS777 (never-ends) took too long" in next(one for one in found if one.code == "DS998").message


def test_what_a_comment_silences_is_kept_and_marked() -> None:
    text = source(BROKEN.replace("8}", "8}  # dsec: ignore[DS203] ours alone"))
    [one] = [one for one in lint_all(text) if one.silenced is not None]
    assert (one.code, one.silenced) == ("DS203", Silenced("comment", "ours alone"))
    assert one.code not in {other.code for other in lint(text)}


def test_a_whole_file_may_be_excused() -> None:
    text = source(f"# dsec: ignore-file[DS203] the pool is ours\n{BROKEN}")
    assert [one.code for one in lint(text)] == ["DS201", "DS301"]


def test_until_and_a_day_is_read_as_people_write_it() -> None:
    text = source(suppressed("  # dsec: ignore[DS203] until 2020-01-01 it was shared"))
    found = [one.code for one in lint(text, around=Surroundings(today="2026-11-30"))]
    assert {"DS203", "DS904"} <= set(found)


@pytest.mark.parametrize(("today", "shown"), [("2026-11-29", False), ("2026-11-30", True), ("", False)])
def test_a_suppression_holds_until_its_last_day_is_over(today: str, shown: bool) -> None:
    text = source(f"# dsec: ignore-file[DS203] until=2026-11-29 for now\n{BROKEN}")
    codes = [one.code for one in lint(text, around=Surroundings(today=today))]
    assert ("DS203" in codes) is ("DS904" in codes) is shown


@pytest.mark.parametrize(
    ("day", "real"),
    [
        *(("2024-02-29", True), ("2023-02-29", False), ("2100-02-29", False), ("2000-02-29", True)),
        *(("2026-04-31", False), ("2026-12-31", True), ("2026-13-01", False), ("2026-1-01", False)),
        *(
            ("2026-00-10", False),
            ("2026-01-00", False),
            ("", False),
            ("soon", False),
            ("2026-01-01-01", False),
        ),
    ],
)
def test_days(day: str, real: bool) -> None:
    assert is_day(day) is real
