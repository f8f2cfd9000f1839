"""Users' reports that became acceptance tests: which test shows each, and the few that are shown here.

A report is a thing that went wrong for somebody who trains models on a box of their own: what must
hold is in `REPORTS`, and a test that is renamed or taken away is missed.
"""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsec.core.leases import Ledger
from dsec.core.placement import Refusal, place
from dsec.inventory import Device, Inventory
from dsec.plan import Demand

TESTS = Path(__file__).resolve().parents[1]
MIB = 2**20
CONTRACT = """\
version: 1.0.0
baseline: {cpu: 1, memory: 64Mi}
elasticity: {}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s}
dependencies: []
steps:
  - id: train
    run: touch started
    timeout: 1m
    resources: {cpu: 1, memory: 64Mi}
"""

REPORTS = {
    "a misspelt key at any depth, a right key in the wrong section, a bad indent": (
        "runtime/test_acceptance.py::test_what_is_misspelt_is_named_and_nothing_starts",
        "golden/lint/unknown-key/typo-at-depth.yaml",
        "golden/lint/unknown-key/right-key-wrong-section.yaml",
        "golden/lint/yaml-syntax/tab-indent.yaml",
        "lint/test_slips.py::test_a_slip_gives_its_finding_alone",
    ),
    "numbers that are impossible together": (
        "golden/lint/framework-sizes-at-odds/fires.yaml",
        "golden/lint/more-processes-than-gpus/fires.yaml",
        "golden/lint/baseline-above-elasticity-minimum/seed-count.yaml",
        "golden/lint/minimum-above-maximum/every-pair.yaml",
    ),
    "24Gi on a 4090, 80Gi on an H100, 24 x 2000 MiB on 46,068 MiB": (
        "golden/lint/demand-no-device-meets/nominal-sizes.yaml",
        "devices/test_cards.py::test_nominal_sizes_lie",
        "devices/test_leases.py::test_a_refusal_says_the_arithmetic",
        "runtime/test_acceptance.py::test_24_times_2000_mib_do_not_meet_on_46068_mib",
    ),
    "a child that forks, ignores TERM, and a parent that is killed": (
        "runtime/test_orphans.py::test_nothing_survives",
        "runtime/test_orphans.py::test_other_runs_are_left_alone",
    ),
    "two runs on one box with a framework's default port": (
        "runtime/test_ports.py::test_two_runs_with_one_default_port_both_run",
        "golden/lint/fixed-port",
    ),
    "a Step that prints nothing and uses no GPU": (
        "runtime/test_stalling.py::"
        "test_a_hanging_rank_is_named_its_stack_saved_and_the_step_restarted_from_its_checkpoint",
        "runtime/test_stalling.py::test_gpus_that_work_or_are_not_known_to_idle_are_no_stall",
        "example/test_grpo_runs.py::test_a_hanging_rollout_is_seen_its_stack_saved_and_the_policy_unharmed",
    ),
    "killed in the middle of writing a checkpoint": (
        "example/test_grpo_loop.py::test_killed_while_saving_it_ends_with_the_same_policy",
        "runtime/test_saving.py::test_an_incomplete_save_is_refused_and_the_last_complete_one_taken",
        "runtime/test_saving.py::test_killed_at_any_moment_there_is_always_a_whole_state",
    ),
    "memory that climbs, on host and device apart": (
        "runtime/test_memory_watch.py::test_a_ramp_of_main_memory_is_told_before_the_limit",
        "runtime/test_memory_watch.py::test_a_ramp_of_gpu_memory_is_told_before_the_limit",
        "runtime/test_memory_ends.py::test_a_step_that_the_kernel_ended",
        "runtime/test_real_cgroups.py::test_the_kernel_ends_who_takes_more_than_it_states_and_nobody_else",
        "runtime/test_causes.py::test_the_journal_keeps_the_cause",
    ),
    "GPU 3 of 8 lost in mid-run, a driver upgraded under a running job": (
        "runtime/test_device_health.py::test_gpu_3_of_8_is_lost_in_mid_run_and_seven_go_on",
        "runtime/test_device_health.py::test_a_driver_upgraded_under_a_running_job_is_said_and_ends_nothing",
    ),
    "CUDA_VISIBLE_DEVICES as index, UUID, short UUID, MIG UUID, empty, in another order": (
        "runtime/test_granted.py::test_however_the_inherited_mask_names_it_the_child_gets_the_uuid",
        "runtime/test_granted.py::test_an_empty_inherited_mask_grants_nothing",
        "runtime/test_granted.py::test_what_names_the_same_is_the_same",
        "runtime/test_granted.py::test_a_gpu_of_somebody_else_is_an_error",
        "runtime/test_granted.py::test_cuda_itself_is_asked",
    ),
    "metrics that are NaN, a policy that collapses, a solved task that is no alarm": (
        "runtime/test_learning.py::test_a_running_training_that_turns_nan_is_told",
        "example/test_grpo_policy.py::test_without_entropy_bonus_small_batches_collapse",
        "example/test_grpo_policy.py::test_reward_rises_and_every_sum_is_learnt",
        "example/test_grpo_policy.py::test_without_entropy_bonus_large_batches_solve_it_and_alarm_nobody",
    ),
    "a resumed run ends as one that was never interrupted, bit for bit": (
        "runtime/test_example_resume.py::test_a_killed_run_ends_with_the_same_policy",
        "runtime/test_example_resume.py::test_some_boundaries",
    ),
    "no process is left, whoever is killed": (
        "runtime/test_orphans.py::test_nothing_survives",
        "runtime/test_memory_ends.py::test_an_executor_that_the_kernel_ended",
        "runtime/test_orphans.py::test_a_run_goes_on_without_its_warden",
        "runtime/test_orphans.py::test_a_killed_warden_is_missed_only_when_the_executor_is_killed_too",
        "runtime/test_orphans.py::test_in_a_container_without_cgroups",
        "runtime/test_orphans.py::test_many_descendants",
        "runtime/test_doctor.py::test_both_killed_and_doctor_ends_what_is_left",
    ),
}
"""By report: the tests (or golden cases, or their folder) that show it."""


