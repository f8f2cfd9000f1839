"""What Steps wait for without using it: judged from made-up waits, and seen by the real library."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec import probes
from dsec.core import contention
from dsec.core.contention import GIL, LOCK, LOCK_HELD, MUTEX, SYNC, WRITE, Blocked, Wait, blocked, sentence
from dsec.outcomes import recorded
from dsec.probes import library, waits

MS = 1_000_000
LEAST_NS = 10 * MS
"""What takes less is no line of its own (`inject.c`)."""


def wait(kind, begin, took, *, pid=1, step="A", tid=None, device="8:1", inode=5, gil=False):
    return Wait(pid, step, pid if tid is None else tid, kind, begin * MS, took * MS, device, inode, gil)


def test_a_file_lock_blocks_who_waits_for_the_same_file():
    held = wait(LOCK_HELD, 0, 400, pid=1, step="S6")
    waiting = wait(LOCK, 100, 300, pid=2, step="S2")
    other = wait(LOCK, 100, 300, pid=3, step="S3", inode=6)
    own = wait(LOCK, 100, 300, pid=1, step="S6")
    assert blocked([held, waiting, other, own]) == [Blocked("S6", "S2", "lock", "8:1", 300, 1, 300)]


def test_a_device_blocks_who_came_later():
    first = wait(SYNC, 0, 500, pid=1, step="S6")
    later = wait(WRITE, 200, 400, pid=2, step="S2")
    elsewhere = wait(SYNC, 200, 400, pid=3, step="S3", device="8:2")
    assert blocked([later, elsewhere, first]) == [Blocked("S6", "S2", "device", "8:1", 300, 1, 300)]
    assert blocked([wait(WRITE, 0, 500), wait(WRITE, 100, 500, pid=2)]) == [], "writes alone prove nothing"


def test_pythons_lock_is_named_after_what_held_it():
    held = wait(SYNC, 0, 300, tid=1, gil=True)
    waiting = wait(GIL, 10, 290, tid=2, device="", inode=0)
    plain = wait(GIL, 1000, 80, tid=2, device="", inode=0)
    free = wait(SYNC, 1000, 80, tid=1)
    assert blocked([held, waiting, plain, free]) == [
        Blocked("A", "A", "gil-sync", "8:1", 290, 1, 290),
        Blocked("A", "A", "gil", "", 80, 1, 80),
    ]


def test_what_is_small_is_not_told_and_the_rest_is_added_up():
    many = [wait(MUTEX, at * 100, 15, device="") for at in range(4)]
    assert blocked(many[:3]) == []
    assert blocked(many) == [Blocked("A", "A", "mutex", "", 60, 4, 15)]


some_waits = st.lists(
    st.builds(
        wait,
        st.sampled_from([SYNC, WRITE, LOCK, LOCK_HELD, MUTEX, GIL]),
        st.integers(0, 300),
        st.integers(1, 300),
        pid=st.integers(1, 3),
        step=st.sampled_from(["A", "B"]),
        tid=st.integers(1, 3),
        device=st.sampled_from(["", "8:1", "8:2"]),
        inode=st.integers(1, 2),
        gil=st.booleans(),
    ),
    max_size=12,
)


@given(some_waits, st.randoms())
def test_the_order_of_the_files_changes_nothing(some, chance):
    mixed = list(some)
    chance.shuffle(mixed)
    assert sorted(blocked(mixed)) == sorted(blocked(some))


@given(some_waits)
def test_overlaps_are_those_that_a_look_at_each_pair_finds(some):
    pairs = {
        (id(one), id(other))
        for one in some
        for other in some
        if one is not other and one.begin_ns < other.end_ns and other.begin_ns < one.end_ns
    }
    found = {(id(a), id(b)) for a, b in contention._pairs(some, some) if a is not b}
    assert found == pairs


@pytest.mark.parametrize("how", sorted(contention._SENTENCES))
def test_every_sentence_can_be_said_again_from_a_journal(how):
    one = Blocked("S6", "S2", how, "nvme0n1p1", 1240, 3, 700)._asdict()
    text = str(sentence(one))
    assert "S6" in text
    assert "1240 ms" in text
    assert str(recorded(text)) == text
    assert recorded(text).template == contention._SENTENCES[how]


@given(st.binary(max_size=300))
def test_a_file_that_is_none_is_passed_over(data):
    assert list(probes._waits_of(data)) == []


def test_a_half_written_event_is_left_out():
    head = probes._HEAD.pack(b"DSECPRB1", 1, 7, 0, 2, b"S1", 0, 1).ljust(4096, b"\0")
    good = probes._EVENT.pack(1, SYNC, 7, 5, 6, os.makedev(8, 1), 9, 0, 1, 0)
    torn = probes._EVENT.pack(0, SYNC, 7, 5, 6, 0, 9, 0, 1, 0)
    found = list(probes._waits_of(head + good + torn))
    assert found == [Wait(7, "S1", 7, SYNC, 5, 6, "8:1", 9, True)]
    assert list(probes._waits_of(head + good[:-1])) == []
    assert struct.calcsize(probes._EVENT.format) == 64


# The real library.


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    found = library({**os.environ, "DSEC_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))})
    if not found.path:
        pytest.skip(f"no probe here: {found.why}")
    return found


def probed(built, folder, code, *, program=(sys.executable, "-c")):
    env = {**os.environ, "LD_PRELOAD": built.path, "DSEC_PROBE": str(folder), "DSEC_STEP": "S1"}
    done = subprocess.run(
        [*program, textwrap.dedent(code)], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return list(waits(str(folder))), done.stdout


def test_the_library_is_built_once(built, tmp_path):
    cache = os.path.dirname(os.path.dirname(built.path))
    assert library({"DSEC_CACHE_DIR": cache, "PATH": "/none"}) == built
    none = library({"DSEC_CACHE_DIR": str(tmp_path), "PATH": "/none"})
    assert none.path == ""
    assert str(none.why) == "there is no C compiler (cc, gcc, clang)"
    broken = library({"DSEC_CACHE_DIR": str(tmp_path), "PATH": os.environ["PATH"], "CC": "false"})
    assert "false could not build it" in str(broken.why)
    spaced = library({"DSEC_CACHE_DIR": str(tmp_path / "a b"), "PATH": os.environ["PATH"]})
    assert "has a space" in str(spaced.why)


def test_a_process_with_nothing_long_leaves_nothing(built, tmp_path):
    found, said = probed(built, tmp_path, "import json, threading; print(json.dumps([1]))")
    assert said == "[1]\n"
    # A busy machine may hold up any call, and then it is long.
    assert all(one.took_ns >= LEAST_NS for one in found)
    assert bool(os.listdir(tmp_path)) == bool(found)


def test_threads_that_wait_for_pythons_lock_are_seen(built, tmp_path):
    found, _ = probed(
        built,
        tmp_path,
        """
        import ctypes, threading, time
        going = True
        def look():
            while going:
                time.sleep(0.001)
        thread = threading.Thread(target=look)
        thread.start()
        time.sleep(0.05)
        ctypes.PyDLL(None).usleep(300000)  # called with Python's lock held
        going = False
        thread.join()
        """,
    )
    longest = max((one.took_ns for one in found if one.kind == GIL), default=0)
    assert longest > 200 * MS
    assert {one.step for one in found} == {"S1"}


def test_a_sleep_without_pythons_lock_is_no_wait(built, tmp_path):
    found, _ = probed(
        built,
        tmp_path,
        """
        import threading, time
        threads = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(3)]
        [thread.start() for thread in threads]
        condition = threading.Condition()
        with condition:
            condition.wait(0.2)
        [thread.join() for thread in threads]
        """,
    )
    assert [one for one in found if one.kind == GIL and one.took_ns > 150 * MS] == []


def test_a_write_under_pythons_lock_is_told_from_one_without(built, tmp_path):
    found, _ = probed(
        built,
        tmp_path,
        """
        import ctypes, os, threading, time
        def slow_reader(end):
            time.sleep(0.15)
            while os.read(end, 1 << 20):
                pass
        for libc in (ctypes.PyDLL(None), ctypes.CDLL(None)):
            read, write = os.pipe()
            reader = os.fork()
            if not reader:
                os.close(write)
                slow_reader(read)
                os._exit(0)
            os.close(read)
            libc.write(write, b"x" * 200000, 200000)
            os.close(write)
            os.waitpid(reader, 0)
        """,
    )
    assert [one.gil for one in found if one.kind == WRITE and one.took_ns > 100 * MS] == [True, False]


def test_a_forked_child_writes_a_file_of_its_own(built, tmp_path):
    found, _ = probed(
        built,
        tmp_path,
        """
        import fcntl, os, time
        file = open(os.environ["DSEC_PROBE"] + "/lock", "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        child = os.fork()
        if not child:
            with open(file.name, "a") as mine:
                fcntl.flock(mine, fcntl.LOCK_EX)
            os._exit(0)
        time.sleep(0.3)
        fcntl.flock(file, fcntl.LOCK_UN)
        os.waitpid(child, 0)
        """,
    )
    assert len({one.pid for one in found}) == 2
    held = [one for one in found if one.kind == LOCK_HELD]
    waiting = [one for one in found if one.kind == LOCK and one.took_ns > 100 * MS]
    assert len(waiting) == 1
    assert (waiting[0].device, waiting[0].inode) == (held[0].device, held[0].inode)


MUTEX_C = r"""
#include <pthread.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *other(void *x) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); return x; }
int main(void) {
    struct timespec t = {0, 150000000};
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, 0, other, 0);
    nanosleep(&t, 0);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    return 0;
}
"""


def test_threads_that_wait_for_a_mutex_are_seen(built, tmp_path):
    (tmp_path / "m.c").write_text(MUTEX_C)
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))))
    subprocess.run([compiler, "-o", tmp_path / "m", tmp_path / "m.c", "-lpthread"], check=True)
    (tmp_path / "out").mkdir()
    found, _ = probed(built, tmp_path / "out", "", program=(str(tmp_path / "m"),))
    assert [one.kind for one in found if one.took_ns > 100 * MS] == [MUTEX]


LOCKER = """
import fcntl, sys, time
with open("lock", "a") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    open(sys.argv[1], "w").close()
    time.sleep(float(sys.argv[2]))
