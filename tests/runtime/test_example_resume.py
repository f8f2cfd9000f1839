"""The example job, cut off at record boundaries of its journal: the policy comes out bit for bit the same."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from dsec.journal import record

ITERATIONS = 3


@pytest.fixture(scope="module")
def whole(kit, tmp_path_factory):
    """A run of the example that nobody disturbed."""
    pytest.importorskip("numpy", reason="the example needs numpy")
    folder = kit.root / "examples" / "grpo-addition"
    made = kit.job(tmp_path_factory.mktemp("whole") / "whole")
    shutil.copytree(folder, made.folder, ignore=shutil.ignore_patterns(".dsec", "__pycache__"))
    contract = made.folder / "dsandbox.yaml"
    text = contract.read_text()
    assert "count: 20" in text
    contract.write_text(text.replace("count: 20", f"count: {ITERATIONS}"))
    made.dsec("run", "--job-id", "j", "--quiet")
    return made


def policy(job):
    return (job.run_dir / "work" / "policy.sha256").read_text()


def check(job, wanted):
    assert policy(job) == wanted
    done = [(one["step"], one["iteration"]) for one in job.events("exit") if one["cause"] == "ok"]
    assert len(done) == len(set(done)) == 7 * ITERATIONS, "each Step instance succeeded once"
    lines = (job.run_dir / "work" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == list(range(ITERATIONS))


def resume_from(job, whole, kept):
    """A copy of the run as a crash left it: `kept` whole records and a torn one; files may be ahead of it."""
    again = type(job)(job.folder / f"at-{kept}")
    shutil.copytree(whole.folder, again.folder)
    lines = (whole.run_dir / "journal").read_bytes().splitlines(keepends=True)
    header = record(lines[0][18:-1].decode().replace(str(whole.folder), str(again.folder)))
    (again.run_dir / "journal").write_bytes(header + b"".join(lines[1:kept]) + lines[kept][:40])
    again.dsec("resume", "j", "--quiet")
    check(again, policy(whole))
    shutil.rmtree(again.folder)


def boundaries(whole):
    return range(1, len((whole.run_dir / "journal").read_bytes().splitlines()))


@pytest.mark.battery
def test_some_boundaries(job, whole):
    check(whole, policy(whole))
    for kept in boundaries(whole)[3::11]:
        resume_from(job, whole, kept)


@pytest.mark.battery
def test_every_boundary(job, whole):
    for kept in boundaries(whole):
        resume_from(job, whole, kept)


@pytest.mark.battery
def test_a_killed_run_ends_with_the_same_policy(job, whole):
    killed = type(job)(job.folder / "killed")
    shutil.copytree(whole.folder, killed.folder, ignore=shutil.ignore_patterns(".dsec"))
    words = ("run", "--job-id", "j", "--quiet")
    for wait_s in (0.8, 1.1, 1.6, 120):
        process = killed.start(*words)
        try:
            process.communicate(timeout=wait_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        if (killed.run_dir / "journal").exists() and (killed.run_dir / "journal").stat().st_size:
            words = ("resume", "j", "--quiet")
    assert process.returncode == 0
    check(killed, policy(whole))
