"""`dsec run` and `dsec resume`, as processes, with dependencies that are there and that are not."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DSEC = "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"
HEAD = """\
version: "1.0.0"
name: job
baseline: {cpu: 1, memory: 256MiB}
elasticity:
  gpu: {min_count: 0, max_count: 0}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 10s, resume_strategy: step_resume}
steps:
  - {id: a, timeout: 60s, outputs: ["{run}/a"],
     run: [sh, -c, 'cat "$DSEC_DEP_REWARD_V2" > "$DSEC_RUN_DIR/a"']}
dependencies:
"""
WEIGHTS = b"weights"
RIGHT = "sha256:" + hashlib.sha256(WEIGHTS).hexdigest()
ZEROS = "sha256:" + "0" * 64
FIRST_LINE = HEAD.count("\n") + 1


class Job:
    """A folder with a contract and a registry."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "job"
        self.registry = folder / "registry"
        self.folder.mkdir()
        self.put("models/reward", "1.3.0", WEIGHTS)
        (folder / "home").mkdir()
        kept = {key: value for key, value in os.environ.items() if not key.startswith("DSEC_")}
        path = os.pathsep.join((str(ROOT), str(ROOT / "runtime")))
        self.env = kept | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder / "home")}
        self.env["DSEC_REGISTRY"] = str(self.registry)

    def put(self, path: str, version: str, data: bytes) -> None:
        target = self.registry / path / version
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def state(self, *entries: str) -> None:
        text = HEAD + "".join(f"  - {entry}\n" for entry in entries)
        (self.folder / "dsandbox.yaml").write_text(text)

    def dsec(self, *words: str, expect: int = 0) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-c", DSEC, *words],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == expect, (
            f"exit {done.returncode}, wanted {expect}:\n{done.stdout}{done.stderr}"
        )
        return done.stdout, done.stderr

    @property
    def run_dir(self) -> Path:
        return self.folder / ".dsec" / "runs" / "j"

    def recorded(self) -> list[dict[str, Any]]:
        document = json.loads((self.run_dir / "dependencies.json").read_bytes())
        assert document["format"] == "dsec.dependencies/1"
        found: list[dict[str, Any]] = document["dependencies"]
        return found


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def reward(version: str = "1.3.0", source: str = "ds://models/reward", content_hash: str = "") -> str:
    stated = f", hash: '{content_hash}'" if content_hash else ""
    return f"{{name: reward-v2, version: {version}, type: model, source: '{source}'{stated}}}"


def test_what_is_as_stated_is_told_recorded_and_given_to_the_steps(job: Job) -> None:
    job.state(reward(content_hash=RIGHT), "{package: pytest, version: '>=1'}")
    out, err = job.dsec("run", "--job-id", "j")
    assert out.startswith(
        f"dependency reward-v2 1.3.0: verified, {RIGHT[:23]}...\n"
        f"dependency pytest >=1: {pytest.__version__} is installed, in >=1\na started\n"
    )
    assert err == ""
    assert (job.run_dir / "work" / "a").read_bytes() == WEIGHTS
    model, package = job.recorded()
    assert (model["verdict"], model["content_hash"]) == ("verified", RIGHT)
    assert (package["verdict"], package["found"]) == ("verified", pytest.__version__)
    assert json.loads((job.run_dir / "report.json").read_bytes())["dependencies"] == [model, package]
    assert "reward-v2 1.3.0: verified" in (job.run_dir / "report.md").read_text()
    assert "reward-v2 1.3.0: verified" in job.dsec("report")[0]


