"""Who makes room for a critical Step, and how: with real processes."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from dsec.plan import Checkpoint
from dsec.planfile import seal

ALL = 1_000_000
"""Processors of the machine that the plans are made for."""

SAVES = """\
import os, sys, time
from dsec import sdk
run = os.environ["DSEC_RUN_DIR"]
state = f"{run}/state"
done = int(open(state).read()) if os.path.exists(state) else 0
print("from", done, flush=True)
if len(sys.argv) < 2:
    sdk.on_save(lambda: sdk.publish(state, str(done).encode()))
open(f"{run}/ready", "w").close()
while done < 200:
    time.sleep(0.01)
    done += 1
sdk.publish(f"{run}/result", str(done).encode())
"""


@pytest.fixture
def mix(job, kit):
    """A long Step that takes the whole machine, and one that becomes ready when the long one runs."""

    def plan(long_shell, *, level, urgent="critical", long_grace=5000, checkpoint="", **given):
        wait = "while [ ! -e $DSEC_RUN_DIR/ready ]; do sleep 0.01; done"
        steps = (
            kit.step("wait", shell=wait, demand=kit.demand(cpu_m=0), rank_ms=9),
            kit.step(
                "urgent",
                "wait",
                shell="echo urgent >> $DSEC_RUN_DIR/order; sleep 0.2",
                level=urgent,
                demand=kit.demand(cpu_m=ALL),
                rank_ms=8,
            ),
            kit.step(
                "long",
                shell=long_shell + "\necho long >> $DSEC_RUN_DIR/order",
                level=level,
                grace_ms=long_grace,
                demand=kit.demand(cpu_m=ALL),
                rank_ms=1,
                **given,
            ),
        )
        made = kit.plan(*steps)
        if checkpoint:
            made = seal(made._replace(hash="", checkpoints=(Checkpoint("long", checkpoint),)))
        return made

    return plan


def _order(job):
    return (job.run_dir / "work/order").read_text().split()


def _pauses(job):
    return [(one["step"], one["how"]) for one in job.events("pause")]


URGENT = "echo urgent >> $DSEC_RUN_DIR/order"
LOOPS = "touch $DSEC_RUN_DIR/ready; i=0; while [ $i -lt 60 ]; do sleep 0.02; i=$((i+1)); done"


def test_a_pauseable_step_stands_still_and_goes_on(job, mix):
    job.run(mix(LOOPS, level="pauseable"))
    assert _order(job) == ["urgent", "long"]
    assert _pauses(job) == [("long", "frozen")]
    assert [one["step"] for one in job.events("continue")] == ["long"]
    spawned = [one["step"] for one in job.events("spawn")]
    assert spawned.count("long") == 1, "it is the same attempt that goes on"
    assert "its memory stays" in job.events("pause")[0]["reason"]


def test_its_timeout_stands_still_with_it(job, mix):
    shell = "touch $DSEC_RUN_DIR/ready; sleep 0.8"
    plan = mix(shell, level="pauseable", timeout_ms=1400)
    slow = plan.steps[1]._replace(
        command=plan.steps[1].command._replace(shell="echo urgent >> $DSEC_RUN_DIR/order; sleep 1.2")
    )
    job.run(seal(plan._replace(hash="", steps=(plan.steps[0], slow, plan.steps[2]))))
    assert _order(job) == ["urgent", "long"]


def test_descendants_stand_still_too(job, mix):
    shell = (
        "(setsid sh -c 'cd $DSEC_RUN_DIR; while [ ! -e end ]; do echo x >> ticks; sleep 0.01; done' &)\n"
        "touch $DSEC_RUN_DIR/ready; sleep 0.7; touch $DSEC_RUN_DIR/end"
    )
    plan = mix(shell, level="pauseable")
    look = "cd $DSEC_RUN_DIR; wc -l < ticks > before; sleep 0.4; wc -l < ticks > after"
    looks = plan.steps[1]._replace(command=plan.steps[1].command._replace(shell=look))
    job.run(seal(plan._replace(hash="", steps=(plan.steps[0], looks, plan.steps[2]))))
    work = job.run_dir / "work"
    assert (work / "before").read_text() == (work / "after").read_text()
    assert len((work / "ticks").read_text()) > 2 * int((work / "after").read_text())


def test_a_discardable_step_is_ended_and_starts_again(job, mix):
    job.run(mix(LOOPS, level="discardable"))
    assert _order(job) == ["urgent", "long"]
    assert _pauses(job) == [("long", "killed")]
    ends = [(one["step"], one["attempt"], one["cause"]) for one in job.events("exit")]
    assert ("long", 1, "gave-way") in ends
    assert ("long", 2, "ok") in ends


@pytest.mark.parametrize("urgent", ["pauseable", "elastic", "discardable"])
def test_nobody_makes_room_for_who_can_wait(job, mix, urgent):
    job.run(mix(LOOPS, level="discardable", urgent=urgent))
    assert _pauses(job) == []
    assert _order(job) == ["long", "urgent"]


def test_a_critical_step_is_never_touched(job, mix):
    job.run(mix(LOOPS, level="critical"))
    assert _pauses(job) == []
    assert _order(job) == ["long", "urgent"]


@pytest.fixture
def on_gpu(job, simulated_box):
    """The job's commands are on a box with one GPU."""
    job.env |= simulated_box("1xa100-sxm-80gb")


def _on_gpus(kit, plan, count=1):
    demand = kit.demand(cpu_m=100, gpu_count=count)
    steps = [one if one.id == "wait" else one._replace(demand=demand) for one in plan.steps]
    return seal(plan._replace(hash="", steps=tuple(steps)))


