"""`dsec plan` and `ds-dag-analyze` as real processes: exit codes, files, and the same bytes everywhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dsec.durations import Learned, contract_key, work_of, write_durations
from dsec.planfile import load_plan
from tests import examples

ROOT = Path(__file__).resolve().parents[2]
PATHS = [str(ROOT), str(ROOT / "runtime"), *(path for path in sys.path if path.endswith("site-packages"))]

POOL = """\
name: pool
cpu: 64
memory: 512GiB
gpus:
  - {type: a100-sxm-80gb, count: 4, nvlink: full}
"""
JOB = """\
version: "1.0.0"
name: job
baseline: {gpu: {count: 2, memory: 40GB, type: a100}, cpu: 8, memory: 64GiB}
elasticity: {gpu: {min_count: 2, max_count: 4}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s, resume_strategy: step_resume}
dependencies: []
"""
STEPS = """\
steps:
  - {id: S1, run: python load.py, timeout: 60s, outputs: [batch]}
  - {id: S2, run: python train.py, timeout: 60s, inputs: [batch], resources: {gpu: {count: 2, memory: 40GiB}}}
"""
CYCLE = """\
steps:
  - {id: S1, run: python load.py, timeout: 60s, needs: [S2]}
  - {id: S2, run: python train.py, timeout: 60s, needs: [S1]}