def test_everything_wrong_is_told_at_once_with_its_place_and_nothing_starts(job: Job) -> None:
    job.put("models/reward", "1.3.1", b"newer")
    job.state(
        reward(content_hash=ZEROS),
        "{name: b, version: 1.2.9, type: model, source: 'ds://models/reward'}",
        "{name: c, version: 1.0.0, type: tool, source: 'ds://tools/c'}",
        "{package: pytest, version: '<1'}",
        "{package: no-such-package-here}",
        "{name: d, version: 1.0.0, type: plugin, source: ./plugins/d}",
    )
    out, err = job.dsec("run", "--job-id", "j", expect=1)
    assert out == ""
    lines = [line for line in err.splitlines() if "error: " in line]
    assert [line.split(" error: ")[0] for line in lines] == [
        f"dsandbox.yaml:{FIRST_LINE + at}:5:" for at in range(6)
    ]
    assert RIGHT in lines[0]
    assert ZEROS in lines[0]
    assert "version 1.2.9 is not in" in lines[1]
    assert "there is 1.3.1, 1.3.0" in lines[1]
    assert "tools/c" in lines[2]
    assert f"{pytest.__version__} is installed, <1 is wanted" in lines[3]
    assert "not installed" in lines[4]
    assert f"{job.folder}/./plugins/d does not exist" in lines[5]
    assert err.count("    help: ") == 6
    assert err.endswith("of 6 dependencies 6 not as stated: nothing was started\n")
    assert not (job.folder / ".dsec" / "runs").exists()


@pytest.mark.parametrize(
    ("version", "there"), [("1.3.1", "1.3.0"), ("1.2.9", "1.3.0"), ("1.3.0-rc.1", "1.3.0")]
)
def test_one_version_does_not_do_for_another(job: Job, version: str, there: str) -> None:
    job.state(reward(version))
    _, err = job.dsec("run", "--json", expect=1)
    assert f"version {version} is not in {job.registry}/models/reward; there is {there}\n" in err


def test_the_place_is_where_the_contract_lies_as_seen_from_here(job: Job) -> None:
    job.state("{package: no-such-package-here}")
    (job.folder / "conf").mkdir()
    (job.folder / "dsandbox.yaml").rename(job.folder / "conf" / "c.yaml")
    _, err = job.dsec("run", "conf/c.yaml", expect=1)
    assert err.startswith(f"conf/c.yaml:{FIRST_LINE}:5: error: ")


@pytest.mark.battery
def test_a_missing_registry_is_not_known_but_a_plain_no_outweighs_it(job: Job) -> None:
    job.env["DSEC_REGISTRY"] = "/nowhere/registry"
    job.state(reward())
    _, err = job.dsec("run", expect=3)
    assert "unknown: reward-v2 1.3.0: the registry /nowhere/registry does not exist" in err
    job.state(reward(), "{package: no-such-package-here}")
    _, err = job.dsec("run", expect=1)
    assert err.endswith("of 2 dependencies 1 not as stated, 1 could not be looked at: nothing was started\n")


@pytest.mark.battery
def test_the_registry_is_the_users_setting_or_in_the_home_folder(job: Job) -> None:
    del job.env["DSEC_REGISTRY"]
    job.state(reward(content_hash=RIGHT))
    _, err = job.dsec("run", expect=3)
    home = job.env["HOME"]
    assert f"the registry {home}/.ds/registry does not exist" in err
    job.dsec("config", "set", "registry", str(job.registry))
    assert job.dsec("config", "get", "registry")[0] == f"{job.registry}\n"
    job.dsec("run", "--job-id", "j")
    job.dsec("config", "unset", "registry")
    shutil.copytree(job.registry, f"{home}/.ds/registry")
    job.dsec("run", "--job-id", "k")


@pytest.mark.battery
def test_what_is_not_verified_is_said_whatever_the_output(job: Job) -> None:
    git = "{name: sim_env, version: v4.2, type: environment, source: 'git+ssh://git@host/sim@main'}"
    job.state(reward(), git)
    out, err = job.dsec("run", "--job-id", "j", "--quiet")
    assert "sim_env 4.2.0: not verified: git sources are not fetched" in err
    assert "dependency" not in out
    out, err = job.dsec("run", "--json")
    assert "not verified: git" in err
    assert all(json.loads(line) for line in out.splitlines())
    assert "no hash stated" in job.dsec("run")[0]
    assert [one["verdict"] for one in job.recorded()] == ["found", "unverified"]


def test_a_stored_plan_is_checked_where_it_is_run(job: Job) -> None:
    job.state(reward(content_hash=RIGHT))
    job.dsec("plan", "-o", "plan.json")
    job.dsec("run", "plan.json", "--job-id", "j")
    job.put("models/reward", "1.3.0", b"other")
    _, err = job.dsec("run", "plan.json", expect=1)
    assert f"dsandbox.yaml:{FIRST_LINE}:5: error: reward-v2 1.3.0: its content has the hash" in err