"""


def locking(kit):
    wait_for_it = "until test -e held; do sleep 0.02; done; exec python3 lock.py taken 0"
    return kit.plan(
        kit.step("Saver", argv=("python3", "lock.py", "held", "2")),
        kit.step("Trainer", shell=wait_for_it),
    )


@pytest.mark.battery
def test_a_run_says_who_held_up_whom(job, kit, built):
    (job.folder / "lock.py").write_text(LOCKER)
    job.env["DSEC_CACHE_DIR"] = os.path.dirname(os.path.dirname(built.path))
    plan = locking(kit)
    small = [step._replace(demand=kit.demand(cpu_m=500)) for step in plan.steps]
    job.run(kit.plan(*small), "--probe")
    report = json.loads((job.run_dir / "report.json").read_text())
    (one,) = [row for row in report["contention"] if row["how"] == "lock"]
    assert (one["by"], one["step"]) == ("Saver", "Trainer")
    assert 50 <= one["ms"] < 60_000
    text = job.dsec("report", "j")
    assert "Waits for what was not in use" in text
    assert f"Saver blocked Trainer for {one['ms']} ms by holding a file lock on device" in text
    assert not (job.run_dir / "probe").exists(), "summed up, the files are gone"
    assert "使 Trainer 等了" in job.dsec("report", "j", "--lang", "zh")


def test_a_run_without_a_compiler_goes_on_and_says_so(job, kit, tmp_path):
    job.env |= {"DSEC_CACHE_DIR": str(tmp_path / "empty"), "CC": "no-such-compiler"}
    out = job.run(kit.plan(kit.step("A")), "--probe")
    assert "warning: the run goes on without a probe: there is no C compiler (no-such-compiler)" in out
    assert json.loads((job.run_dir / "report.json").read_text())["contention"] is None


def test_the_monitor_tells_while_a_run_goes_on(tmp_path, monkeypatch):
    from types import SimpleNamespace

    from dsec.monitor.checks.contention import Check

    (tmp_path / "probe").mkdir()
    costs = [700]
    monkeypatch.setattr(
        probes, "contention", lambda run: [Blocked("S6", "S2", "lock", "8:1", costs[0], 1, costs[0])]
    )
    check = Check()
    scene = SimpleNamespace(run_dir=str(tmp_path))
    told = [one for _ in range(30) for one in check.look(scene)]
    assert [one["kind"] for one in told] == ["blocked"], "once, until it has doubled"
    assert "S6 blocked S2 for 700 ms" in told[0]["detail"]
    costs[0] = 1500
    assert [one["kind"] for _ in range(30) for one in check.look(scene)] == ["blocked"]
    (tmp_path / "probe").rmdir()
    assert [one for _ in range(10) for one in check.look(scene)] == []
