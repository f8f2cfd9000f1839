"""A real run, laid over its graph: states, attempts, durations, also when the contract is elsewhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = """\
# ds_config.yaml
iterations: {count: 2}
steps:
  - {id: good, name: Loader, run: [sleep, "0.05"], timeout: 60s}
  - {id: bad, run: ["false"], timeout: 60s, needs: [good], retries: {max: 1, backoff: 10ms}}
  - {id: never, run: ["true"], timeout: 60s, needs: [bad]}
"""


def call(program, *args, cwd):
    script = f"import sys; from dsec_cli.fast import {program} as run; sys.exit(run())"
    return subprocess.run(
        [sys.executable, "-c", script, *args],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime"), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def ran(tmp_path):
    (tmp_path / "ds_config.yaml").write_text(CONTRACT)
    done = call("dsec", "run", "ds_config.yaml", "--job-id", "abc123", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    return tmp_path


def test_states_attempts_and_durations_of_a_run(ran):
    done = call("dag_analyze", "--job-id", "abc123", "--output", "json", cwd=ran)
    assert (done.returncode, done.stderr) == (0, "")
    run = json.loads(done.stdout)["run"]
    assert (run["job"], run["outcome"]) == ("abc123", "failed")
    steps = run["steps"]
    assert {name: seen["state"] for name, seen in steps.items()} | {"good": ""} == {
        "good": "",
        "bad": "failed",
        "never": "waiting",
    }
    assert steps["good"]["done"] >= 1
    assert 50 <= steps["good"]["median_ms"] < 20_000
    assert (steps["bad"]["done"], steps["bad"]["median_ms"]) == (0, None)
    assert steps["bad"]["attempts"] >= 2


def test_the_critical_path_is_the_measured_one(ran):
    found = json.loads(call("dag_analyze", "--job-id", "abc123", "--output", "json", cwd=ran).stdout)
    good = next(step for step in found["steps"] if step["id"] == "good")
    assert good["estimate_source"] == "history"
    assert good["estimate_ms"] == pytest.approx(found["run"]["steps"]["good"]["median_ms"], rel=0.06)


def test_a_run_is_found_from_the_folders_below(ran):
    (ran / "below").mkdir()
    done = call("dag_analyze", "--job-id", "abc123", cwd=ran / "below")
    assert done.returncode == 0
    assert "run abc123: failed" in done.stdout
    assert "failed 0/2" in done.stdout


def test_the_picture_of_a_run_is_made_as_the_documents_have_it(ran):
    done = call("dag_analyze", "--job-id", "abc123", "--output", "dot", cwd=ran)
    assert done.stdout.startswith("digraph dag {")
    assert "run abc123: failed" in done.stdout


@pytest.mark.battery
def test_a_run_of_another_contract_is_said_to_be_one(ran):
    (ran / "other.yaml").write_text(CONTRACT)
    done = call("dag_analyze", "other.yaml", "--job-id", "abc123", cwd=ran)
    assert (done.returncode, done.stderr) == (0, "note: run abc123 was started from ds_config.yaml\n")
    assert call("dag_analyze", "./ds_config.yaml", "--job-id", "abc123", cwd=ran).stderr == ""