"""


def call(program, *args, cwd, **environ):
    script = f"import sys; from dsec_cli.fast import {program} as run; sys.exit(run())"
    return subprocess.run(
        [sys.executable, "-c", script, *args],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def job(tmp_path):
    (tmp_path / "dsandbox.yaml").write_text(JOB + STEPS)
    (tmp_path / "pool.yaml").write_text(POOL)
    return tmp_path


def plan(folder, *args, **environ):
    return call("dsec", "plan", *args, "--inventory", "pool.yaml", cwd=folder, **environ)


def test_a_plan_is_shown_and_stored(job):
    done = plan(job, "-o", "plan.json")
    assert (done.returncode, done.stderr) == (0, "")
    stored = load_plan(str(job / "plan.json"))
    assert f"hash: {stored.hash}" in done.stdout
    assert [step.id for step in stored.steps] == ["S1", "S2"]
    assert stored.steps[1].placement.devices == ("GPU-a100-sxm-80gb-0", "GPU-a100-sxm-80gb-1")
    assert "gpu a100 x2: a100-sxm-80gb 0,1" in done.stdout
    assert str(job) not in (job / "plan.json").read_text()
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_plan_to_the_standard_output_is_the_stored_form_alone(job):
    shown = plan(job, "-o", "-")
    assert shown.stdout == plan(job, "--json").stdout
    assert not (job / "-").exists()


def test_json_on_standard_output_is_the_stored_form(job):
    done = plan(job, "dsandbox.yaml", "--json", "-o", "plan.json")
    assert done.stdout == (job / "plan.json").read_text()
    assert json.loads(done.stdout)["format"] == "dsec.plan/1"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (JOB + CYCLE, "DS503"),
        (
            JOB.replace("max_count: 4", "max_count: 8")
            + STEPS.replace("count: 2, memory: 40GiB", "count: 8"),
            "DS210",
        ),
        (JOB + STEPS.replace("count: 2, memory: 40GiB", "count: 8"), "DS208"),
        (JOB + STEPS.replace("timeout: 60s, outputs", "outputs"), "DS505"),
        (JOB, "DS109"),
        ("a: [", "DS002"),
    ],
)
def test_what_forbids_a_plan_is_a_finding_and_exit_1(job, text, code):
    (job / "dsandbox.yaml").write_text(text)
    done = plan(job, "-o", "plan.json")
    assert done.returncode == 1
    assert f"error[{code}]" in done.stderr
    assert "dsandbox.yaml:" in done.stderr
    assert done.stdout == ""
    assert not (job / "plan.json").exists()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["none.yaml"], 3, "none.yaml"),
        (["a.yaml", "b.yaml"], 2, "--diff"),
        (["--diff", "a.json"], 2, "compares two plans"),
        (["--nonsense"], 2, "nonsense"),
        (["-o", "none/plan.json"], 3, "none/plan.json"),
    ],
)
def test_asked_wrongly_and_not_found_out(job, args, code, words):
    done = plan(job, *args)
    assert done.returncode == code
    assert words in done.stderr


def test_no_contract_here(tmp_path):
    (tmp_path / "pool.yaml").write_text(POOL)
    done = plan(tmp_path)
    assert done.returncode == 3
    assert "dsandbox.yaml" in done.stderr


def test_steps_beside_the_contract_are_its_own_and_told_in_their_file(job):
    (job / "dsandbox.yaml").write_text(JOB)
    (job / "ds_config.yaml").write_text("# the Steps\n" + STEPS)
    assert plan(job, "-o", "plan.json").returncode == 0
    stored = load_plan(str(job / "plan.json"))
    assert [(step.src.file, step.src.line) for step in stored.steps] == [
        ("ds_config.yaml", 3),
        ("ds_config.yaml", 4),
    ]
    (job / "ds_config.yaml").write_text(CYCLE)
    done = plan(job)
    assert done.returncode == 1
    assert "ds_config.yaml:2:" in done.stderr


def test_steps_in_both_files_are_refused_and_other_keys_are_merged(job):
    (job / "ds_config.yaml").write_text(STEPS + "iterations: {count: 3}\n")
    done = plan(job)
    assert done.returncode == 1
    assert "error[DS117] steps are stated here, and in ds_config.yaml too" in done.stderr
    (job / "ds_config.yaml").write_text("iterations: {count: 3}\n")
    assert plan(job, "-o", "plan.json").returncode == 0
    assert load_plan(str(job / "plan.json")).iterations.count == 3


def test_a_cut_across_two_files_shows_each_edge_in_its_own(job):
    (job / "dsandbox.yaml").write_text(JOB + "communication:\n  - {from: S2, to: S1, protocol: tcp}\n")
    (job / "ds_config.yaml").write_text(STEPS)
    done = plan(job)
    assert done.returncode == 1
    assert "dsandbox.yaml:8" in done.stderr
    assert "ds_config.yaml:3" in done.stderr


@pytest.mark.battery
def test_diff_says_what_changed_and_nothing_for_the_same(job):
    plan(job, "-o", "old.json")
    text = (JOB + STEPS).replace("python load.py, timeout: 60s", "python load.py, timeout: 90s")
    (job / "dsandbox.yaml").write_text("# moved\n" + text.replace("id: S2", "id: S3"))
    plan(job, "-o", "new.json")
    same = call("dsec", "plan", "--diff", "old.json", "old.json", cwd=job)
    assert (same.returncode, same.stdout) == (0, "the plans are the same\n")
    done = call("dsec", "plan", "--diff", "old.json", "new.json", cwd=job)
    assert done.returncode == 1
    assert "timeout_ms: 60000 -> 90000" in done.stdout
    assert {"- S2", "+ S3", "~ S1"} <= set(done.stdout.splitlines())
    document = json.loads(call("dsec", "plan", "--diff", "old.json", "new.json", "--json", cwd=job).stdout)
    assert document["same"] is False
    assert {step["id"]: step["kind"] for step in document["steps"]} == {
        "S1": "changed",
        "S2": "removed",
        "S3": "added",
    }


def test_a_damaged_plan_is_exit_3(job):
    (job / "plan.json").write_text("{}")
    done = call("dsec", "plan", "--diff", "plan.json", "plan.json", cwd=job)
    assert done.returncode == 3
    assert "is no plan" in done.stderr


@pytest.mark.battery
def test_the_same_bytes_under_every_hash_seed_and_from_every_folder(job, tmp_path_factory):
    outputs = {plan(job, "--json", PYTHONHASHSEED=str(seed)).stdout for seed in (0, 1, 99)}
    other = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(job, other)
    outputs.add(plan(other, "--json").stdout)
    outputs.add(
        call(
            "dsec", "plan", str(other / "dsandbox.yaml"), "--json", "--inventory", "pool.yaml", cwd=job
        ).stdout
    )
    assert len(outputs) == 1
    assert outputs.pop().startswith('{"analysis"')


@pytest.mark.battery
@pytest.mark.parametrize("inventory", ["pairs.yaml", "lab.yaml"])
def test_links_groups_and_tokens_are_the_same_bytes_under_every_hash_seed(tmp_path, inventory):
    folder = examples.copied("links", tmp_path / "links")
    words = ("dsec", "plan", "--json", "--inventory", inventory)
    outputs = {call(*words, cwd=folder, PYTHONHASHSEED=str(seed)).stdout for seed in (0, 1, 99)}
    assert len(outputs) == 1
    assert '"links":[{' in outputs.pop()


def test_an_input_that_no_step_writes_is_told_once_and_in_its_file(job):
    (job / "dsandbox.yaml").write_text(JOB)
    stray = "  - {id: S3, run: x, timeout: 1s, inputs: ['{run}/bach']}\n"
    (job / "ds_config.yaml").write_text(STEPS.replace("[batch]", "['{run}/batch']") + stray)
    done = plan(job)
    assert done.returncode == 1
    assert done.stderr.count("error[DS514]") == 1
    assert "ds_config.yaml:4:" in done.stderr
    assert "did you mean {run}/batch?" in done.stderr


def test_learned_durations_count(job):
    (job / ".dsec").mkdir()
    stored = load_plan(made(job))
    command = stored.steps[0].command
    took = Learned(12345, 3, work_of(command.argv, command.shell, command.call, command.args))
    write_durations(str(job / ".dsec"), contract_key("dsandbox.yaml", stored.name), {"S1": [took]})
    stored = load_plan(made(job))
    assert [(step.estimate_ms, step.estimate_source) for step in stored.steps] == [
        (12000, "history"),
        (1000, "default"),
    ]


MATRIX = """\
        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NV4     0-5     0               N/A
