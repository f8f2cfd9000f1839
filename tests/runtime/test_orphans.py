"""No process of a run is left over, however it tried to leave and however the run ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid

import pytest

from dsec import sweep

PYTHON = sys.executable
DOUBLE_FORK = (
    "import os,time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "for fd in range(3): os.close(fd)\n"
    "time.sleep(600)\n"
)
IGNORES_TERM = "import signal,time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(600)"
SHAPES = {
    "plain": "exec sleep 600.{n}",
    "background": "sleep 600.{n} &\nsleep 601.{n}",
    "setsid": "setsid sleep 600.{n} &\nsleep 601.{n}",
    "double-fork": f"{PYTHON} -c '{DOUBLE_FORK}' {{n}}\nsleep 601.{{n}}",
    "ignores-term": f"trap '' TERM INT HUP\n{PYTHON} -c '{IGNORES_TERM}' {{n}} & sleep 601.{{n}}",
}
WAYS = ("ctrl-c", "INT", "TERM", "HUP", "KILL")
CODES = {"ctrl-c": 130, "INT": 130, "TERM": 143, "HUP": 129, "KILL": -9}


def end(process, way):
    if way == "ctrl-c":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.Signals[f"SIG{way}"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_survives(job, kit, shape, way):
    number = str(uuid.uuid4().int % 10**12)
    script = SHAPES[shape].format(n=number)
    job.save(
        kit.plan(kit.step("S1", shell=script, timeout_ms=0), kit.step("S2", argv=["sleep", f"602.{number}"]))
    )
    job.env["DSEC_TEST_MARK"] = number
    bystander = subprocess.Popen(["sleep", f"700.{number}"], env={"NOT": "marked"})
    try:
        process = job.start("run", "plan.json", "--job-id", "j")
        wanted = {"plain": 1, "background": 3, "setsid": 3, "double-fork": 3, "ignores-term": 3}[shape]

        def sleepers():
            # By what they run, not by path: the checkout's folder may well be called dsec.
            ours = ("700.", "dsec_cli.fast", "dsec-warden")
            found = [one for one in kit.alive(number) if not any(mark in one for mark in ours)]
            return len(found) >= wanted + 1 and found  # and S2

        kit.wait_for(sleepers)
        end(process, way)
        out = process.communicate(timeout=60)[0].decode()
        assert process.returncode == CODES[way], out
        kit.wait_for(lambda: not [one for one in kit.alive(number) if "700." not in one], seconds=20)
        assert bystander.poll() is None
        if way != "KILL":
            assert job.events()[-1]["event"] == "run-end"
            assert job.events()[-1]["outcome"] == "interrupted"
    finally:
        bystander.kill()
        bystander.wait()


def test_a_steps_leftovers_end_with_the_step(job, kit):
    number = str(uuid.uuid4().int % 10**12)
    script = f"setsid sleep 600.{number} >/dev/null 2>&1 &\nsleep 601.{number} &\n"
    check = f"! pgrep -f '60[01].{number}$' >/dev/null"
    job.run(kit.plan(kit.step("S1", shell=script), kit.step("S2", "S1", shell=check)))


def test_a_daemon_without_marker_ends_with_its_step(job, kit):
    number = str(uuid.uuid4().int % 10**12)
    script = f"env -i {PYTHON} -c '{DOUBLE_FORK}' {number}\n"
    check = f"! pgrep -f 'python.* {number}$' >/dev/null"
    job.run(kit.plan(kit.step("S1", shell=script), kit.step("S2", "S1", shell=check)))


def test_leftovers_are_found_among_our_own_starts(job, kit):
    """The pids since a Step began are counted: all but its stray's are of Steps that began beside it."""
    number = str(uuid.uuid4().int % 10**12)
    steps = [kit.step(f"S{at}", argv=["/bin/true"], rank_ms=50 - at) for at in range(40)]
    for at in range(3):
        leave = f"setsid sh -c 'setsid sleep 60{at}.{number} &' & sleep 0.05"
        check = f"! pgrep -f 'sleep 60{at}.{number}$' >/dev/null"
        steps.append(kit.step(f"L{at}", shell=leave, rank_ms=100))
        steps.append(kit.step(f"C{at}", f"L{at}", shell=check, rank_ms=100))
    job.run(kit.plan(*steps))


