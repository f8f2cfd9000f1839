"""The files that CI systems take from this repository: their own shell commands, run as they stand.

What a runner would add (expressions, its variables) is put in here; what needs a network (packages of
others) comes from the running environment.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from dsec_cli.commands.sources import NAMES
from dsec_cli.source.resolve import plain_value
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

from .conftest import ROOT, command

pytestmark = [
    pytest.mark.battery,
    pytest.mark.skipif(not shutil.which("bash"), reason="runners have bash, this machine has not"),
]
CLEAN = (ROOT / "examples" / "hello" / "dsandbox.yaml").read_bytes()
BAD = (ROOT / "examples" / "bad" / "dsandbox.yaml").read_bytes()


def read(path: str) -> Any:
    tree = parse(SourceText.from_bytes(path, (ROOT / path).read_bytes()))
    assert not tree.problems
    return plain_value(tree.documents[0].root)


def offline() -> dict[str, str]:
    """An environment in which pip asks nobody: what the project stands on is on the path already."""
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "CI", "DSEC_"))},
        "DSEC_TEST_TOKEN": os.environ.get("DSEC_TEST_TOKEN", ""),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_IGNORE_INSTALLED": "1",
        "PYTHONPATH": sysconfig.get_path("purelib"),
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout as a wheel: what an address of the repository ends in once pip has built it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


def bash(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run as GitHub's `shell: bash` does."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a clean and a bad contract, and a name that a shell would obey."""
    for name, data in (("good", CLEAN), ("bad", BAD), ("a b $(touch pwned)", CLEAN)):
        (tmp_path / "jobs" / name).mkdir(parents=True)
        (tmp_path / "jobs" / name / "dsandbox.yaml").write_bytes(data)
    return tmp_path


ACTION = read("action.yml")
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}


def expand(text: str, inputs: dict[str, str], place: Path) -> str:
    """Replace the runner's expressions; one that is not known is a mistake in the action."""
    given = {name: str(one["default"] or "") for name, one in ACTION["inputs"].items()} | inputs

    def value(found: re.Match[str]) -> str:
        scope, _, name = found[1].partition(".")
        return str(place) if found[1] == "github.action_path" else {"inputs": given}[scope][name]

    return re.sub(r"\$\{\{ *([a-z._-]+) *\}\}", value, text)


def step(
    name: str, folder: Path, inputs: dict[str, str], runner: Path, *, place: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run one step; `place` is where the runner has put the action."""
    found = STEPS[name]
    assert found["shell"] == "bash"
    assert "${{" not in found["run"], "an input in a script would be run as a part of it"
    env = {key: expand(value, inputs, place) for key, value in found["env"].items()}
    own = {"RUNNER_TEMP": str(runner), "GITHUB_OUTPUT": str(runner / "output"), "GITHUB_ACTIONS": "true"}
    return bash(found["run"], folder, offline() | own | env)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """A runner's folder into which the action has installed DSec."""
    folder = tmp_path_factory.mktemp("runner")
    done = step("install", folder, {"python": sys.executable}, folder, place=wheel)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(folder.glob("dsec/lib/python*/site-packages/dsec_cli/__pycache__/fast.*.pyc"))
    return folder


def outputs(runner: Path) -> dict[str, str]:
    lines = (runner / "output").read_text().splitlines()
    (runner / "output").unlink()
    return dict(line.split("=", 1) for line in lines)


def test_the_action_passes_a_clean_repository(runner: Path, repository: Path) -> None:
    done = step("lint", repository, {"paths": "jobs/good\n\njobs/a b $(touch pwned)\n"}, runner)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert outputs(runner) == {"sarif": "lint.sarif", "exit-code": "0"}
    (run,) = json.loads((repository / "lint.sarif").read_text())["runs"]
    assert len(run["artifacts"]) == 2
    assert not list(repository.rglob("pwned"))


def test_the_action_annotates_and_fails_a_bad_one(runner: Path, repository: Path) -> None:
    inputs = {
        "paths": "jobs/*/dsandbox.yaml",
        "args": "--select=DS5\n--fail-on=error",
        "sarif": "out/a b.sarif",
    }
    (repository / "out").mkdir()
    done = step("lint", repository, inputs, runner)
    assert done.returncode == 1
    assert [line.split(",")[0] for line in done.stdout.splitlines()] == [
        "::error file=jobs/bad/dsandbox.yaml"
    ] * 2
    assert outputs(runner) == {"sarif": "out/a b.sarif", "exit-code": "1"}
    assert len(json.loads((repository / "out" / "a b.sarif").read_text())["runs"][0]["results"]) == 2


def test_the_action_tells_wrong_options_from_findings(runner: Path, repository: Path) -> None:
    done = step("lint", repository, {"paths": "jobs/bad", "args": "--selct=DS5"}, runner)
    assert done.returncode == 2
    assert outputs(runner)["exit-code"] == "2"


def test_the_action_says_what_it_gives() -> None:
    assert set(ACTION["outputs"]) == {"sarif", "exit-code"}
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.lint.outputs.{name} }}}}"
        assert f'echo "{name}=' in STEPS["lint"]["run"]
    assert all(one["description"] for one in (*ACTION["inputs"].values(), *ACTION["outputs"].values()))


def test_the_gitlab_job_writes_its_reports(repository: Path, wheel: Path) -> None:
    (job,) = read("ci/gitlab/ds-contract-lint.yml").values()
    environment = offline() | job["variables"]
    environment |= {"CI_PROJECT_DIR": str(repository), "DSEC_PACKAGE": str(wheel)}
    environment |= {"DSEC_PATHS": "jobs/bad jobs/good", "DSEC_ARGS": "--ignore=DS601", "GITLAB_CI": "true"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = bash("\n".join([*job["before_script"], *job["script"]]), repository, environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "error[DS503]" in done.stdout
    reports = job["artifacts"]["reports"]
    assert job["artifacts"]["when"] == "always"
    entries = json.loads((repository / reports["codequality"]).read_text())
    assert {entry["location"]["path"] for entry in entries} == {"jobs/bad/dsandbox.yaml"}
    assert len(entries) == 5
    assert (repository / reports["junit"]).read_text().startswith("<?xml")


def test_the_hook_checks_what_it_is_given(repository: Path) -> None:
    """pre-commit calls the entry with the staged files whose names match."""
    (hook,) = read(".pre-commit-hooks.yaml")
    names = [
        path.relative_to(repository).as_posix() for path in sorted(repository.rglob("*")) if path.is_file()
    ]
    staged = [name for name in names if re.search(hook["files"], name)]
    assert len(staged) == 3
    assert all(Path(name).name in NAMES for name in staged)
    done = subprocess.run(
        command(hook["entry"], *staged), cwd=repository, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "5 errors, 1 remark in 1 of 3 files" in done.stdout


def test_no_file_of_ci_names_a_place_that_is_not_an_example() -> None:
    for path in ("action.yml", "ci/gitlab/ds-contract-lint.yml", ".pre-commit-hooks.yaml"):
        for host in re.findall(r"https?://([^/\s\"]+)", (ROOT / path).read_text()):
            assert host.endswith("example.org")