GPU1    NV4      X      0-5     0               N/A
"""


def test_a_matrix_without_types_asks_for_them(job):
    (job / "box.txt").write_text(MATRIX)
    done = call("dsec", "plan", "--inventory", "box.txt", cwd=job)
    assert done.returncode == 1
    assert "add what nvidia-smi -q or -L printed" in done.stderr


@pytest.mark.battery
def test_another_contract_of_the_folder_learned_for_itself(job):
    (job / "other.yaml").write_text((job / "dsandbox.yaml").read_text())
    (job / ".dsec").mkdir()
    name = load_plan(made(job)).name
    command = load_plan(made(job)).steps[0].command
    took = Learned(12345, 3, work_of(command.argv, command.shell, command.call, command.args))
    write_durations(str(job / ".dsec"), contract_key("other.yaml", name), {"S1": [took]})
    assert load_plan(made(job)).steps[0].estimate_source == "default"
    assert load_plan(made(job, "other.yaml")).steps[0].estimate_source == "history"


def made(job, *files):
    plan(job, *files, "-o", "plan.json")
    return str(job / "plan.json")


def test_dag_draws_a_cyclic_graph_and_tells_the_cycle_as_lint_does(job):
    (job / "dsandbox.yaml").write_text(JOB + CYCLE)
    done = call("dag_analyze", "--output", "dot", cwd=job)
    assert done.returncode == 1
    assert done.stdout.startswith("digraph dag {")
    assert "break here" in done.stdout
    told = call("contract_lint", "dsandbox.yaml", "--select", "DS503", cwd=job)
    first = next(line for line in told.stdout.splitlines() if "error[DS503]" in line)
    assert first in done.stderr


@pytest.mark.parametrize("view", ["text", "dot", "json", "mermaid"])
def test_dag_writes_each_view_to_a_file(job, view):
    done = call("dag_analyze", "dsandbox.yaml", "--output", view, "-o", "out", cwd=job)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "S2" in (job / "out").read_text()


def test_dag_of_an_unknown_run_or_view(job):
    assert call("dag_analyze", "--job-id", "nobody", cwd=job).returncode == 3
    assert call("dag_analyze", "--output", "gif", cwd=job).returncode == 2


def test_dag_says_when_break_cycle_breaks_nothing(job):
    (job / "dsandbox.yaml").write_text(
        JOB + STEPS.replace("inputs: [batch]", "inputs: [batch], break_cycle: true")
    )
    done = call("dag_analyze", cwd=job)
    assert done.returncode == 1
    assert "error[DS504]" in done.stderr
    assert "level 0" in done.stdout


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("steps: [", "DS002"),
        (STEPS + "  - {id: S2, run: x, timeout: 1s}\n", "DS502"),
        (STEPS + "  - {id: S3, run: x, timeout: 1s, needs: [S9]}\n", "DS501"),
        (STEPS + "  - {id: S3, run: x, timeout: 1s, inputs: ['{run}/x']}\n", "DS514"),
    ],
)
def test_dag_says_when_the_graph_is_not_the_one_that_was_written(job, text, code):
    (job / "dsandbox.yaml").write_text(JOB + text)
    done = call("dag_analyze", cwd=job)
    assert done.returncode == 1
    assert f"error[{code}]" in done.stderr
    assert "Step" in done.stdout


def test_dag_is_silent_about_what_does_not_concern_the_graph(job):
    (job / "dsandbox.yaml").write_text(STEPS.replace("timeout: 60s, ", ""))
    done = call("dag_analyze", cwd=job)
    assert (done.returncode, done.stderr) == (0, "")
