"""`dsec plan` with --what-if, --split, --durations and --noise, as real processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATHS = [str(ROOT), str(ROOT / "runtime"), *(path for path in sys.path if path.endswith("site-packages"))]
SCRIPT = "import sys; from dsec_cli.fast import dsec as run; sys.exit(run())"
JOB = """\
version: "1.0.0"
name: job
baseline: {gpu: {count: 1, memory: 23Gi, type: rtx-4090}, cpu: 8, memory: 16GiB}
elasticity: {gpu: {min_count: 1, max_count: 4}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s, resume_strategy: step_resume}
dependencies: []
steps:
  - {id: load, run: "true", timeout: 60s, expected_duration: 2s, outputs: ["{run}/b.npy"]}
  - id: act
    run: "true"
    timeout: 60s
    expected_duration: 8s
    inputs: ["{run}/b.npy"]
    outputs: ["{run}/g.npz"]
    resources: {gpu: {count: 1}}
    layers: {memory: 10Gi, count: 4}
  - {id: learn, run: "true", timeout: 60s, expected_duration: 4s, inputs: ["{run}/g.npz"]}
"""
POOL = """\
name: {name}
cpu: 16
memory: 64GiB
gpus:
  - {{type: rtx-4090, count: {count}}}
"""
TRACE = {
    "traceEvents": [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {}},
        {"ph": "X", "pid": 1, "tid": 1, "name": "load", "ts": 0, "dur": 9_000_000},
        {"ph": "X", "pid": 2, "tid": 1, "name": "load", "ts": 0, "dur": 5_000_000},
        {"ph": "X", "pid": 2, "tid": 1, "name": "load", "ts": 0, "dur": 3_000_000},
        {"ph": "X", "pid": 2, "tid": 1, "name": "load", "ts": 0, "dur": 4_000_000},
        {"ph": "X", "pid": 2, "tid": 1, "name": "load", "cat": "failed", "ts": 0, "dur": 1},
        {"ph": "X", "pid": 2, "name": "load", "dur": "long"},
        {"ph": "X", "pid": 2, "name": "load", "dur": -5},
        {"ph": "X", "pid": 2, "name": 7, "dur": 5},
        "nothing",
    ]
}


@pytest.fixture
def job(tmp_path):
    (tmp_path / "dsandbox.yaml").write_text(JOB)
    for name, count in (("two", 2), ("four", 4), ("none", 0)):
        text = POOL.format(name=name, count=count)
        (tmp_path / f"{name}.yaml").write_text(text if count else text.partition("gpus")[0])
    return tmp_path


def dsec(folder, *args, **environ):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def plan(folder, *args, on="four", **environ):
    return dsec(folder, "plan", "--inventory", f"{on}.yaml", *args, **environ)


def test_scenarios_of_two_machines_are_one_table(job):
    done = plan(job, "--inventory", "two.yaml", "--what-if", "step=act,duration=50%", "--noise", "0.3")
    assert (done.returncode, done.stderr) == (0, "")
    assert " 0  as it stands, on A" in done.stdout
    assert " 3  act duration 8s -> 4s, on B" in done.stdout
    assert " B  described:two, 16 cores, 64.0 GiB, 2 x rtx-4090" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.battery
def test_a_comparison_is_the_same_bytes_whatever_the_hash_seed(job):
    args = ("--what-if", "step=act,split=3,step=load,remove", "--noise", "0.5", "--json")
    one, other = (plan(job, *args, PYTHONHASHSEED=seed) for seed in ("1", "77"))
    assert one.returncode == 0
    assert one.stdout == other.stdout
    document = json.loads(one.stdout)
    assert [len(some["critical_path"]) for some in document["scenarios"]] == [4, 3]
    assert document["scenarios"][1]["changes"] == ["act in 3 parts", "without load"]


def test_a_scenario_without_a_plan_says_why_and_decides_the_exit_code(job):
    done = plan(job, "--inventory", "none.yaml")
    assert done.returncode == 1
    assert "no plan: Step act needs 1 GPU (rtx-4090)" in " ".join(done.stdout.split())
    assert done.stderr == ""


def test_the_table_can_be_written_to_a_file(job):
    done = plan(job, "--what-if", "iterations=3", "-o", "table.txt")
    assert (done.returncode, done.stdout) == (0, "")
    assert (job / "table.txt").read_text().startswith("what if job\n")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--what-if", "step=atc,cpu=2"), "there is no Step 'atc' (hint: did you mean act?)"),
        (("--what-if", "step=act,gpu.cuont=2"), "did you mean gpu.count?"),
        (("--what-if", "\x1b[31m"), "'\\x1b[31m' is no field"),
        (("--noise", "much"), "--noise 'much' is no number above 0"),
        (("--noise", "0"), "--noise '0' is no number above 0"),
        (("--noise", "-1"), "--noise '-1' is no number"),
        (("--split", "act=0"), "--split act=0: '0' is no number of parts"),
        (("--split", "act=00000000019999"), "is no number of parts"),
        (("--split", f"act={'1' * 5000}"), "is no number of parts"),
        (("--split", "acts"), "there is no Step 'acts' (hint: did you mean act?)"),
        (("--durations", "two.yaml"), None),
        (("--durations", "nowhere"), None),
        (("--diff", "a", "b", "--noise", "0.3"), "--diff needs no inventory"),
        (("--what-if", "iterations=2", *["--inventory=two.yaml"] * 60), "more than 100 scenarios"),
    ],
)
def test_what_is_asked_wrongly_gets_one_line(job, args, words):
    done = plan(job, *args)
    assert done.returncode == (3 if words is None else 2), done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert (words or "hint") in done.stderr


def test_a_split_that_is_asked_for_is_planned_and_stored(job):
    done = plan(job, "--split", "act=4", "-o", "plan.json")
    assert done.returncode == 0
    assert "split: layers 3-3 of 0-3 of act" in done.stdout or "split: layer 3 of 0-3 of act" in done.stdout
    ids = [step["id"] for step in json.loads((job / "plan.json").read_text())["steps"]]
    assert ids == ["load", "act.0", "act.1", "act.2", "act.3", "act.all-reduce", "learn"]


def test_a_split_plan_is_the_same_bytes_whatever_the_hash_seed(job):
    one, other = (plan(job, "--json", PYTHONHASHSEED=seed) for seed in ("3", "99"))
    assert one.returncode == 0
    assert "act.all-reduce" in one.stdout
    assert one.stdout == other.stdout


def test_a_split_that_cannot_be_is_a_finding(job):
    done = plan(job, "--split", "load=2")
    assert done.returncode == 1
    assert "dsandbox.yaml:8:5: error[DS210] Step load cannot be split: it states no layers" in done.stderr


def test_the_graph_shows_parts_on_the_baseline_and_on_request(job):
    done = dsec(job, "dag", "--output", "json")
    assert [step["id"] for step in json.loads(done.stdout)["steps"]] == [
        "load",
        "act.0",
        "act.1",
        "act.all-reduce",
        "learn",
    ]
    whole = dsec(job, "dag", "--split", "act=1", "--output", "json")
    assert [step["id"] for step in json.loads(whole.stdout)["steps"]] == ["load", "act", "learn"]
    assert dsec(job, "dag", "--split", "nothing").returncode == 2


def test_the_graph_is_split_for_the_inventory_that_is_given(job):
    done = dsec(job, "dag", "--inventory", "four.yaml", "--output", "json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["steps"]) == 5
    none = dsec(job, "dag", "--inventory", "four.yaml", "--split", "act=5")
    assert none.returncode == 1
    assert "Step act cannot be split: in 5 parts it needs as many layers and devices" in none.stderr


def estimates(done):
    assert done.returncode == 0, done.stderr
    return {
        step["id"]: (step["estimate_ms"], step["estimate_source"])
        for step in json.loads(done.stdout)["steps"]
    }


@pytest.mark.battery
def test_durations_come_from_plans_traces_and_learned_ones(job):
    (job / "trace.json").write_text(json.dumps(TRACE))
    parts = {"act.0": {"ms": 900, "n": 1}, "act.all-reduce": {"ms": 30, "n": 1}}
    (job / "parts.json").write_text(json.dumps({"version": 1, "steps": parts}))
    of_parts = estimates(plan(job, "--json", "--durations", "parts.json"))
    assert (of_parts["act.0"], of_parts["act.all-reduce"]) == ((900, "history"), (30, "history"))
    assert of_parts["act.1"] == (4000, "declared")
    (job / "learned.json").write_text(
        '{"version": 1, "steps": {"load": {"ms": 70, "n": 3}, "x": {"ms": 1, "n": 1}}}'
    )
    assert estimates(plan(job, "--json", "--durations", "trace.json"))["load"] == (4000, "history")
    found = estimates(plan(job, "--json", "--durations", "learned.json"))
    assert (found["load"], found["learn"]) == ((70, "history"), (4000, "declared"))
    plan(job, "-o", "plan.json", "--durations", "learned.json")
    assert estimates(plan(job, "--json", "--durations", "plan.json"))["learn"] == (4000, "history")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 1, "steps": {"load": {"ms": 99999999999999999999, "n": 1}}}',
        "{",
        '{"steps": 3}',
        '{"traceEvents": {}}',
        '{"format": "dsec.plan/9"}',
    ],
)
def test_a_file_without_durations_is_refused_in_one_line(job, text):
    (job / "odd.json").write_text(text)
    done = plan(job, "--durations", "odd.json")
    assert done.returncode in (2, 3)
    assert done.stderr.startswith("dsec: error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.battery
def test_durations_of_a_run_are_the_medians_it_measured(job):
    contract = job / "dsandbox.yaml"
    text = JOB.replace("    resources: {gpu: {count: 1}}\n    layers: {memory: 10Gi, count: 4}\n", "")
    contract.write_text(
        text.replace(', outputs: ["{run}/b.npy"]', "")
        .replace('    outputs: ["{run}/g.npz"]\n', "")
        .replace('    inputs: ["{run}/b.npy"]\n', "")
        .replace(', inputs: ["{run}/g.npz"]', "")
    )
    assert dsec(job, "run", "--job-id", "first", "-q").returncode == 0
    (job / ".dsec" / "durations.json").unlink()
    found = estimates(dsec(job, "plan", "--json", "--durations", "first"))
    assert {source for _, source in found.values()} == {"history"}
    assert all(ms < 2000 for ms, _ in found.values())


def test_a_plan_of_a_contract_without_layers_does_not_pay_for_them(job):
    contract = job / "dsandbox.yaml"
    contract.write_text(JOB.replace("    layers: {memory: 10Gi, count: 4}\n", ""))
    script = (
        "import sys; from dsec_cli import fast; fast.leave = lambda code: code; fast.dsec();"
        "print(*sorted(name for name in sys.modules if name.startswith('dsec')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "plan", "--inventory", "four.yaml", "--json"],
        cwd=job,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    plan_, modules = done.stdout.splitlines()
    assert json.loads(plan_)["format"] == "dsec.plan/1"
    loaded = set(modules.split())
    assert "dsec_cli.dag.compile" in loaded
    extras = ("split", "splittable", "split_graph", "splitting", "whatif", "whatif_text", "noise")
    assert loaded.isdisjoint(f"dsec_cli.dag.{name}" for name in extras)
    assert loaded.isdisjoint(
        {"dsec.core.partition", "dsec_cli.commands.comparing", "dsec_cli.commands.parting"}
    )
