"""The split example, run for real: on two small cards it ends with what one large card gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from tests import examples

ROOT = Path(__file__).resolve().parents[2]
PATHS = [str(ROOT), str(ROOT / "runtime"), *(path for path in sys.path if path.endswith("site-packages"))]
SCRIPT = "import sys; from dsec_cli.fast import dsec as run; sys.exit(run())"


def dsec(folder, *args, **environ):
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *args],
        cwd=folder,
        env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(PATHS), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def example(tmp_path):
    return examples.copied("split-model", tmp_path / "job")


def results(folder, job):
    found = {}
    for iteration in range(3):
        with numpy.load(folder / ".dsec" / "runs" / job / "work" / f"hidden-{iteration}.npz") as file:
            found.update({(iteration, name): file[name] for name in file.files})
    return found


@pytest.mark.battery
def test_parts_on_two_cards_give_what_one_card_gives(example, simulated_box):
    for job, box in (("split", "2xa100-sxm-40gb"), ("whole", "1xa100-sxm-80gb")):
        done = dsec(example, "run", "--job-id", job, **simulated_box(box))
        assert done.returncode == 0, done.stdout + done.stderr
    split, whole = results(example, "split"), results(example, "whole")
    assert split.keys() == whole.keys()
    for key, array in whole.items():
        assert numpy.allclose(split[key], array, rtol=1e-12, atol=1e-9), key
    report = json.loads(dsec(example, "report", "split", "--json").stdout)
    assert {"forward.0", "forward.1", "forward.all-reduce"} <= {one["id"] for one in report["steps"]}
    drawn = json.loads(dsec(example, "dag", "--job-id", "split", "--output", "json").stdout)
    assert drawn["run"]["steps"]["forward.all-reduce"]["done"] == 3
    assert "forward" not in {one["id"] for one in drawn["steps"]}


@pytest.mark.battery
def test_a_split_plan_is_run_from_its_file_without_any_card(example):
    contract = example / "dsandbox.yaml"
    contract.write_text(contract.read_text().replace("    resources: {gpu: {count: 1}}\n", ""))
    made = dsec(example, "plan", "--split", "forward=3", "-o", "plan.json")
    assert made.returncode == 0, made.stderr
    assert "forward.2" in made.stdout
    for args in (("plan.json", "--job-id", "three"), ("--job-id", "one")):
        done = dsec(example, "run", *args)
        assert done.returncode == 0, done.stdout + done.stderr
    three, one = results(example, "three"), results(example, "one")
    assert all(numpy.allclose(three[key], one[key], rtol=1e-12, atol=1e-9) for key in one)


@pytest.mark.battery
def test_a_part_that_writes_the_name_of_the_whole_is_told_so(example, simulated_box):
    model = example / "model.py"
    model.write_text(model.read_text().replace("context.part(", "str("))
    done = dsec(example, "run", "--job-id", "wrong", **simulated_box("2xa100-sxm-40gb"))
    assert done.returncode == 1
    assert "did not write a declared output: " in done.stdout
    assert "hidden-0.part0.npz" in done.stdout + done.stderr
