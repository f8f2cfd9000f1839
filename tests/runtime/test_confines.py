"""Attempts are kept within what their Steps state, and are told so when they are not."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from dsec import cgroups, sweep
from dsec.confines import Confines, confines
from dsec.core.overuse import Overuse, enforced, stated
from dsec.devices.host import node_processors
from dsec.footprint import footprint, parsed
from dsec.loop import Loop
from dsec.processes import Children, Launch

GIB = 1024**3
TREE = Path("/sys/fs/cgroup/unified") if Path("/sys/fs/cgroup/unified").is_dir() else Path("/sys/fs/cgroup")
HOLD = "import sys,time; x = b'x' * (int(sys.argv[1]) << 20); print('held', flush=True); time.sleep(600)"


def writable() -> bool:
    if not (TREE / "cgroup.procs").is_file() or not os.access(TREE, os.W_OK):
        return False
    try:
        (TREE / f"try-{os.getpid()}").mkdir()
        (TREE / f"try-{os.getpid()}").rmdir()
    except OSError:
        return False
    return True


in_tree = pytest.mark.skipif(not writable(), reason="no cgroup v2 folder to write to")


def test_a_critical_step_is_never_ended_for_what_it_takes(kit):
    demand = kit.demand(memory_bytes=GIB)
    assert enforced(kit.step("A", demand=demand)) == GIB
    assert enforced(kit.step("A", demand=demand, level="critical")) == 0
    assert stated(kit.step("A", demand=demand, level="critical")) == GIB
    assert stated(kit.step("A", demand=demand, call="m:f")) == 0
    assert enforced(kit.step("A")) == 0


def test_too_much_twice_in_a_row_is_said_once():
    overuse = Overuse(10)
    assert [overuse.judge(held) for held in (11, 10, 11, None, 11, 11, 11)] == [
        False, False, False, False, False, True, False,
    ]  # fmt: skip


def test_no_plan_without_memory_has_confines(kit):
    plan = kit.plan(kit.step("A"), kit.step("B", demand=kit.demand(memory_bytes=GIB), level="critical"))
    assert confines(plan, None, run_path="/none", ticks=1, environ={}) is None


def machine(root, *nodes):
    folder = root / "sys/devices/system/node"
    folder.mkdir(parents=True)
    (folder / "online").write_text(f"0-{len(nodes) - 1}\n")
    for at, cpus in enumerate(nodes):
        (folder / f"node{at}").mkdir()
        (folder / f"node{at}" / "cpulist").write_text(cpus + "\n")
    return str(root)


def test_processors_of_nodes(tmp_path):
    root = machine(tmp_path, "0-1,4", "2-3")
    assert node_processors(root) == {0: frozenset((0, 1, 4)), 1: frozenset((2, 3))}
    assert node_processors(str(tmp_path / "none")) == {}


@pytest.fixture
def children():
    loop = Loop(sockets=True)  # a thread of the test runner may take signals
    made = Children(loop, spare=())
    yield made
    loop.close()
    made.close()


def begin(confine, children, folder, step, shell, *, env=()):
    """The output of a shell started within the confines of the Step."""
    log = folder / f"{uuid.uuid4().hex}.log"
    launch = Launch(
        "/bin/sh",
        ("sh", "-c", shell),
        {b"PATH": os.environb[b"PATH"], b"DSEC_RUN_DIR": os.fsencode(folder), **dict(env)},
        os.getcwd(),
        str(log),
    )
    gone = []
    confine.start(step, launch, on_gone=gone.append)
    while not gone:
        children.loop.step()
    return log.read_text()


def a_confines(children, folder, *, nodes=None, environ=None):
    me = sweep.look(os.getpid())
    environ = {b"DSEC_CGROUP": b"off"} if environ is None else environ
    return Confines(children, note=str(folder / "cgroup"), ticks=me.ticks, environ=environ, nodes=nodes or {})


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_a_step_with_gpus_of_one_node_keeps_to_its_processors(kit, children, tmp_path):
    mine = os.sched_getaffinity(0)
    first = min(mine)
    confine = a_confines(children, tmp_path, nodes={0: frozenset((first,)), 1: mine - {first}})
    told = "import os; print(sorted(os.sched_getaffinity(0)))"
    shell = f"{sys.executable} -c '{told}' & wait"
    step = kit.step("A", demand=kit.demand(gpu_count=1))
    assert begin(confine, children, tmp_path, step, shell, env={b"DSEC_NUMA": b"0"}) == f"[{first}]\n"
    rest = sorted(mine - {first})
    assert begin(confine, children, tmp_path, step, shell, env={b"DSEC_NUMA": b"1"}) == f"{rest}\n"
    assert begin(confine, children, tmp_path, step, shell) == f"{sorted(mine)}\n"
    assert os.sched_getaffinity(0) == mine


def test_workers_keep_to_their_processors(children, tmp_path):
    mine = os.sched_getaffinity(0)
    a_confines(children, tmp_path, nodes={0: frozenset((min(mine),))})
    log = tmp_path / "worker.log"
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    env = {b"DSEC_RUN_DIR": os.fsencode(tmp_path), b"DSEC_NUMA": b"0"}
    gone = []
    launch = Launch(sys.executable, (sys.executable, "-c", code), env, os.getcwd(), str(log))
    children.start_worker(launch, on_gone=gone.append, pass_fd=-1)
    while not gone:
        children.loop.step()
    assert log.read_text() == f"[{min(mine)}]\n"
    assert os.sched_getaffinity(0) == mine


def test_memory_asked_for_is_bounded_where_there_is_no_cgroup(kit, children, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_DATA)
    confine = a_confines(children, tmp_path)
    limited = kit.step("A", demand=kit.demand(memory_bytes=GIB))
    assert begin(confine, children, tmp_path, limited, "ulimit -d") == f"{8 * GIB // 1024}\n"
    gpu = kit.step("A", demand=kit.demand(memory_bytes=GIB, gpu_count=1))
    free = kit.step("A", demand=kit.demand(memory_bytes=GIB), level="critical")
    for step in (gpu, free, kit.step("A")):
        assert begin(confine, children, tmp_path, step, "ulimit -d") == "unlimited\n"
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_shared_pages_count_once():
    text = b"55d0-7ff0 ---p 0 0 0 [rollup]\nRss: 900 kB\nPss: 500 kB\nPss_Anon: 100 kB\nPss_File: 300 kB\n"
    assert parsed(text + b"Pss_Shmem: 20 kB\nSwapPss: 3 kB\n") == 123 * 1024
    assert parsed(b"garbage\n\n") == 0
    assert footprint([]) == 0
    assert footprint([2**22 - 1]) == 0
    assert 1 << 20 < footprint([os.getpid()]) < 1 << 40


@in_tree
def test_a_cgroup_takes_all_of_an_attempt_and_goes(kit, children, tmp_path):
    confine = a_confines(children, tmp_path, environ={b"DSEC_CGROUP": os.fsencode(TREE)})
    step = kit.step("A", demand=kit.demand(memory_bytes=GIB))
    shell = "sleep 0.2; cat /proc/self/cgroup & wait; setsid sh -c 'sleep 600 &'"
    told = begin(confine, children, tmp_path, step, shell)
    path = cgroups.noted(str(tmp_path))
    assert f"0::/{os.path.basename(path)}/1\n" in told
    assert os.listdir(path)
    assert not os.path.exists(f"{path}/1")
    confine.close()
    assert not os.path.exists(path)
    assert cgroups.noted(str(tmp_path)) is None


@in_tree
def test_what_hides_in_a_cgroup_is_ended(tmp_path):
    me = sweep.look(os.getpid())
    tree = cgroups.make(
        str(tmp_path / "cgroup"), pid=me.pid, ticks=me.ticks, environ={b"DSEC_CGROUP": os.fsencode(TREE)}
    )
    hidden = subprocess.Popen(["sleep", "600"], env={}, start_new_session=True)
    try:
        path = tree.enter()
        tree.leave()
        tree.limit(path, cgroups.Limits(GIB, 100, 100))
        cgroups.write(f"{path}/cgroup.procs", str(hidden.pid))
        assert cgroups.members(tree.path) == [hidden.pid]
        assert cgroups.oom_kills(path) == 0
    finally:
        closed = tree.close()
        hidden.kill()
    assert hidden.wait() == -9
    assert closed


def fake_tree(folder, controllers, enabled):
    folder.mkdir()
    for name, text in (
        ("cgroup.procs", ""), ("cgroup.controllers", controllers), ("cgroup.subtree_control", enabled),
    ):  # fmt: skip
        (folder / name).write_text(text)


def test_what_is_delegated(tmp_path):
    base = tmp_path / "base"
    assert cgroups.delegated({b"DSEC_CGROUP": os.fsencode(base)}) is None
    fake_tree(base, "memory", "memory")
    assert cgroups.delegated({b"DSEC_CGROUP": os.fsencode(base)}) == str(base)
    assert cgroups.delegated({b"DSEC_CGROUP": b"off"}) is None


def test_limits_are_written_where_the_controllers_are(tmp_path):
    limits = cgroups.Limits(GIB, 4000, 250)
    everything = dict(cgroups._settings(limits, frozenset(cgroups.WANTED)))
    assert everything == {
        "memory.max": str(GIB),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "4000",
        "cpu.weight": "250",
    }
    assert cgroups._settings(limits, frozenset()) == []
    assert cgroups._settings(cgroups.Limits(None, None, None), frozenset(cgroups.WANTED)) == []


def test_kills_for_want_of_memory_are_counted(tmp_path):
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 31\noom 1\noom_kill 2\noom_group_kill 1\n")
    assert cgroups.oom_kills(str(tmp_path)) == 2
    assert cgroups.oom_kills(str(tmp_path / "none")) == 0


@pytest.mark.parametrize("name", ["/", "/etc", "/tmp/dsec-", "/tmp/dsec-1-x", "", "/sys/fs/cgroup"])
def test_a_note_that_names_something_else_is_not_believed(tmp_path, name):
    (tmp_path / "cgroup").write_text(name + "\n")
    assert cgroups.noted(str(tmp_path)) is None


def test_an_empty_marker_is_nobodys():
    assert sweep.members(sweep.Marker(frozenset(), ""), sessions=(), spare=()) == []


@in_tree
def test_an_executor_makes_room_and_comes_back(tmp_path):
    """Where it sits in the delegated folder it moves aside, so that controllers can be handed down."""
    base = TREE / f"try-{uuid.uuid4().hex[:8]}"
    base.mkdir()
    code = (
        "import os, sys; from dsec import cgroups, sweep\n"
        "pid, (base, note) = os.getpid(), sys.argv[1:]\n"
        "cgroups.write(f'{base}/cgroup.procs', str(pid))\n"
        "cgroups._words = lambda path, words=cgroups._words: ["
        "'pids'] if path == f'{base}/cgroup.controllers' else words(path)\n"
        "environ = {b'DSEC_CGROUP': base.encode()}\n"
        "def here(): return open('/proc/self/cgroup').read().split('0::')[1].split('/')[-1].strip()\n"
        "tree = cgroups.make(note, pid=pid, ticks=sweep.look(pid).ticks, environ=environ)\n"
        "print(here(), tree.close(), here() == os.path.basename(base))\n"
    )
    try:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        told = subprocess.run(
            [sys.executable, "-c", code, str(base), str(tmp_path / "cgroup")],
            env=env, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert told.stdout.split() == ["executor", "True", "True"], told.stderr
        assert [one for one in base.iterdir() if one.is_dir()] == []
    finally:
        assert cgroups.remove(str(base))


@pytest.mark.battery
def test_a_step_that_takes_more_than_it_states_is_ended_by_its_level(job, kit):
    """By the monitor's look at the whole tree: a grandchild in a session of its own holds the memory."""
    hold = f'setsid {sys.executable} -c "{HOLD}" 300 & wait'
    demand = kit.demand(memory_bytes=200 << 20, cpu_m=100)
    job.env |= {"DSEC_AUDIT_S": "0.1", "DSEC_CGROUP": "off"}
    steps = [
        kit.step("plain", shell=hold, demand=demand, level="pauseable"),
        kit.step(
            "critical",
            shell=f"{hold.removesuffix(' & wait')} & sleep 6; kill $!",
            demand=demand,
            level="critical",
        ),
    ]
    out = job.run(kit.plan(*steps), "--keep-going", expect=1)
    assert job.ends() == [("plain", "over-memory"), ("critical", "ok")]
    assert "plain took more memory than it states and was stopped: its processes held 3" in out
    told = [event for event in job.events("notice") if event["kind"] == "over-memory"]
    assert sorted(event["step"] for event in told) == ["critical", "plain"]


@in_tree
def test_the_cgroup_of_a_killed_executor_is_removed(job, kit):
    demand = kit.demand(memory_bytes=GIB)
    number = str(uuid.uuid4().int % 10**12)
    job.env["DSEC_CGROUP"] = str(TREE)
    hidden = f"env -i setsid sh -c 'sleep 600.{number} >/dev/null 2>&1 &'; sleep 601.{number}"
    job.save(kit.plan(kit.step("A", shell=hidden, demand=demand)))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: kit.alive(f"600.{number}") and kit.alive(f"601.{number}"))
    path = cgroups.noted(str(job.run_dir))
    assert path is not None
    assert len(cgroups.members(path)) >= 2
    process.kill()
    process.wait()
    kit.wait_for(lambda: not os.path.exists(path))
    assert not kit.alive(number)
