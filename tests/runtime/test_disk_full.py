"""A disk that gets full at any write: the job fails or stops in words, nothing is harmed, resume works after.

On a small disk of its own (tmpfs, for root); for others the limit on the size of files stands for it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from dsec.journal import read

FULL = re.compile(r"[Nn]o space left|disk is full|no space for|File too large")
FILL = "test $PAD = /dev/null || dd if=/dev/zero of=$PAD bs=4096 2>/dev/null || true"
TRACE = "Traceback"


@pytest.fixture
def disk(tmp_path):
    """A disk of 3 MiB with the state folder on it."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=3m", "none", place], capture_output=True, check=False
        ).returncode
    )
    if not mounted:
        pytest.skip("only root may have a disk of its own, where mounting is allowed")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def on(job, disk):
    job.env |= {"DSEC_HOME": str(disk / "state"), "PAD": str(disk / "pad")}
    return disk / "state" / "runs" / "j"


def fill(disk, *, leave=0):
    """Take all the space but `leave` bytes."""
    with (disk / "pad").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
        file.truncate(max(0, file.tell() - leave))


def whole(run):
    """The journal, which must be good to its last byte."""
    found = read((run / "journal").read_bytes(), name="journal")
    assert found.torn_bytes == 0
    return found.payloads


def goes_on(job, disk, run, *, steps):
    """After some space is free the run ends well, and each Step succeeded once."""
    (disk / "pad").unlink(missing_ok=True)
    job.env["PAD"] = "/dev/null"
    job.dsec("resume", "j", "--quiet")
    ends = [line for line in whole(run) if '"event":"exit"' in line and '"cause":"ok"' in line]
    assert len(ends) == len(set(re.findall(r'"step":"(\w+)"', "".join(ends)))) == steps
    assert "succeeded" in job.dsec("status", "j")


@pytest.mark.parametrize("leave", [0, 4096, 65_536, 200_000])
def test_before_anything_began(job, kit, disk, leave):
    run = on(job, disk)
    fill(disk, leave=leave)
    out = job.run(kit.plan(kit.step("A")), expect=3)
    assert FULL.search(out), out
    assert TRACE not in out
    assert len(out.splitlines()) <= 3, out
    assert not run.exists()  # nothing began, and nothing is left of it
    (disk / "pad").unlink()
    job.run(kit.plan(kit.step("A")))
    assert len(whole(run)) > 3


@pytest.mark.parametrize("count", [1, 3])
def test_while_steps_run(job, kit, disk, count):
    """A Step fills the disk and ends well; those after it may fail for it, and the run says so."""
    run = on(job, disk)
    after = [
        kit.step(f"B{at}", "A", shell="echo hello; echo data > $DSEC_RUN_DIR/$DSEC_STEP")
        for at in range(count)
    ]
    out = job.run(kit.plan(kit.step("A", shell=FILL), *after), expect=None)
    code = job.processes[-1].returncode
    assert code in (1, 3), out
    assert TRACE not in out
    assert FULL.search(out) or "B0" in out, out
    whole(run)
    job.dsec("status", "j", expect=None)
    goes_on(job, disk, run, steps=count + 1)


def test_many_ends_on_a_full_disk_are_kept_by_the_reserve(job, kit, disk):
    run = on(job, disk)
    steps = [kit.step("A", shell=FILL), *(kit.step(f"S{at}", "A") for at in range(60))]
    out = job.run(kit.plan(*steps), "--keep-going", expect=None)
    assert job.processes[-1].returncode in (1, 3), out
    assert TRACE not in out
    assert any('"event":"run-end"' in line for line in whole(run))
    goes_on(job, disk, run, steps=61)


def test_a_log_that_fills_the_disk(job, kit, disk):
    run = on(job, disk)
    talk = 'test "$PAD" = /dev/null || yes | head -c 9000000'
    out = job.run(kit.plan(kit.step("A", shell=f"set -e; {talk}"), kit.step("B", "A")), expect=None)
    assert job.processes[-1].returncode in (1, 3), out
    assert TRACE not in out
    whole(run)
    for log in (run / "logs").iterdir():
        log.write_bytes(b"")
    goes_on(job, disk, run, steps=2)