def test_the_third_ctrl_c_ends_at_once(job, kit):
    script = "trap '' TERM INT\nwhile :; do sleep 1; done"
    job.save(kit.plan(kit.step("S1", shell=script, grace_ms=600_000)))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: job.run_dir.exists() and (job.run_dir / "journal").exists() and job.events("spawn"))
    for presses in (1, 2, 3):
        os.killpg(process.pid, signal.SIGINT)
        if presses == 1:
            kit.wait_for(lambda: job.events("cancel"))
    process.communicate(timeout=20)
    assert process.returncode == 130


def test_other_runs_are_left_alone(job, kit, tmp_path):
    """Two runs of one name in two folders: killing one executor touches only its own."""
    number = str(uuid.uuid4().int % 10**12)
    other = type(job)(tmp_path / "other")
    other.folder.mkdir()
    for one, seconds in ((job, 600), (other, 601)):
        one.save(kit.plan(kit.step("S1", argv=["sleep", f"{seconds}.{number}"])))
    first = job.start("run", "plan.json", "--job-id", "j")
    second = other.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: len(kit.alive(f"600.{number}")) and len(kit.alive(f"601.{number}")))
    first.kill()
    first.wait()
    kit.wait_for(lambda: not kit.alive(f"600.{number}"), seconds=20)
    assert kit.alive(f"601.{number}")
    second.terminate()
    second.communicate(timeout=30)
    assert second.returncode == 143


def killed_with(process, kit, number, wanted, *, first=""):
    """Kill the executor, and before it whoever `first` names among its children."""
    kit.wait_for(lambda: len([one for one in kit.alive(number) if ": sleep" in one]) >= wanted)
    if first:
        pid = kit.wait_for(lambda: child_named(process.pid, first))
        os.kill(pid, signal.SIGKILL)
    process.kill()
    process.wait()


def child_named(parent, mark):
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                above = int(file.read().rsplit(b")", 1)[1].split()[1])
            with open(f"/proc/{name}/cmdline", "rb") as file:
                named = mark.encode() in file.read()
        except OSError:
            continue
        if above == parent and named:
            return int(name)
    return 0


@pytest.mark.parametrize("cgroup", ["off", ""])
def test_a_killed_warden_is_missed_only_when_the_executor_is_killed_too(job, kit, cgroup):
    """Its Steps then live on until the run is resumed, or `dsec doctor --reap` ends them."""
    number = str(uuid.uuid4().int % 10**12)
    job.env |= {"DSEC_TEST_MARK": number, "DSEC_CGROUP": cgroup}
    job.save(kit.plan(kit.step("S1", shell=SHAPES["setsid"].format(n=number), timeout_ms=0)))
    process = job.start("run", "plan.json", "--job-id", "j")
    killed_with(process, kit, number, 2, first="dsec-warden")
    assert len([one for one in kit.alive(number) if ": sleep" in one]) >= 2
    resumed = job.start("resume", "j")
    # The old ones end before anything starts anew.
    kit.wait_for(lambda: len(job.events("run-start")) == 2)
    kit.wait_for(lambda: len([one for one in kit.alive(number) if ": sleep 60" in one]) == 2)
    resumed.terminate()
    resumed.communicate(timeout=30)
    kit.wait_for(lambda: not kit.alive(number))


def test_a_run_goes_on_without_its_warden(job, kit):
    job.save(kit.plan(kit.step("A", argv=["sleep", "1.5"]), kit.step("B", "A", argv=["true"])))
    process = job.start("run", "plan.json", "--job-id", "j")
    pid = kit.wait_for(lambda: child_named(process.pid, "dsec-warden"))
    os.kill(pid, signal.SIGKILL)
    out = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0, out
    assert job.ends() == [("A", "ok"), ("B", "ok")]


MANY = (
    "import os, sys, time\n"
    "for at in range(int(sys.argv[1])):\n"
    "    if os.fork() == 0:\n"
    "        if at % 3 == 0: os.setsid()\n"
    "        time.sleep(600); os._exit(0)\n"
    "print('all', flush=True)\n"
    "time.sleep(600)\n"
)