def test_resume_checks_again_and_starts_nothing_when_it_changed(job: Job) -> None:
    job.state(reward(content_hash=RIGHT))
    text = (job.folder / "dsandbox.yaml").read_text()
    waiting = 'echo > "$DSEC_RUN_DIR/began"; test -e ../go || sleep 60; cat "$DSEC_DEP_REWARD_V2"'
    (job.folder / "dsandbox.yaml").write_text(text.replace('cat "$DSEC_DEP_REWARD_V2"', waiting))
    with subprocess.Popen(
        [sys.executable, "-c", DSEC, "run", "--job-id", "j"],
        cwd=job.folder,
        env=job.env,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        began = job.run_dir / "work" / "began"
        until = time.monotonic() + 60
        while not began.exists():
            assert time.monotonic() < until, f"the Step has not begun; executor: {process.poll()}"
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
    (job.folder.parent / "go").touch()
    job.put("models/reward", "1.3.0", b"other")
    before = (job.run_dir / "journal").read_bytes()
    _, err = job.dsec("resume", "j", expect=1)
    assert "its content has the hash" in err
    assert (job.run_dir / "journal").read_bytes() == before
    job.put("models/reward", "1.3.0", WEIGHTS)
    out, _ = job.dsec("resume", "j")
    assert "dependency reward-v2 1.3.0: verified" in out
    assert (job.run_dir / "work" / "a").read_bytes() == WEIGHTS


def test_a_plan_without_dependencies_imports_nothing_for_them(job: Job) -> None:
    (job.folder / "dsandbox.yaml").write_text(
        HEAD.replace("dependencies:\n", "dependencies: []\n").replace('cat "$DSEC_DEP_REWARD_V2"', "env")
    )
    job.dsec("plan", "-o", "plan.json")
    leave = "leave = os._exit; os._exit = lambda code: (print(*sys.modules, flush=True), leave(code))"
    code = f"import os; {leave}; {DSEC}"  # a run ends the process itself
    done = subprocess.run(
        [sys.executable, "-c", code, "run", "plan.json", "--job-id", "j", "--quiet"],
        cwd=job.folder,
        env=job.env,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "dsec.runner" in loaded
    ours = {"dsec.registry", "dsec.stores", "dsec.contenthash", "dsec.core.dependencies", "dsec.core.pep440"}
    assert not loaded & {*ours, "importlib.metadata", "urllib.request", "hashlib"}
    assert "DSEC_DEP_" not in (job.run_dir / "work" / "a").read_text()
    assert not (job.run_dir / "dependencies.json").exists()


def test_dsec_hash_prints_what_a_contract_may_state(job: Job) -> None:
    assert job.dsec("hash", str(job.registry / "models/reward/1.3.0"), "-a", "sha256")[0] == f"{RIGHT}\n"
    folder = job.dsec("hash", str(job.registry))[0].strip()
    job.state(reward(source=f"file:{job.registry}", content_hash=folder), reward(content_hash=RIGHT))
    _, err = job.dsec("run", expect=1)
    assert "DSEC_DEP_REWARD_V2 is the variable of 'reward-v2' already" in err
    _, err = job.dsec("hash", "nothing-here", expect=3)
    assert "nothing-here: No such file or directory" in err


def test_a_data_set_is_verified_before_the_first_step_and_found_by_it(job: Job) -> None:
    job.put("datasets", "drive", b"frames")
    head = HEAD.replace("DSEC_DEP_REWARD_V2", "DSEC_DEP_DATA_SOURCE").removesuffix("dependencies:\n")
    contract = job.folder / "dsandbox.yaml"
    contract.write_text(f"{head}dependencies: []\ndata_source: ds://datasets/absent\n")
    _, told = job.dsec("run", "--job-id", "absent", expect=1)
    assert "data_source: there is no datasets/absent in the registry" in told
    assert "nothing was started" in told
    contract.write_text(f"{head}dependencies: []\ndata_source: ds://datasets/drive\n")
    job.dsec("run", "--job-id", "there")
    assert (job.folder / ".dsec" / "runs" / "there" / "work" / "a").read_bytes() == b"frames"
