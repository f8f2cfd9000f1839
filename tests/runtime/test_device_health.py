"""Devices that turn sick while a run goes on, on simulated GPUs that the real driver bindings see."""

import sys

import pytest
from simulated import uuid

from dsec.simgpu.scenario import box, of_box

WAITS = """\
touch $DSEC_RUN_DIR/ready-$DSEC_STEP.$DSEC_ATTEMPT
while [ ! -e $DSEC_RUN_DIR/go ]; do sleep 0.05; done
"""
SAVES = """\
import os, time
from dsec import sdk
run, step, attempt = (os.environ[name] for name in ("DSEC_RUN_DIR", "DSEC_STEP", "DSEC_ATTEMPT"))
sdk.on_save(lambda: sdk.publish(f"{run}/state", b"half"))
print(open(f"{run}/state").read() if os.path.exists(f"{run}/state") else "anew", flush=True)
open(f"{run}/ready-{step}.{attempt}", "w").close()
while not os.path.exists(f"{run}/go"):
    time.sleep(0.05)
"""


class Box:
    """A machine with eight simulated GPUs, and a run on it."""

    def __init__(self, job, folder, gpus):
        self.job = job
        self.path = job.folder / "rules"
        self.base = of_box(box(f"{gpus}xh100"))
        self.rules("")
        job.env |= {"LD_LIBRARY_PATH": folder, "SIM_GPU_SCENARIO": str(self.path), "DSEC_AUDIT_S": "0.2"}

    def rules(self, more):
        aside = self.path.with_suffix(".new")
        aside.write_text(f"{self.base}\n{more}\n")
        aside.replace(self.path)

    def begin(self, plan, kit):
        self.job.save(plan)
        self.process = self.job.start("run", "plan.json", "--job-id", "j")
        kit.wait_for(lambda: (self.job.run_dir / "audit").exists())
        kit.wait_for(lambda: all(self.is_ready(step.id, 1) for step in plan.steps))

    def is_ready(self, step, attempt):
        return (self.job.run_dir / f"work/ready-{step}.{attempt}").exists()

    def end(self):
        (self.job.run_dir / "work/go").touch()
        out = self.process.communicate(timeout=60)[0].decode()
        assert self.process.returncode == 0, out

    def on(self, gpu):
        return next(one["step"] for one in self.job.events("spawn") if one["devices"] == [uuid(gpu)])


@pytest.fixture
def machine(job, nvml_library):
    return lambda gpus=8: Box(job, nvml_library(), gpus)


def _plan(kit, count=8, **given):
    steps = {"shell": WAITS, "demand": kit.demand(cpu_m=10, gpu_count=1), "grace_ms": 5000} | given
    return kit.plan(*(kit.step(f"S{at}", **steps) for at in range(count)))


def _kinds(job):
    return [(one["kind"], one["step"]) for one in job.events("notice")]


@pytest.mark.battery
def test_gpu_3_of_8_is_lost_in_mid_run_and_seven_go_on(job, kit, machine):
    there = machine()
    there.begin(_plan(kit), kit)
    struck = there.on(3)
    there.rules("gpu 3 lost 1")
    kit.wait_for(lambda: (struck, "gave-way") in job.ends())
    there.end()
    (lost,) = [one for one in job.events("device") if one["state"] == "lost"]
    assert lost["device"] == uuid(3)
    ok = {(one["step"], one["attempt"]) for one in job.events("exit") if one["cause"] == "ok"}
    assert ok == {(f"S{at}", 2 if f"S{at}" == struck else 1) for at in range(8)}
    spawned = [one for one in job.events("spawn") if one["step"] == struck]
    assert [one["devices"] == [uuid(3)] for one in spawned] == [True, False]
    assert ("moved", struck) in _kinds(job)
    (moved,) = [one["detail"] for one in job.events("notice") if one["kind"] == "moved"]
    assert moved.startswith(f"moved from {uuid(3)} to {spawned[1]['devices'][0]}: running again ")


def test_a_driver_upgraded_under_a_running_job_is_said_and_ends_nothing(job, kit, machine):
    there = machine()
    there.begin(_plan(kit), kit)
    there.rules("down 18\ninit 18")
    kit.wait_for(lambda: [one for one in job.events("notice") if "differ in version" in one["detail"]])
    there.end()
    assert job.events("pause") == []
    assert sorted(job.ends()) == [(f"S{at}", "ok") for at in range(8)]


@pytest.mark.battery
def test_what_a_hot_gpu_runs_saves_its_state_and_goes_on_elsewhere(job, kit, machine):
    (job.folder / "saves.py").write_text(SAVES)
    there = machine(2)
    there.begin(_plan(kit, 1, shell=f"{sys.executable} saves.py"), kit)
    gpu = next(at for at in range(2) if job.events("spawn")[0]["devices"] == [uuid(at)])
    there.rules(f"gpu {gpu} temperature 91")
    kit.wait_for(lambda: there.is_ready("S0", 2))
    there.end()
    assert [(one["state"], one["device"]) for one in job.events("device")] == [("hot", uuid(gpu))]
    assert [one["how"] for one in job.events("pause")] == ["saved"]
    assert (job.run_dir / "logs/S0@0.2.log").read_text().startswith("half")
    assert ("moved", "S0") in _kinds(job)


def test_a_critical_step_is_left_alone_on_a_hot_gpu(job, kit, machine):
    there = machine(2)
    there.begin(_plan(kit, 1, level="critical"), kit)
    there.rules("gpu * temperature 91")
    kit.wait_for(lambda: [one for one in job.events("notice") if "left alone" in one["detail"]])
    there.end()
    assert job.events("pause") == []
    assert job.ends() == [("S0", "ok")]


def test_with_no_other_gpu_it_stays(job, kit, machine):
    there = machine(1)
    there.begin(_plan(kit, 1), kit)
    there.rules("gpu 0 temperature 91")
    kit.wait_for(lambda: [one for one in job.events("notice") if "no other device" in one["detail"]])
    there.end()
    assert job.ends() == [("S0", "ok")]