@pytest.mark.parametrize("way", ["TERM", "KILL"])
@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.battery)])
def test_many_descendants(job, kit, count, way):
    number = str(uuid.uuid4().int % 10**12)
    job.save(kit.plan(kit.step("A", argv=[PYTHON, "-c", MANY, str(count), number], timeout_ms=0)))
    process = job.start("run", "plan.json", "--job-id", "j")
    log = job.run_dir / "logs" / "A@0.1.log"
    kit.wait_for(lambda: log.exists() and log.read_text() == "all\n", seconds=90)
    end(process, way)
    process.communicate(timeout=90)
    kit.wait_for(lambda: not kit.alive(number), seconds=60)


NAMESPACES = ("unshare", "--pid", "--fork", "--mount-proc", "--mount", "--kill-child")
if os.getuid():
    NAMESPACES = (*NAMESPACES, "--user", "--map-root-user")
NO_CGROUPS = "mount -t tmpfs none /sys/fs/cgroup"


@pytest.fixture(scope="module")
def container():
    """A command that runs a shell command in a container of its own, without cgroups."""
    able = subprocess.run([*NAMESPACES, "sh", "-c", NO_CGROUPS], capture_output=True, check=False)
    if able.returncode:
        pytest.skip(f"no namespaces: {able.stderr.decode().strip()}")
    return lambda script: [*NAMESPACES, "sh", "-c", f"{NO_CGROUPS}; {script}"]


@pytest.mark.parametrize("way", ["TERM", "KILL"])
@pytest.mark.parametrize("first", [True, False], ids=["as-its-first-process", "beneath-another"])
def test_in_a_container_without_cgroups(job, kit, container, first, way):
    """As its first process the kernel ends all the others with it; else its warden does."""
    number = str(uuid.uuid4().int % 10**12)
    stated = kit.demand(memory_bytes=1 << 30)
    steps = [
        kit.step(name, shell=SHAPES[shape].format(n=number), timeout_ms=0, demand=stated)
        for name, shape in (("S1", "setsid"), ("S2", "double-fork"))
    ]
    job.save(kit.plan(*steps))
    words = f'"{PYTHON}" -c "$DSEC" run plan.json --job-id j'
    script = f"exec {words}" if first else f"{words} & wait $!; echo $? > code; exec sleep 700.{number}"
    job.env |= {"DSEC": "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"}
    outer = subprocess.Popen(container(script), cwd=job.folder, env=job.env, stdout=subprocess.DEVNULL)
    job.processes.append(outer)

    def descendants():
        return [one for one in kit.alive(number) if "sleep 60" in one or "os.fork()" in one]

    kit.wait_for(lambda: len([one for one in descendants() if "sh -e -c" not in one]) >= 4)
    os.kill(executor_in(job.folder), signal.Signals[f"SIG{way}"])
    if first:
        assert outer.wait(timeout=60) == 143 or way == "KILL"
    else:
        wanted = {"TERM": "143\n", "KILL": "137\n"}[way]
        code = job.folder / "code"
        kit.wait_for(lambda: code.exists() and code.read_text() == wanted)
    kit.wait_for(lambda: not descendants(), seconds=20)
    assert outer.poll() is None or first
    if way == "TERM":
        assert job.events()[-1]["event"] == "run-end"


def executor_in(folder):
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if b"plan.json" in words and os.readlink(f"/proc/{name}/cwd") == str(folder):
                return int(name)
        except OSError:
            continue
    raise AssertionError("no executor")


def test_who_was_there_before_is_not_looked_into(kit):
    """`since` spares the look at an environment, and nothing else."""
    number = str(uuid.uuid4().int % 10**12)
    sign = sweep.Marker(frozenset({f"DSEC_TEST_MARK={number}".encode()}), "")
    with subprocess.Popen(["sleep", "600"], env={"DSEC_TEST_MARK": number}) as marked:
        kit.wait_for(lambda: kit.alive(number))
        ticks = sweep.look(marked.pid).ticks

        def found(since, **given):
            sessions = given.pop("sessions", ())
            return [one.pid for one in sweep.members(sign, sessions=sessions, spare=(), since=since, **given)]

        assert found(0) == found(ticks) == [marked.pid]
        assert found(ticks + 1) == []
        assert marked.pid in found(ticks + 1, children_of=os.getpid())
        assert marked.pid in found(ticks + 1, sessions=(os.getsid(0),))
        marked.kill()
