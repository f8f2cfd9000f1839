"""Sentences of pages that were wrong once, each with the test that would fail if it became wrong again."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest

from dsec import attention, journal, parts, warden
from dsec.devices import visible
from dsec.monitor.checks import logsize
from dsec_cli.commands import marking
from dsec_cli.diagnostics import Severity
from dsec_cli.fast import run
from dsec_cli.lint.linter import lint
from dsec_cli.options import COMMANDS
from dsec_cli.snapshot import keeping
from dsec_cli.source.text import SourceText

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
    (
        "docs/explanation/simulation.md",
        "here the part of its time that a Step waits, 0 to 1: waited / (waited + held)",
        "simulation/test_simulation.py::test_hunger_is_the_share_of_its_time_that_a_step_waited",
    ),
    (
        "docs/explanation/making-room.md",
        "A Step that waits alone with its needs done has 1, one that runs with all it asked for 0",
        "simulation/test_elasticity.py::test_hunger_of_one_who_waits_alone_and_of_one_who_has_all",
    ),
    (
        "docs/how-to/share-a-box.md",
        "The monitor begins [when the run is long enough](watching.md), at once where it uses GPUs",
        "docs/test_claims.py::test_when_a_run_has_a_monitor",
    ),
    (
        "docs/how-to/watching.md",
        "and after twenty seconds in any case",
        "docs/test_claims.py::test_when_a_run_has_a_monitor",
    ),
    (
        "docs/how-to/steps.md",
        "Once a second it is looked at (in runs [with a monitor](watching.md))",
        "runtime/test_log_size.py::test_the_middle_goes_the_first_and_the_newest_lines_stay",
    ),
    (
        "docs/how-to/steps.md",
        "of its `DSEC_` variables only `DSEC_HOME` is handed on",
        "docs/test_claims.py::test_the_variables_of_a_step_are_on_the_page_about_steps",
    ),
    (
        "docs/how-to/steps.md",
        "The log of an attempt may take 1 GiB",
        "docs/test_claims.py::test_what_a_log_may_take",
    ),
    (
        "docs/how-to/scan-a-plugin.md",
        "a target that is declared is taken as it is: the sandbox refuses all others",
        "plugins/test_evidence.py::test_a_narrow_target_is_taken_where_the_file_does_not_tell",
    ),
    (
        "docs/monitoring/alerts.yml",
        "alert: DsecOthersOnGpu",
        "runtime/test_exposition.py::test_rules_and_panels_ask_for_what_there_is",
    ),
    (
        "docs/how-to/language.md",
        "how a run goes, and errors of the command line exist in English and in Chinese",
        "languages/test_commands.py::test_no_english_sentence_is_left",
    ),
    (
        "docs/how-to/language.md",
        "`--lang zh`, of every command but `dsec lsp`",
        "docs/test_claims.py::test_every_command_but_one_takes_a_language",
    ),
    (
        "docs/how-to/language.md",
        "`auto`, everywhere the default, leaves the choice to the next one",
        "languages/test_choice.py::test_the_nearest_wish_decides",
    ),
    (
        "docs/how-to/language.md",
        "The help pages (`--help`)",
        "docs/test_claims.py::test_help_pages_stay_english",
    ),
    (
        "docs/explanation/limits.md",
        "Pausing frees no GPU memory.** A Step that stands still keeps it (DS310)",
        "lint/test_lint_golden.py::test_golden_of_one_rule",
    ),
    (
        "docs/explanation/limits.md",
        "Main memory is limited, processors are counted",
        "runtime/test_confines.py::test_a_step_that_takes_more_than_it_states_is_ended_by_its_level",
    ),
    (
        "README.md",
        "in ten formats for CI",
        "docs/test_claims.py::test_how_many_formats_a_lint_has",
    ),
    (
        "README.md",
        "a contract of 20 lines with five mistakes",
        "docs/test_claims.py::test_the_bad_example_is_as_long_as_the_page_says",
    ),
    (
        "README.md",
        "DSec reaches another host only where a command or a contract names it",
        "docs/test_claims.py::test_what_reaches_another_host",
    ),
    (
        "README.md",
        "A paused process keeps its GPU memory",
        "lint/test_lint_golden.py::test_golden_of_one_rule",
    ),
    (
        "docs/how-to/snapshots.md",
        "Of each run the marks and the last twelve states are kept, of runs the latest twenty",
        "docs/test_claims.py::test_which_snapshots_are_kept",
    ),
    (
        "docs/how-to/snapshots.md",
        "A run that lasts 20 s takes snapshots by itself: `JOB-start`, one every five minutes, `JOB-finish`",
        "docs/test_claims.py::test_how_often_a_run_takes_snapshots",
    ),
    (
        "docs/explanation/journal.md",
        "A journal of 16 MiB or more (some 90,000 records) is packed when it is closed or resumed",
        "docs/test_claims.py::test_sizes_of_a_journal",
    ),
    (
        "docs/explanation/journal.md",
        "256 KiB are set aside beside the journal",
        "docs/test_claims.py::test_sizes_of_a_journal",
    ),
    (
        "docs/explanation/processes.md",
        "the warden ends every process that this executor started: TERM, two seconds, KILL",
        "docs/test_claims.py::test_how_long_a_warden_waits",
    ),
    (
        "docs/how-to/packages.md",
        "The whole answer takes at most 120 seconds, or `--timeout SECONDS`",
        "docs/test_claims.py::test_how_long_an_answer_about_packages_may_take",
    ),
    (
        "docs/reference/contract.md",
        "Time between the state snapshots that a run takes by itself; five minutes where none is stated",
        "docs/test_claims.py::test_how_often_a_run_takes_snapshots",
    ),
)


def test_when_a_run_has_a_monitor() -> None:
    """After two seconds if an attempt lasts a quarter of a second, and after twenty in any case."""
    assert (attention.START_S, attention.WORTH_US, attention.LONG_S) == (2.0, 250_000, 20.0)


def test_how_often_a_run_takes_snapshots() -> None:
    assert (marking.Marking.AFTER_S, marking.EVERY_S) == (20.0, 5 * 60)


def test_which_snapshots_are_kept() -> None:
    assert (keeping.LIGHTS, keeping.RUNS) == (12, 20)


def test_sizes_of_a_journal() -> None:
    assert (journal.RESERVE_BYTES, journal.PACK_BYTES, journal.SYNC_EVERY_S) == (256 << 10, 16 << 20, 0.25)


def test_how_long_a_warden_waits() -> None:
    assert warden.GRACE_S == 2.0


def test_how_long_an_answer_about_packages_may_take() -> None:
    (packages,) = (row for row in COMMANDS if row[0] == "packages")
    (timeout,) = (option for option in packages[4] if option[0] == "timeout")
    assert timeout[5] == 120


def test_how_many_formats_a_lint_has() -> None:
    (lint,) = (row for row in COMMANDS if row[0] == "lint")
    (formats,) = (option for option in lint[4] if option[0] == "format")
    assert len(formats[4]) == 10


def test_the_bad_example_is_as_long_as_the_page_says() -> None:
    text = (ROOT / "examples/bad/dsandbox.yaml").read_text()
    errors = [
        one for one in lint(SourceText("dsandbox.yaml", text.encode())) if one.severity is Severity.ERROR
    ]
    assert (text.count("\n"), len(errors)) == (20, 5)


REACHES = {
    "dsec_cli/commands/indexing.py",  # the package index
    "runtime/dsec/stores.py",  # stores of dependencies
}
_CLIENT = re.compile(r"\b(?:urlopen|build_opener|HTTPS?Connection|create_connection)\(")


def test_what_reaches_another_host() -> None:
    """Apart from the programs that a command starts (pip, uv, git) and the probes of `ds-netcheck`."""
    found = {
        str(path.relative_to(ROOT))
        for folder in ("dsec_cli", "runtime/dsec")
        for path in (ROOT / folder).rglob("*.py")
        if _CLIENT.search(path.read_text("utf-8"))
        and "netcheck" not in path.parts
        and "code" not in path.parts
    }
    assert found == REACHES


def test_the_variables_of_a_step_are_on_the_page_about_steps() -> None:
    page = (ROOT / "docs/how-to/steps.md").read_text("utf-8")
    source = (ROOT / "runtime/dsec/launch.py").read_text("utf-8")
    set_there = set(re.findall(r'b"(DSEC_[A-Z_]*[A-Z])"', source))
    assert {"DSEC_RUN_DIR", "DSEC_LINKS", "DSEC_HOME"} <= set_there
    for name in (*set_there, *parts_of_a_split(), visible.GRANTED, "DSEC_DEP_"):
        assert f"`{name}" in page, f"{name} is not on the page"


def parts_of_a_split() -> tuple[str, ...]:
    return (parts.INDEX, parts.COUNT, parts.LAYERS)


def test_what_a_log_may_take() -> None:
    assert logsize.MOST_BYTES == 1 << 30


def test_every_command_but_one_takes_a_language() -> None:
    without = [row[0] for row in COMMANDS if not any(option[0] == "lang" for option in row[4])]
    assert without == ["lsp"]


@pytest.mark.parametrize("words", [("lint", "--help"), ("run", "--help", "--lang", "zh"), ("--help",)])
def test_help_pages_stay_english(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DSEC_LANG", "zh")
    with suppress(SystemExit):
        run("dsec", list(words))
    said = capfd.readouterr().out
    assert "Usage" in said
    assert not re.search("[\u4e00-\u9fff]", said)


@pytest.mark.parametrize(("page", "claim", "test"), CLAIMS, ids=[claim[:40] for _, claim, _ in CLAIMS])
def test_a_claim_stands_on_its_page_and_has_its_test(page: str, claim: str, test: str) -> None:
    assert claim in " ".join((ROOT / page).read_text("utf-8").split())
    module, name = test.split("::")
    assert re.search(rf"^def {name}\(", (ROOT / "tests" / module).read_text("utf-8"), re.MULTILINE)
