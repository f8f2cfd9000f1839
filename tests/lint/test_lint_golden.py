"""Every rule against its golden cases: each case runs only the rule it lies under, `all/` runs everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsec_cli.lint.rule import find_rules

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "lint"
TOGETHER = ("all", "seeds")
RULES = find_rules()
CASES = sorted(path for path in GOLDEN.glob("*/*.yaml") if path.parent.name not in TOGETHER)
WHOLE = sorted((GOLDEN / "all").glob("*.yaml"))


def _id(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", CASES, ids=_id)
def test_golden_of_one_rule(path: Path, cases) -> None:
    rule = cases.rule(path.parent.name)
    found = cases.run(path.read_bytes(), rules=(rule,))
    assert {one.code for one in found} <= {rule.code}
    cases.compare(path, found)
    assert bool(found) != path.stem.startswith("quiet"), f"{_id(path)}: {len(found)} findings"


@pytest.mark.parametrize("path", WHOLE, ids=_id)
def test_golden_of_all_rules(path: Path, cases) -> None:
    cases.compare(path, cases.run(path.read_bytes()))


@pytest.mark.battery
@pytest.mark.parametrize("path", CASES + WHOLE + sorted((GOLDEN / "seeds").glob("*.yaml")), ids=_id)
def test_golden_does_not_depend_on_the_order_of_rules(path: Path, cases) -> None:
    data = path.read_bytes()
    assert cases.run(data, rules=RULES) == cases.run(data, rules=RULES[::-1])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_a_firing_and_a_quiet_golden(rule) -> None:
    if rule.code in ("DS998", "DS999"):
        pytest.skip("fires only when a rule is broken: tested in test_linter.py")
    stems = [path.stem for path in CASES if path.parent.name == rule.name]
    assert [stem for stem in stems if stem.startswith("quiet")], f"no quiet case in {GOLDEN / rule.name}"
    assert [stem for stem in stems if not stem.startswith("quiet")], f"no firing case in {GOLDEN / rule.name}"


def test_golden_folders_belong_to_rules() -> None:
    folders = {path.name for path in GOLDEN.iterdir() if path.is_dir()}
    assert folders <= {rule.name for rule in RULES} | set(TOGETHER)


def test_few_golden_cases_run_everything() -> None:
    assert 1 <= len(WHOLE) < 10
