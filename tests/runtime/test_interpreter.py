"""Calls run in the active environment, and its packages count, wherever dsec itself is installed."""

from __future__ import annotations

import json
import os
import sys
import venv

import pytest

from dsec.errors import RunProblem
from dsec.interpreter import Interpreter, default, facts, worker
from dsec.launch import why_no_worker

MODULE = "import onlyhere, sys\n\ndef go(ctx):\n    import dsec.sdk\n    return [sys.prefix, onlyhere.WORD]\n"


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """An environment with a package that ours does not have."""
    folder = tmp_path_factory.mktemp("env") / "other"
    venv.EnvBuilder(symlinks=True).create(folder)
    [packages] = folder.glob("lib/python*/site-packages")
    (packages / "onlyhere.py").write_text("WORD = 'here'\n")
    info = packages / "onlyhere-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: onlyhere\nVersion: 1.5\n")
    return folder


def environ(**given):
    return {key.encode(): os.fsencode(value) for key, value in given.items()}


def test_the_active_environment_comes_first(other, tmp_path):
    ours = Interpreter(sys.executable, "dsec")
    assert default({}) == default(environ(VIRTUAL_ENV="", CONDA_PREFIX="")) == ours
    path = f"{other}/bin/python"
    assert default(environ(VIRTUAL_ENV=str(other))) == Interpreter(path, "VIRTUAL_ENV")
    assert default(environ(CONDA_PREFIX=str(other))) == Interpreter(path, "CONDA_PREFIX")
    both = environ(VIRTUAL_ENV=sys.prefix, CONDA_PREFIX=str(other))
    assert default(both) == Interpreter(sys.executable, "VIRTUAL_ENV")
    with pytest.raises(RunProblem, match=f"CONDA_PREFIX names {tmp_path}, which has no bin/python"):
        default(environ(CONDA_PREFIX=str(tmp_path)))


def program(tmp_path, text):
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Interpreter(str(path), "VIRTUAL_ENV")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 3 8", "is Python 3.8; calls need 3.11 or newer"),
        ("echo hello", "it does not answer"),
        ("exit 1", "it does not answer"),
    ],
)
def test_what_cannot_run_a_worker_is_refused(tmp_path, text, why):
    with pytest.raises(RunProblem, match=why):
        facts(program(tmp_path, text))


def test_what_a_worker_is_started_as(other):
    assert worker(Interpreter(sys.executable, "dsec"))[:3] == (sys.executable, "-P", "-m")
    argv = worker(default(environ(VIRTUAL_ENV=str(other))))
    assert argv[:3] == (f"{other}/bin/python", "-P", "-c")
    assert facts(Interpreter(argv[0], "VIRTUAL_ENV")).version == sys.version_info[:2]


def test_a_call_runs_there_and_the_report_says_so(job, kit, other):
    (job.folder / "mod.py").write_text(MODULE)
    job.env["VIRTUAL_ENV"] = str(other)
    job.run(kit.plan(kit.step("a", call="mod:go")))
    assert job.events("exit")[0]["result"] == [str(other), "here"]
    named = f"{other}/bin/python (VIRTUAL_ENV)"
    assert json.loads((job.run_dir / "report.json").read_text())["python"] == named
    assert f"Python: {named}" in (job.run_dir / "report.md").read_text()
    assert f"Python: {named}" in job.dsec("report", "j")


CONTRACT = """\
version: "1.0.0"
name: uvcall
baseline: {cpu: 1, memory: 512MiB}
elasticity: {gpu: {min_count: 0, max_count: 0}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 5s, resume_strategy: step_resume}
dependencies: [{package: onlyhere, version: ">=1.4"}]
steps:
  - {id: a, call: "mod:go", timeout: 30s}
"""


@pytest.mark.battery
def test_packages_are_those_of_the_active_environment(job, other):
    (job.folder / "dsandbox.yaml").write_text(CONTRACT)
    (job.folder / "mod.py").write_text(MODULE)
    job.env.pop("VIRTUAL_ENV", None)
    assert "onlyhere >=1.4: it is not installed" in job.dsec("run", expect=1)
    job.env["VIRTUAL_ENV"] = str(other)
    assert "1.5 is installed" in job.dsec("run", "--job-id", "j")
    assert f"python here: {other}/bin/python (VIRTUAL_ENV)\n" in job.dsec("plan")
    job.env["VIRTUAL_ENV"] = "/nowhere"
    assert "VIRTUAL_ENV names /nowhere, which has no bin/python" in job.dsec("run", expect=3)


def test_a_python_that_was_removed_during_the_run_is_named():
    gone = FileNotFoundError(2, "No such file or directory", b"/x/bin/python")
    assert why_no_worker(gone) == ("not-found", "/x/bin/python: the Python of the calls is gone")
    assert why_no_worker(OSError("its arguments take 9 bytes")) == (
        "cannot-start",
        "its arguments take 9 bytes",
    )
