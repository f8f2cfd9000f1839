"""A box of simulated GPUs that several jobs share, and a witness that sees a GPU used twice."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from dsec.broker import place
from dsec.simgpu.scenario import box, of_box

DSEC = "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"
GPUS = 8
USES = """\
n=9
for gpu in $(echo $CUDA_VISIBLE_DEVICES | tr , ' '); do
  eval "exec $n>>$LOCKS/$gpu"
  flock -n $n || echo "$DSEC_RUN_DIR $DSEC_STEP $gpu" >> $LOCKS/twice
  n=$((n - 1))
done
"""
"""Holds a lock for each GPU that the Step may use as long as any process of it lives."""


class Box:
    """A machine with simulated GPUs and folders of jobs that share it."""

    def __init__(self, job, folder: str, kit, gpus: int = GPUS) -> None:
        self.kit, self._job = kit, job
        self.root = job.folder
        self.locks = self.root / "locks"
        self.locks.mkdir()
        rules = self.root / "rules"
        rules.write_text(of_box(box(f"{gpus}xh100")))
        runtime = self.root / "run"
        runtime.mkdir(mode=0o700)
        job.env |= {
            "LD_LIBRARY_PATH": folder,
            "SIM_GPU_SCENARIO": str(rules),
            "XDG_RUNTIME_DIR": str(runtime),
            "LOCKS": str(self.locks),
            "GO": str(self.root / "go"),
        }
        self.job_env = job.env
        self.folder = place.folder({name.encode(): value.encode() for name, value in job.env.items()})

    def job(self, name: str, *steps, **options):
        """A job of its own with that plan."""
        folder = self.root / name
        folder.mkdir()
        one = type(self._job)(folder)
        one.env = self._job.env
        one.processes = self._job.processes  # ended with the others
        one.save(self.kit.plan(*steps, **options))
        return one

    def start(self, job, *words: str):
        return job.start("run", "plan.json", "--job-id", "j", "--quiet", *words)

    def step(self, name: str, shell: str, gpus: int = 1, **given):
        demand = self.kit.demand(cpu_m=0, gpu_count=gpus)
        return self.kit.step(name, shell=USES + shell, demand=demand, **given)

    def twice(self) -> str:
        path = self.locks / "twice"
        return path.read_text() if path.exists() else ""

    def broker(self) -> int:
        """Its pid, as soon as there is one."""
        pid = place.holder(self.folder)
        return pid if pid and alive(pid) else 0

    def state(self):
        """What the broker says of itself."""
        sock = place.connect(self.folder)
        if sock is None:
            return None
        with sock:
            sock.setblocking(True)
            sock.settimeout(10)
            sock.send(b'{"say":"ask"}')
            return {Path(one["path"]).parents[2].name: one for one in json.loads(sock.recv(65536))["runs"]}

    def held(self, name: str) -> int:
        state = self.state() or {}
        return len(state[name]["devices"]) if name in state else -1


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0] != b"Z"
    except OSError:
        return False


@pytest.fixture
def gpu_box(job, nvml_library, kit):
    made = Box(job, nvml_library(), kit)
    yield made
    if pid := made.broker():
        os.kill(pid, signal.SIGTERM)
        kit.wait_for(lambda: not alive(pid))


def finish(process, expect: int = 0) -> str:
    out = process.communicate(timeout=120)[0].decode()
    assert process.returncode == expect, out
    return out


WAITS = "while [ ! -e $GO ]; do sleep 0.02; done\n"


def queue(gpu_box, name: str, many: int, *, shell: str = "true", gpus: int = 1, **given):
    """A job of so many Steps that do not depend on each other."""
    return gpu_box.job(name, *(gpu_box.step(f"s{at}", shell, gpus, **given) for at in range(many)))


def begun(job) -> bool:
    """Whether a Step of it runs."""
    return (job.run_dir / "journal").exists() and bool(job.events("spawn"))
