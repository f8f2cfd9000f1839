"""The kernel ends a Step, or the executor itself, for want of memory: in a memory cgroup made for it."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from dsec.sweep import oom_kills

MIB = 1 << 20


def base() -> Path | None:
    """A cgroup with a memory controller in which we may make another one; None: there is none."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        roots = ["/sys/fs/cgroup/memory"] if "memory" in controllers.split(",") else []
        roots += ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] if number == "0" else []
        for root in roots:
            folder = Path(root + path)
            given = folder / "cgroup.subtree_control"
            able = "memory/" in f"{root}/" or (given.is_file() and "memory" in given.read_text().split())
            if able and folder.is_dir() and os.access(folder, os.W_OK):
                return folder
    return None


@pytest.fixture
def small():
    """A cgroup of 64 MiB without swap."""
    above = base()
    if above is None or oom_kills() is None:
        pytest.skip("no memory cgroup to write to")
    made = above / f"dsec-test-{uuid.uuid4().hex[:8]}"
    try:
        made.mkdir()
    except OSError as problem:
        pytest.skip(f"no memory cgroup to write to: {problem}")
    for name in ("memory.limit_in_bytes", "memory.max"):
        if (made / name).is_file():
            (made / name).write_text(str(64 * MIB))
    if (made / "memory.swap.max").is_file():
        (made / "memory.swap.max").write_text("0")
    yield made
    for pid in (made / "cgroup.procs").read_text().split():
        os.kill(int(pid), 9)
    for _ in range(100):
        try:
            made.rmdir()
        except OSError:
            subprocess.run(["sleep", "0.05"], check=True)
        else:
            return


GREEDY = "x = []\nwhile True: x.append(b'x' * (1 << 20))"


def test_a_step_that_the_kernel_ended(job, kit, small):
    into = f'echo $$ > {small}/cgroup.procs; sleep 0.5; exec {sys.executable} -c "$GREED"'
    job.run(kit.plan(kit.step("A", shell=into, env=(("GREED", GREEDY),))), expect=1)
    assert job.ends() == [("A", "host-oom")]
    assert "ran out of main memory (was killed by SIGKILL" in job.dsec("report", "j")


def test_an_executor_that_the_kernel_ended(job, kit, small):
    number = str(uuid.uuid4().int % 10**12)
    job.save(kit.plan(kit.step("A", shell=f"setsid sleep 600.{number} & sleep 601.{number}", timeout_ms=0)))
    code = (
        "import sys, threading, time\n"
        "def grow():\n"
        "    while not __import__('os').path.exists('go'): time.sleep(0.02)\n"
        "    time.sleep(0.2)\n"
        + "".join(f"    {line}\n" for line in GREEDY.splitlines())
        + "threading.Thread(target=grow, daemon=True).start()\n"
        "from dsec_cli.fast import dsec\n"
        "sys.exit(dsec())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "run", "plan.json", "--job-id", "j"],
        cwd=job.folder, env=job.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    job.processes.append(process)
    kit.wait_for(lambda: len([one for one in kit.alive(number) if ": sleep" in one]) == 2)
    (small / "cgroup.procs").write_text(str(process.pid))
    (job.folder / "go").touch()
    assert process.wait(timeout=60) == -9
    kit.wait_for(lambda: not kit.alive(number))