def test_a_step_that_cannot_say_why_it_failed_found_the_disk_full(job, kit, disk):
    run = on(job, disk)
    silent = f"{FILL}; echo lost > $DSEC_RUN_DIR/x || exit 1"
    out = job.run(kit.plan(kit.step("A", shell=silent)), expect=1)
    assert f"A found the disk full (exited with code 1): nothing is free on the disk of {run}/logs" in out


@pytest.mark.battery
def test_a_checkpoint_that_does_not_fit(job, kit, disk):
    run = on(job, disk)
    (job.folder / "save.py").write_text(
        "import os\n"
        "from dsec.sdk import context, load_sharded, save_sharded\n"
        "folder = context().run_dir + '/saves'\n"
        "save_sharded(folder, b'x' * 500_000, at=1)\n"
        "big = 200_000 if os.environ['PAD'] == '/dev/null' else 5_000_000\n"
        "try:\n"
        "    save_sharded(folder, b'y' * big, at=2)\n"
        "finally:\n"
        "    print('there is', load_sharded(folder).at)\n"
    )
    out = job.run(kit.plan(kit.step("A", argv=("python3", "save.py"))), expect=1)
    assert TRACE in (run / "logs" / "A@0.1.log").read_text(), "the Step's own"
    assert "there is 1" in (run / "logs" / "A@0.1.log").read_text()
    assert FULL.search(out)
    assert sorted(path.name for path in (run / "work" / "saves").iterdir()) == [".lock", "000000000001.1"]
    goes_on(job, disk, run, steps=1)
    assert "there is 2" in (run / "logs" / "A@0.2.log").read_text()


def test_the_report_has_the_room_that_was_set_aside(job, kit, disk):
    """The last Step fills the disk: what was kept for the journal's last records is enough for the report."""
    run = on(job, disk)
    out = job.run(kit.plan(kit.step("A", shell=FILL)))
    assert TRACE not in out
    assert not list(disk.rglob("*.tmp"))
    assert any('"cause":"ok"' in line for line in whole(run))
    assert json.loads((run / "report.json").read_text())["outcome"] == "succeeded"


def test_a_report_that_does_not_fit_costs_itself(job, kit, disk):
    run = on(job, disk)
    job.run(kit.plan(kit.step("A")))
    for name in ("report.json", "report.md"):
        (run / name).unlink()
    fill(disk)
    out = job.dsec("report", "j")
    assert "the report is not kept" in out
    assert "# Run j: succeeded" in out
    assert not list(run.glob("report*"))


@pytest.mark.battery
def test_audit_and_metrics_files(job, kit, disk):
    """Both are evidence only: a full disk costs them, not the run."""
    on(job, disk)
    job.env["DSEC_AUDIT_S"] = "0.1"
    steps = [kit.step("A", shell="sleep 2.5; " + FILL), kit.step("B", shell="sleep 4")]
    out = job.run(kit.plan(*steps), "--metrics-file", str(disk / "m.prom"), expect=None)
    assert TRACE not in out
    assert job.processes[-1].returncode in (0, 3)
    audit = disk / "state" / "runs" / "j" / "audit"
    if audit.exists():
        from dsec.auditfile import samples

        samples(str(audit))
    assert not list(disk.glob("m.prom.*"))


@pytest.mark.parametrize("limit", [300, 1000, 4000, 300_000])
def test_a_limit_on_the_size_of_files_is_a_full_disk(job, kit, limit):
    """For ordinary users: RLIMIT_FSIZE makes every write beyond it fail, in the executor and in Steps."""

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    job.save(kit.plan(*(kit.step(f"S{at}") for at in range(20))))
    out = job.dsec("run", "plan.json", "--job-id", "j", expect=None, preexec_fn=small)
    code = job.processes[-1].returncode
    assert TRACE not in out, out
    assert code in (0, 1, 3), out
    if code:
        assert FULL.search(out), out
    if (job.run_dir / "journal").exists() and (job.run_dir / "journal").stat().st_size:
        whole(job.run_dir)
        job.dsec("resume", "j", "--quiet", expect=None)
        assert "succeeded" in job.dsec("status", "j")
    else:
        job.dsec("run", "plan.json", "--job-id", "j", "--quiet")


def test_nothing_is_left_mounted():
    assert not [line for line in Path("/proc/mounts").read_text().splitlines() if "/disk tmpfs" in line]
