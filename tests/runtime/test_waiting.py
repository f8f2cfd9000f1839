"""Both ways to wait give the same: every child's end once, signals in order, and all given back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
START = """
import os, signal, sys, time
from dsec.waiting import Descriptors, Signals

waiter = {"signals": Signals, "descriptors": Descriptors}[sys.argv[1]]()
heard, ended = [], []
waiter.on_signals((signal.SIGUSR1, signal.SIGTERM), heard.append)

def start(*argv):
    pid = os.posix_spawn(argv[0], argv, os.environ)
    waiter.on_end(pid, lambda _, status, usage: ended.append((pid, os.waitstatus_to_exitcode(status))))
    return pid

def until(condition):
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit, (heard, ended)
        waiter.wait(0.2, 0.0)
"""


def tell(kind: str, script: str) -> str:
    """What the script prints, in a process of its own: it changes masks and reaps every child."""
    done = subprocess.run(
        [sys.executable, "-c", START + script, kind],
        env={"PYTHONPATH": str(ROOT / "runtime"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


both = pytest.mark.parametrize("kind", ["signals", "descriptors"])


@both
def test_each_end_is_told_once(kind):
    script = """
pids = [start("/bin/sh", "-c", f"exit {code}") for code in range(5)]
time.sleep(0.3)  # so that one signal stands for several
until(lambda: len(ended) >= 5)
waiter.wait(0.05, 0.0)
print(sorted(ended) == sorted(zip(pids, range(5))), heard)
"""
    assert tell(kind, script) == "True []\n"


@both
def test_signals_are_heard_between_ends(kind):
    script = """
os.kill(os.getpid(), signal.SIGUSR1)
start("/bin/true")
until(lambda: heard and ended)
print(heard == [signal.SIGUSR1], len(ended))
"""
    assert tell(kind, script) == "True 1\n"


@both
def test_a_time_limit_is_kept(kind):
    script = """
begun = time.monotonic()
waiter.wait(0.05, 0.0)
print(0.05 <= time.monotonic() - begun)
"""
    assert tell(kind, script) == "True\n"


@both
def test_what_comes_too_late_is_over_with_the_run(kind):
    script = """
os.kill(os.getpid(), signal.SIGTERM)
waiter.close()
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), signal.getsignal(signal.SIGTERM).name)
"""
    assert tell(kind, script) == "set() SIG_DFL\n"


def test_an_orphan_that_became_ours_is_reaped_with_the_others():
    script = """
from dsec.processes import become_subreaper
become_subreaper()
parent = start("/bin/sh", "-c", "(sleep 0.2; exit 7) & exit 0")
start("/bin/sleep", "0.5")
until(lambda: len(ended) == 2)
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("nobody is left")
"""
    assert tell("signals", script) == "nobody is left\n"


def test_ends_are_told_where_the_parent_ignored_them():
    script = """
waiter.close()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
waiter.on_signals((signal.SIGUSR1,), heard.append)
start("/bin/false")
until(lambda: ended)
waiter.close()
print(ended[0][1], signal.getsignal(signal.SIGCHLD).name)
"""
    assert tell("signals", script) == "1 SIG_IGN\n"


@both
def test_a_socket_is_heard_between_ends(kind):
    script = """
import socket
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ours.setblocking(False)
got = []

def arrived():
    while True:
        try:
            packet = ours.recv(100)
        except BlockingIOError:
            return
        got.append(packet)
        if not packet:
            waiter.unwatch(ours.fileno())
            return

theirs.send(b"early")
waiter.watch(ours.fileno(), arrived)
until(lambda: got)
start("/bin/true")
theirs.send(b"one")
theirs.send(b"two")
until(lambda: len(got) == 3 and ended)
theirs.close()
until(lambda: len(got) == 4)
print(got)
"""
    assert tell(kind, script) == "[b'early', b'one', b'two', b'']\n"


@both
def test_standing_still_beyond_the_time_limit_is_no_signal(kind):
    script = """
for _ in range(3):
    start("/bin/sh", "-c", "sleep 0.1; kill -STOP $PPID; sleep 0.5; kill -CONT $PPID; sleep 0.1")
    until(lambda: len(ended) == _ + 1)
print(heard, len(ended))
"""
    assert tell(kind, script) == "[] 3\n"