@pytest.mark.parametrize("shown", [one for tests in REPORTS.values() for one in tests])
def test_what_shows_a_report_is_there(shown: str) -> None:
    path, _, name = shown.partition("::")
    place_ = TESTS / path
    assert place_.exists(), f"{path} is gone"
    if name:
        functions = [
            one.name for one in ast.walk(ast.parse(place_.read_text())) if isinstance(one, ast.FunctionDef)
        ]
        assert name in functions, f"{path} has no {name} any more"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    timeout: 1m", "    timeuot: 1m", ("dsandbox.yaml:9:5", "timeuot", "timeout")),
        ("{cpu: 1, memory: 64Mi}", "{cpu: 1, memroy: 64Mi}", ("dsandbox.yaml:10:25", "memroy", "memory")),
        (
            "baseline: {cpu: 1,",
            "baseline: {checkpoint_grace_period: 30s, cpu: 1,",
            ("dsandbox.yaml:2:12", "belongs in fault_tolerance"),
        ),
        ("    timeout: 1m", "      timeout: 1m", ("dsandbox.yaml:9:",)),
    ],
    ids=["misspelt", "misspelt-at-depth", "wrong-section", "bad-indent"],
)
def test_what_is_misspelt_is_named_and_nothing_starts(
    job: Any, old: str, new: str, words: tuple[str, ...]
) -> None:
    assert old in CONTRACT
    (job.folder / "dsandbox.yaml").write_text(CONTRACT.replace(old, new))
    out = job.dsec("run", "--job-id", "j", expect=1)
    assert all(word in out for word in words), out
    assert not (job.folder / "started").exists()
    assert not job.run_dir.exists()


def test_the_contract_of_the_test_above_runs(job: Any, kit: SimpleNamespace) -> None:
    (job.folder / "dsandbox.yaml").write_text(CONTRACT)
    job.dsec("run", "--job-id", "j", "--quiet")
    assert (job.folder / "started").exists()


def test_24_times_2000_mib_do_not_meet_on_46068_mib() -> None:
    card = Device("GPU-0", 0, "NVIDIA L40S", "l40s-48gb", 46_068 * MIB, None, None, None, (), 100, "ok")
    box = Inventory("described:test", 64_000, None, None, None, (card,), ())
    ledger = Ledger(box)
    demand = Demand(1000, 0, 1, 2000 * MIB, ("l40s-48gb",), 0, 0)
    granted = [ledger.grant(demand) for _ in range(24)]
    assert sum(one is not None for one in granted) == 23
    assert granted[-1] is None
    refused = place(demand, box, [("GPU-0", 2000 * MIB)] * 23)
    assert isinstance(refused, Refusal)
    assert "2,000 MiB" in refused.text
    assert "68 MiB" in refused.text
