"""Sentences of pages that were wrong once, each with the test that would fail if it became wrong again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = (
    (
        "docs/explanation/simulation.md",
        "Preemption by level is decided by the code that a run uses",
        "simulation/test_same_as_run.py::test_the_executor_starts_what_a_simulation_starts",
    ),
    (
        "README.md",
        "Memory is limited, processors are only counted",
        "runtime/test_confines.py::test_a_step_that_takes_more_than_it_states_is_ended_by_its_level",
    ),
    (
        "docs/how-to/watching.md",
        "at once where it uses GPUs, after two seconds if an attempt then lasts a quarter of a second",
        "runtime/test_monitor.py::test_a_run_of_some_length_is_audited",
    ),
    (
        "docs/explanation/placement.md",
        "rule cards out: only types whose data sheet gives the rate",
        "plan/test_root_keys.py::test_only_cards_that_reach_the_stated_rates_are_taken",
    ),
    (
        "docs/reference/commands.md",
        "Steps in a ds_config.yaml beside the contract count as its own",
        "plan/test_plan_command.py::test_steps_beside_the_contract_are_its_own_and_told_in_their_file",
    ),
    (
        "docs/reference/rules/DS117.md",
        "So plan and run refuse the pair, too",
        "plan/test_plan_command.py::test_steps_in_both_files_are_refused_and_other_keys_are_merged",
    ),
    (
        "docs/reference/contract.md",
        "Steps read it as DSEC_MAX_STEPS_PER_EPISODE",
        "plan/test_root_keys.py::test_step_counts_reach_every_step_and_a_steps_own_variable_goes_over_them",
    ),
    (
        "docs/reference/contract.md",
        "verified before the first Step, which finds it at DSEC_DEP_DATA_SOURCE",
        "dependencies/test_dependency_runs.py::"
        "test_a_data_set_is_verified_before_the_first_step_and_found_by_it",
    ),
    (
        "docs/how-to/metrics.md",
        "There is no breaker yet, so `dsec_meltdown_total` is absent",
        "runtime/test_exposition.py::test_syncs_and_breakers_have_their_metrics",
    ),
    (
        "docs/how-to/language.md",
        "is written as escapes",
        "languages/test_choice.py::test_a_terminal_without_chinese_letters_gets_escapes_and_no_crash",
    ),
    (
        "docs/explanation/limits.md",
        "are looked up in the default interpreter",
        "runtime/test_interpreter.py::test_packages_are_those_of_the_active_environment",
    ),
    (
        "docs/explanation/limits.md",
        "Keys that a contract may state and that no run applies yet are named by lint (DS116)",
        "lint/test_lint_golden.py::test_golden_of_one_rule",
    ),
)


@pytest.mark.parametrize(("page", "claim", "test"), CLAIMS, ids=[claim[:40] for _, claim, _ in CLAIMS])
def test_a_claim_stands_on_its_page_and_has_its_test(page: str, claim: str, test: str) -> None:
    assert claim in " ".join((ROOT / page).read_text("utf-8").split())
    module, name = test.split("::")
    assert re.search(rf"^def {name}\(", (ROOT / "tests" / module).read_text("utf-8"), re.MULTILINE)
