"""What rides beside an executor: a copy of it that has nothing of its, or an interpreter of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RIDER = """
import os, sys

def main(argv, plan=None):
    print(argv, plan, flush=True)
    if argv[0] == "fails":
        raise RuntimeError("on the way")
    sys.stdout.flush()
    os.write(3, b"here")
    return 7
"""
STARTER = """
import os, signal, sys, threading
sys.path.insert(0, {folder!r})
from dsec.outrider import Outrider, start

other = threading.Event()
if {threads}:
    threading.Thread(target=other.wait).start()
print("not yet written", end="")
signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
read, write = os.pipe()
pid = start(Outrider("rider", "rides", ({word!r},), {log!r}, (write,)), os.environb, plan="the plan")
os.close(write)
said = os.read(read, 10)
_, status = os.waitpid(pid, 0)
other.set()
print("|", said, os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize(("threads", "plan"), [(False, "the plan"), (True, None)])
@pytest.mark.parametrize(("word", "code", "said"), [("rides", 7, b"here"), ("fails", 1, b"")])
def test_a_copy_where_there_is_one_thread_and_an_interpreter_where_there_are_more(
    tmp_path, threads, plan, word, code, said
):
    (tmp_path / "rider.py").write_text(RIDER)
    log = tmp_path / "log"
    script = STARTER.format(folder=str(tmp_path), threads=threads, word=word, log=str(log))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, timeout=60, check=True)
    assert (out.stdout.decode(), out.stderr) == (f"not yet written| {said!r} {code}\n", b"")
    told = log.read_text()
    assert told.startswith(f"['{word}'] {plan}\n")
    assert ("RuntimeError: on the way" in told) == (word == "fails")


INTERRUPTED = """
import os, signal, sys
sys.path.insert(0, {folder!r})
from dsec import outrider

seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append("here"))
read, write = os.pipe()
ours, theirs = os.pipe()
os.set_blocking(theirs, False)
signal.set_wakeup_fd(theirs)
leave = outrider._leave

def leaving(*handles):
    os.kill(os.getpid(), signal.SIGINT)  # as the terminal does to all of the group
    leave(*handles)

outrider._leave = leaving
what = outrider.Outrider("rider", "rides", ("rides",), {log!r}, (write,))
pid = outrider.start(what, os.environb, plan="the plan")
_, status = os.waitpid(pid, 0)
os.set_blocking(ours, False)
try:
    told = os.read(ours, 10)
except BlockingIOError:
    told = b""
print(told, seen, os.waitstatus_to_exitcode(status), signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""


def test_a_signal_to_the_copy_that_just_begins_is_neither_ours_nor_its_end(tmp_path):
    (tmp_path / "rider.py").write_text(RIDER)
    script = INTERRUPTED.format(folder=str(tmp_path), log=str(tmp_path / "log"))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, timeout=60, check=True)
    assert (out.stdout.decode(), out.stderr) == ("b'' [] 7 set()\n", b"")


def test_a_monitor_and_an_exporter_keep_nothing_of_their_executor(job, kit):
    job.save(kit.plan(kit.step("a", shell="until [ -e go ]; do sleep 0.1; done")))
    running = job.start("run", "plan.json", "--job-id", "j", "--metrics-file", "m.prom")
    names = {"monitor": "dsec-monitor\n", "exporter": "dsec-metrics\n"}
    for name, called in names.items():
        (pid,) = kit.wait_for(lambda name=name: kit.writing_to(job.run_dir / f"{name}.log"))
        place = Path(f"/proc/{pid}")
        kit.wait_for(lambda place=place, called=called: (place / "comm").read_text() == called)
        # While it looks about it has others for a moment.
        kit.wait_for(lambda place=place: sorted(os.listdir(place / "fd")) == ["0", "1", "2", "3"])
        assert os.readlink(place / "fd" / "0") == "/dev/null"
        status = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines())
        assert int(status["SigBlk"], 16) == int(status["SigCgt"], 16) == 0
        ignored = (1 << signal.SIGPIPE - 1) | (1 << signal.SIGXFSZ - 1)
        # 32 and 33 are the C library's own: nobody can set them, and they stay as inherited.
        assert int(status["SigIgn"], 16) & ~(0b11 << 31) == ignored
        assert os.getsid(pid) == pid
    (job.folder / "go").touch()
    assert running.wait(timeout=60) == 0
    assert [kit.writing_to(job.run_dir / f"{name}.log") for name in names] == [[], []]
