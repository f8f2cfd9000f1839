"""Ports are given to one run each, held while it lasts, and free again when it is killed."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from dsec.launch import Launcher, why_not_started
from dsec.portbook import PortBook, candidates, filled, is_free, runtime_folder
from dsec.rundir import RunDir

LISTEN = (
    "import os, socket, sys, time\n"
    "sock = socket.socket(); sock.bind(('127.0.0.1', int(os.environ['MASTER_PORT']))); sock.listen()\n"
    "open(os.environ['DSEC_RUN_DIR'] + '/port', 'w').write(os.environ['MASTER_PORT'])\n"
    "time.sleep(600)\n"
)


def test_two_books_never_share(tmp_path):
    one, two = PortBook(str(tmp_path)), PortBook(str(tmp_path))
    ports = [book.own(key) for key in "abc" for book in (one, two)]
    assert len(set(ports)) == 6
    assert [one.own(key) for key in "abc"] == ports[::2]
    one.close()
    assert sorted(map(int, os.listdir(tmp_path))) == sorted(ports[1::2])
    two.close()
    assert os.listdir(tmp_path) == []


def test_a_port_that_a_stranger_took_is_given_up(tmp_path):
    book = PortBook(str(tmp_path))
    port, name = book.own("A/MASTER_PORT"), book.shared(":server")
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", port))
        stranger.listen()
        assert not is_free(port)
        other = book.own("A/MASTER_PORT")
        assert other not in (port, name)
    with socket.socket() as server:
        server.bind(("127.0.0.1", name))
        server.listen()
        assert book.shared(":server") == name
    book.close()


def test_a_child_can_listen_without_reuse(tmp_path):
    book = PortBook(str(tmp_path))
    with socket.socket() as sock:
        sock.bind(("0.0.0.0", book.own("x")))
        sock.listen()
    book.close()


def test_a_killed_run_holds_nothing(tmp_path):
    code = (
        "import sys, time; from dsec.portbook import PortBook\n"
        "book = PortBook(sys.argv[1]); print(book.own('x'), flush=True); time.sleep(600)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as killed:
        port = int(killed.stdout.readline())
        book = PortBook(str(tmp_path))
        assert book._lock(port) is None
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    fd = book._lock(port)
    assert fd is not None
    os.close(fd)


def test_where_ports_come_from():
    usual = list(candidates(start=5, kernel=(32_768, 60_999)))
    assert set(usual) == set(range(20_000, 32_768)) - set(range(29_400, 29_700))
    assert usual[0] == 20_005
    above = list(candidates(start=0, kernel=(15_000, 50_000)))
    assert (min(above), max(above)) == (50_001, 65_535)
    assert len(list(candidates(start=0, kernel=(1_024, 65_535)))) == 65_536 - 20_000 - 300


def test_none_left(tmp_path):
    book = PortBook(str(tmp_path))
    book._candidates = iter(())
    with pytest.raises(OSError, match="no free port"):
        book.own("x")


def test_what_is_filled_in(tmp_path):
    book = PortBook(str(tmp_path))

    def fill(text, step="A", variable="V"):
        return filled(text, step=step, variable=variable, book=book)

    assert fill("{port}") == fill("{port}") != fill("{port}", variable="W") != fill("{port}", step="B")
    assert fill("http://h:{port:api}/") == fill("http://h:{port:api}/", step="B", variable="W")
    assert re.fullmatch(r"\d+,\d+", fill("{port:a},{port:b}"))
    assert fill("{ports} {port: {x}").startswith("{ports} ")
    assert fill("plain") == "plain"
    book.close()


def test_the_folder_is_ours(tmp_path, monkeypatch):
    assert runtime_folder({b"XDG_RUNTIME_DIR": os.fsencode(tmp_path)}) == f"{tmp_path}/dsec"
    assert runtime_folder({}) == f"/tmp/dsec-{os.getuid()}"
    assert runtime_folder({b"XDG_RUNTIME_DIR": b"/no/such"}) == f"/tmp/dsec-{os.getuid()}"
    monkeypatch.setattr("os.getuid", lambda: 123_456_789)
    with pytest.raises(PermissionError):
        runtime_folder({})
    os.rmdir("/tmp/dsec-123456789")


def test_two_runs_with_one_default_port_both_run(job, kit, tmp_path):
    """The frameworks' default port is one; what each run listens on is its own."""
    other = type(job)(tmp_path / "other")
    other.folder.mkdir()
    for one in (job, other):
        one.env["XDG_RUNTIME_DIR"] = str(tmp_path)
        one.save(
            kit.plan(kit.step("A", argv=[sys.executable, "-c", LISTEN], env=(("MASTER_PORT", "{port}"),)))
        )
    runs = [one.start("run", "plan.json", "--job-id", "j") for one in (job, other)]
    files = [one.run_dir / "work" / "port" for one in (job, other)]
    kit.wait_for(lambda: all(file.exists() and file.read_text() for file in files), seconds=15)
    assert len({file.read_text() for file in files}) == 2
    for run in runs:
        run.terminate()
        run.communicate(timeout=30)
    assert os.listdir(tmp_path / "dsec" / "ports") == []


def launcher(plan, folder, environ):
    run = RunDir("j", str(folder))
    return Launcher(
        plan, run, folder=str(folder), environ=environ, visible=lambda granted: {"SEEN": ",".join(granted)}
    )


def test_steps_with_gpus_get_the_port_that_frameworks_read(kit, tmp_path):
    runtime = {b"XDG_RUNTIME_DIR": os.fsencode(tmp_path)}
    step, other = kit.step("A", demand=kit.demand(gpu_count=1)), kit.step("B")
    plan = kit.plan(step, other)
    one, two = (launcher(plan, tmp_path, runtime) for _ in range(2))
    first, second = (each.environment(step, ("GPU-a",)) for each in (one, two))
    assert first[b"MASTER_PORT"] == first[b"PET_MASTER_PORT"] != second[b"MASTER_PORT"]
    assert one.environment(step, ("GPU-a",))[b"MASTER_PORT"] == first[b"MASTER_PORT"]
    assert b"MASTER_PORT" not in one.environment(other, ())
    own = launcher(plan, tmp_path, {**runtime, b"MASTER_PORT": b"1234"})
    assert own.environment(step, ("GPU-a",))[b"MASTER_PORT"] == b"1234"
    stated = step._replace(env=(("MASTER_PORT", "4321"),))
    assert one.environment(stated, ("GPU-a",))[b"MASTER_PORT"] == b"4321"
    for each in (one, two, own):
        each.close()
    assert os.listdir(tmp_path / "dsec" / "ports") == []


def test_a_step_that_gets_no_port_says_so(kit, tmp_path):
    problem = OSError(errno.EADDRNOTAVAIL, "no free port")
    assert why_not_started(problem, None) == ("cannot-start", "no free port")
