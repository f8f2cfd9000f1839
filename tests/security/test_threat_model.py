"""The threat model's table, cell by cell: which tests show what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "explanation" / "security.md"
CELLS = {
    "check/repository": (
        "security/test_configured_output.py::test_it_writes_nothing_outside",
        "security/test_configured_output.py::test_it_writes_no_file_that_something_runs_or_reads",
        "security/test_configured_output.py::test_a_link_out_of_the_clone_is_not_written_through",
        "security/test_configured_output.py::test_an_output_is_not_written_through_one_either",
        "security/test_hostile_repository.py::test_lint_since_runs_nothing_of_it",
        "source/test_hostile.py::test_hostile_files",
        "code/test_code_hostile.py::test_any_text",
    ),
    "check/foreign state": ("security/test_foreign_state.py::test_a_planted_configuration_is_not_read",),
    "check/text": (
        "security/test_untrusted_text.py::test_what_is_written_of_a_contract_acts_on_nothing",
        "security/test_untrusted_text.py::test_github_gets_only_our_commands",
        "security/test_untrusted_text.py::test_markup_is_text_again_for_who_reads_it",
    ),
    "compile/repository": (
        "security/test_untrusted_text.py::test_what_is_written_of_a_contract_acts_on_nothing",
        "security/test_interpreters.py::test_no_program_does",
    ),
    "run/repository": (
        "security/test_interpreters.py::test_a_run_imports_only_what_the_contract_calls",
        "security/test_untrusted_text.py::test_what_is_written_of_a_run_acts_on_nothing",
    ),
    "run/foreign state": ("security/test_foreign_state.py::test_what_somebody_else_planted_is_refused",),
    "run/other users": (
        "security/test_private.py::test_nobody_else_reads_a_run",
        "security/test_foreign_caches.py::test_who_takes_our_name_in_tmp_stops_nobody",
        "security/test_foreign_caches.py::test_a_runtime_folder_that_others_write_to_is_none",
        "security/test_foreign_caches.py::test_a_private_folder_is_private",
    ),
    "run/network": ("security/test_private.py::test_which_hosts_are_answered",),
    "act/foreign state": (
        "security/test_foreign_state.py::test_what_somebody_else_planted_is_refused",
        "security/test_foreign_state.py::test_what_somebody_else_can_change_is_refused",
        "security/test_foreign_state.py::test_it_may_be_allowed",
        "security/test_foreign_state.py::test_a_configuration_cannot_allow_it",
    ),
    "act/sent": (
        "security/test_foreign_state.py::test_a_run_that_was_sent_is_looked_at_but_not_carried_out",
    ),
    "look/foreign state": ("security/test_foreign_state.py::test_what_somebody_else_planted_is_refused",),
    "look/sent": (
        "security/test_received_runs.py::test_no_command_shows_a_file_outside",
        "security/test_received_runs.py::test_a_document_that_is_another_file_is_not_read",
        "security/test_received_runs.py::test_the_contract_that_it_names_is_not_read",
    ),
    "look/text": (
        "security/test_untrusted_text.py::test_what_is_written_of_a_run_acts_on_nothing",
        "security/test_untrusted_text.py::test_logs_are_bytes_for_pipes",
    ),
    "machine/repository": (
        "security/test_interpreters.py::test_every_interpreter_is_isolated",
        "security/test_interpreters.py::test_doctor_runs_none_of_them",
        "security/test_interpreters.py::test_no_program_does",
    ),
    "machine/foreign state": (
        "security/test_foreign_caches.py::test_no_library_is_taken_from_where_others_write",
        "security/test_foreign_caches.py::test_nor_one_that_another_owns",
        "security/test_foreign_caches.py::test_nor_the_probe",
        "security/test_foreign_caches.py::test_nor_a_verdict",
    ),
    "machine/other users": (
        "security/test_private.py::test_a_new_file_goes_through_no_link",
        "security/test_private.py::test_a_crash_file_is_private",
        "security/test_configured_output.py::test_a_part_that_somebody_put_there_is_not_followed",
    ),
    "machine/network": (
        "netcheck/test_wire.py::test_another_token_is_refused_by_both",
        "netcheck/test_wire.py::test_a_changed_frame_is_not_believed",
        "netcheck/test_wire.py::test_anything_at_all_is_refused",
        "netcheck/test_wire.py::test_a_refusal_does_not_reach_the_terminal_as_it_came",
    ),
    "packages/repository": (
        "packages/test_uv.py::test_what_is_no_package_name_reaches_no_resolver",
        "packages/test_uv.py::test_versions_of_uv",
        "packages/test_uv.py::test_uv_in_a_folder_that_is_not_absolute_does_not_count",
        "packages/test_uv.py::test_pips_settings_reach_uv",
    ),
    "packages/network": (
        "packages/test_resolve.py::test_a_hostile_answer_is_one_line",
        "packages/test_resolve.py::test_limits_of_the_whole",
        "packages/test_resolve.py::test_the_password_goes_to_the_index_and_into_no_message",
        "packages/test_uv.py::test_passwords_are_in_no_text_and_not_in_the_command_line",
        "packages/test_uv.py::test_after_the_time_uv_and_what_it_has_started_end",
    ),
    "snapshot/repository": (
        "snapshot/test_git.py::test_a_hostile_repository_runs_nothing",
        "snapshot/test_git.py::test_names_that_are_no_text_and_files_that_are_none",
    ),
    "snapshot/foreign state": (
        "security/test_foreign_state.py::test_what_somebody_else_planted_is_refused",
        "security/test_foreign_state.py::test_a_project_is_not_found_in_a_shared_folder",
        "security/test_planted_cache.py::test_a_part_of_the_state_that_is_not_ours_alone_is_refused",
        "security/test_planted_cache.py::test_nor_is_one_of_another_user",
        "security/test_planted_cache.py::test_nor_what_a_group_can_write",
        "security/test_planted_cache.py::test_nor_one_in_a_folder_that_everybody_can_write",
    ),
    "snapshot/planted": (
        "security/test_planted_store.py::test_a_folder_that_is_a_link_is_refused",
        "security/test_planted_store.py::test_a_file_that_is_a_link_or_a_pipe_is_refused",
        "security/test_planted_store.py::test_a_record_that_is_a_pipe_or_a_device_is_damaged",
        "security/test_planted_cache.py::test_a_part_of_the_state_that_is_not_ours_alone_is_refused",
        "security/test_planted_cache.py::test_a_memory_that_everybody_can_write_is_not_believed",
        "security/test_planted_cache.py::test_a_document_that_is_not_ours_is_as_good_as_none",
        "security/test_planted_cache.py::test_what_is_no_file_or_too_large_is_not_read",
        "security/test_planted_cache.py::test_nor_one_behind_a_link",
        "snapshot/test_acceptance.py::test_a_list_that_came_with_the_repository_accepts_nothing",
    ),
    "snapshot/sent": (
        "snapshot/test_package.py::test_a_flipped_bit_anywhere_is_found",
        "snapshot/test_package.py::test_more_than_is_allowed",
        "snapshot/test_package.py::test_a_name_for_a_terminal_or_for_another_place",
        "snapshot/test_received_places.py::test_data_is_put_into_no_repository",
        "snapshot/test_received_places.py::test_trees_make_no_repository_together",
    ),
    "plugin/plugin": (
        "plugins/test_malformed.py::test_malformed_files_are_diagnosed",
        "signing/test_plugin_host.py::test_a_call_that_is_not_its_own_kills_it",
        "signing/test_plugin_host.py::test_files_are_what_it_was_given",
    ),
}


def test_every_cell_of_the_page_has_tests_and_the_other_way_round() -> None:
    found = re.findall(r"^\|[^|]*\| ([a-z]+/[a-z ]+) \|", PAGE.read_text(), re.MULTILINE)
    assert len(found) == len(set(found))
    assert set(found) == set(CELLS)


@pytest.mark.parametrize("cell", CELLS)
def test_the_tests_of_a_cell_are_there(cell: str) -> None:
    for name in CELLS[cell]:
        file, _, function = name.partition("::")
        assert f"\ndef {function}(" in (TESTS / file).read_text(), name