@pytest.mark.usefixtures("on_gpu")
def test_who_cannot_save_keeps_its_gpu(job, mix, kit):
    job.run(_on_gpus(kit, mix(LOOPS, level="pauseable")))
    assert _pauses(job) == []
    assert _order(job) == ["long", "urgent"]


def _saving(job, *words):
    (job.folder / "saves.py").write_text(SAVES)
    return f"{sys.executable} saves.py {' '.join(words)}"


@pytest.mark.usefixtures("on_gpu")
def test_a_step_saves_its_state_when_asked_and_goes_on_from_there(job, mix, kit):
    job.run(_on_gpus(kit, mix(_saving(job), level="pauseable")))
    assert _order(job) == ["urgent", "long"]
    assert _pauses(job) == [("long", "saved")]
    work = job.run_dir / "work"
    assert (work / "result").read_text() == "200"
    log = (job.run_dir / "logs/long@0.2.log").read_text()
    assert log.startswith("from ")
    assert int(log.split()[1]) == int((work / "state").read_text())
    ends = [(one["attempt"], one["cause"]) for one in job.events("exit") if one["step"] == "long"]
    assert ends == [(1, "gave-way"), (2, "ok")]


@pytest.mark.usefixtures("on_gpu")
@pytest.mark.battery
def test_a_command_of_the_contract_saves_it(job, mix, kit):
    saves = "test -d /proc/$DSEC_PID && echo 7 > $DSEC_RUN_DIR/state"
    plan = mix(_saving(job, "mute"), level="elastic", checkpoint=saves)
    job.run(_on_gpus(kit, plan))
    assert _order(job) == ["urgent", "long"]
    assert _pauses(job) == [("long", "saved")]
    assert (job.run_dir / "logs/long@0.2.log").read_text().startswith("from 7")


@pytest.mark.usefixtures("on_gpu")
def test_who_does_not_save_within_its_grace_is_ended_and_that_is_said(job, mix, kit):
    plan = mix(_saving(job, "mute"), level="pauseable", checkpoint="sleep 60", long_grace=300)
    job.run(_on_gpus(kit, plan))
    assert _order(job) == ["urgent", "long"]
    (pause,) = job.events("pause")
    assert pause["how"] == "killed"
    assert "did not save its state within 300 ms" in pause["reason"]


def test_inputs_that_are_gone_are_sent_again_from_upstream(job, kit):
    make_input = "echo made >> $DSEC_RUN_DIR/made; echo data > $DSEC_RUN_DIR/data"
    takes = "rm $DSEC_RUN_DIR/data; touch $DSEC_RUN_DIR/ready; sleep 0.6; echo long >> $DSEC_RUN_DIR/order"
    wait = "while [ ! -e $DSEC_RUN_DIR/ready ]; do sleep 0.01; done"
    whole = kit.demand(cpu_m=ALL)
    plan = kit.plan(
        kit.step("up", shell=make_input, outputs=("{run}/data",), demand=whole, rank_ms=10),
        kit.step("wait", "up", shell=wait, demand=kit.demand(cpu_m=0), rank_ms=9),
        kit.step("urgent", "wait", shell=URGENT, level="critical", demand=whole, rank_ms=8),
        kit.step("long", "up", shell=takes, inputs=("{run}/data",), level="discardable", demand=whole),
        kit.step("after", "long", "urgent", demand=whole),
    )  # fmt: skip
    job.run(plan)
    assert _order(job) == ["urgent", "long"]
    assert (job.run_dir / "work/made").read_text().split() == ["made", "made"]
    ends = [one["step"] for one in job.events("exit") if one["cause"] == "ok"]
    assert ends.count("long") == 1
    assert ends.count("urgent") == 1
    assert ends[-1] == "after"


def state(number):
    """The letter of a process's state."""
    return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_what_stands_still_is_ended_when_the_run_is(job, mix, kit):
    plan = mix(LOOPS, level="pauseable")
    endless = plan.steps[1]._replace(command=plan.steps[1].command._replace(shell="sleep 60"))
    job.save(seal(plan._replace(hash="", steps=(plan.steps[0], endless, plan.steps[2]))))
    process = job.start("run", "plan.json", "--job-id", "j")
    until = time.monotonic() + 20
    while not (job.run_dir / "journal").exists() or not job.events("pause"):
        assert time.monotonic() < until
        time.sleep(0.05)
    pid = next(one["pid"] for one in job.events("spawn") if one["step"] == "long")
    kit.wait_for(lambda: state(pid) == "T")  # it stops when it comes to run
    job.dsec("cancel", "j", expect=None)
    process.communicate(timeout=30)
    assert not os.path.exists(f"/proc/{pid}")


def test_it_stands_still_also_after_the_whole_run_did(job, mix, kit):
    plan = mix("touch $DSEC_RUN_DIR/ready; sleep 0.4", level="pauseable")
    waits = "while [ ! -e $DSEC_RUN_DIR/go ]; do sleep 0.02; done; echo urgent >> $DSEC_RUN_DIR/order"
    urgent = plan.steps[1]._replace(command=plan.steps[1].command._replace(shell=waits))
    job.save(seal(plan._replace(hash="", steps=(plan.steps[0], urgent, plan.steps[2]))))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: (job.run_dir / "journal").exists() and job.events("pause"))
    pid = next(one["pid"] for one in job.events("spawn") if one["step"] == "long")

    process.send_signal(signal.SIGTSTP)
    kit.wait_for(lambda: state(process.pid) == "T" or time.sleep(0.3) or True)
    process.send_signal(signal.SIGCONT)
    time.sleep(0.5)
    assert state(pid) == "T"
    (job.run_dir / "work/go").touch()
    process.communicate(timeout=30)
    assert _order(job) == ["urgent", "long"]
