"""What every rule file owes: a code of its own, a name like its file, a page whose examples hold."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dsec_cli.lint import generate
from dsec_cli.lint.page import read
from dsec_cli.lint.rule import AFTER, DOCUMENT, TEXT, find_rules

RULES = find_rules()
FOLDER = Path(generate.__file__).parent / "rules"
NORMATIVE = (
    *("DS001", "DS002", "DS003", "DS004", "DS005", "DS006", "DS007", "DS008", "DS009", "DS010", "DS011"),
    *("DS101", "DS102", "DS103", "DS104", "DS105", "DS106", "DS107", "DS108", "DS109"),
    *("DS201", "DS202", "DS203", "DS204", "DS205", "DS206", "DS207", "DS208", "DS209", "DS210", "DS211"),
    *("DS301", "DS303", "DS304", "DS305", "DS306", "DS307", "DS310"),
    *("DS401", "DS402", "DS403", "DS404", "DS405"),
    *("DS501", "DS502", "DS503", "DS504", "DS505", "DS506", "DS507", "DS508", "DS509"),
    *("DS510", "DS511", "DS512", "DS513", "DS514", "DS515", "DS516", "DS517", "DS518", "DS519", "DS520"),
    *("DS601", "DS602", "DS603", "DS604", "DS605", "DS606", "DS607", "DS608", "DS609", "DS701", "DS702"),
    *("DS901", "DS902", "DS903", "DS904", "DS998", "DS999"),
)


def _name(rule) -> str:
    return rule.name


def test_a_code_means_one_rule_and_is_never_dropped() -> None:
    codes = [rule.code for rule in RULES]
    assert len(set(codes)) == len(codes) == len({rule.name for rule in RULES})
    assert all(code[:2] == "DS" and code[2:].isdigit() and len(code) == 5 for code in codes)
    assert set(NORMATIVE) <= set(codes)


def test_every_file_in_the_folder_is_one_rule() -> None:
    files = {path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"}
    assert {rule.name.replace("-", "_") for rule in RULES} == files


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_a_rule_is_named_after_its_file(rule) -> None:
    module = sys.modules[rule.check.__module__]
    assert Path(str(module.__file__)).stem == rule.name.replace("-", "_")
    assert rule.scope in (TEXT, DOCUMENT, AFTER)


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_the_bad_example_fires_exactly_this_rule(rule, cases) -> None:
    example = read(rule).bad
    if example.kind != "yaml":
        pytest.skip(f"{rule.code}: {example.kind}, see the golden cases")
    found = cases.run(cases.completed(example.text))
    # Keys that no run applies yet are named whatever else is wrong.
    assert {one.code for one in found} - {"DS116"} == {rule.code} - {"DS116"}, cases.show(found)
    assert rule.code in {one.code for one in found}


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_the_good_example_is_quiet(rule, cases) -> None:
    found = cases.run(cases.completed(read(rule).good.text))
    assert rule.code not in {one.code for one in found}, cases.show(found)
    assert not [one for one in found if one.severity.value == "error"], cases.show(found)


def test_the_reference_pages_are_fresh() -> None:
    assert generate.stale(generate.ROOT) == [], "run `make generate`"


def test_a_stale_page_is_noticed_and_written(tmp_path: Path) -> None:
    generate.write(tmp_path)
    assert generate.stale(tmp_path) == []
    page = tmp_path / generate.FOLDER / "DS203.md"
    page.write_text("old")
    (tmp_path / generate.FOLDER / "DS777.md").write_text("a rule that is gone")
    assert [path.name for path in generate.stale(tmp_path)] == ["DS203.md", "DS777.md"]
    generate.write(tmp_path)
    assert generate.stale(tmp_path) == []
