"""Environments, files, records and limits that nobody wants to meet."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dsec.store import Store
from dsec_cli.snapshot import installed
from dsec_cli.snapshot.diff import compare
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.sections.libraries import build_id
from dsec_cli.snapshot.sections.mounts import _mount
from tests.cli.conftest import command

from .kit import repository, scene, site, take, write
from .shell import Shell


@pytest.mark.parametrize(
    "value",
    ["", "a\nb\n\x1b[31mc", "\udcff\udcfe", "x" * (1 << 20), "日本語", "a=b=c", "\0".replace("\0", "")],
)
def test_values_of_variables(value: str, tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    environ = {"PATH": "/bin", "CUDA_ODD": value, "OTHER": value}
    one = take(scene(folder, store, state, environ=environ), "one")
    again = take(scene(folder, store, state, environ=environ), "again")
    assert one.manifest.id == again.manifest.id
    two = take(
        scene(folder, store, state, environ={**environ, "OTHER": value + "!", "CUDA_ODD": value + "!"}), "two"
    )
    assert {each.subject for each in compare(one, two)} == {"CUDA_ODD", "OTHER"}


@pytest.mark.parametrize("name", ["A B", "x" * 5000, "\udcff", "BASH_FUNC_f%%", "ключ"])
def test_names_of_variables(name: str, tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    view = take(scene(folder, store, state, environ={"PATH": "/bin", name: "1"}), "one")
    assert len(view.side("environment").data["hidden"]) == 1


RECORDS = [
    b"",
    b"\n\n,,\n",
    b"../../../etc/passwd,sha256=x,1\n/abs/olute,sha256=y,2\n",
    b'"a,b.py",md5=abc,3\n',
    b"\xff\xfe,sha256=\xff,1\n",
    b"a.py,sha256=x,1" * 10_000,
]


@pytest.mark.parametrize("record", RECORDS)
def test_records_of_packages(record: bytes, tmp_path: Path) -> None:
    info = tmp_path / "odd-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_bytes(record)
    (one,), reasons = installed.packages([str(tmp_path)])
    assert one["record"] == installed.record_digest(record)
    assert reasons == []


def test_a_record_is_the_same_in_another_order_and_place() -> None:
    own = b"a-1.dist-info/INSTALLER,sha256=p,4\n"
    one = b"a.py,sha256=x,1\nb.py,sha256=y,2\n../../bin/tool,sha256=here,3\n" + own
    two = b"b.py,sha256=y,2\r\na.py,sha256=x,1\r\n../../bin/tool,sha256=there,3\n__pycache__/a.pyc,,\n"
    assert installed.record_digest(one) == installed.record_digest(two)
    assert installed.record_digest(one) != installed.record_digest(two.replace(b"=y", b"=z"))


DIRECT = [
    b"{",
    b"[]",
    b'{"url": 3}',
    b'{"url": "x", "dir_info": 3}',
    b'{"url": "", "archive_info": {"hashes": 1}}',
    b"[" * 50_000,
]


@pytest.mark.parametrize("direct", DIRECT)
def test_direct_urls_of_packages(direct: bytes, tmp_path: Path) -> None:
    info = tmp_path / "odd-1.0.dist-info"
    info.mkdir()
    (info / "direct_url.json").write_bytes(direct)
    (one,), _ = installed.packages([str(tmp_path)])
    assert one["artifact"] is None


def test_packages_that_are_not_as_they_should_be(tmp_path: Path) -> None:
    place = site(tmp_path / "a", {"twice": "1.0"})
    site(place, {"twice": "2.0"})
    (place / "-.dist-info").mkdir()
    (place / "nothing.dist-info").write_text("a file")
    (place / "loop.dist-info").symlink_to("loop.dist-info")
    (place / "empty.egg-info").mkdir()
    found, reasons = installed.packages([str(place), str(tmp_path / "none"), str(place)])
    rows = {one["name"]: one for one in found}
    assert rows["twice"]["doubled"] == ["2.0"]
    assert "empty" not in rows
    assert len(reasons) == 1
    assert json.dumps(found)


ELVES = [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 58, b"\x7fELF\x02\x01" + b"\0" * 58, b"#!/bin/sh\n"]


@pytest.mark.parametrize("data", ELVES)
def test_files_that_are_no_libraries(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.so").write_bytes(data)
    assert build_id(str(tmp_path / "x.so")) is None
    assert build_id(str(tmp_path / "none.so")) is None


def test_a_library_has_its_build_id() -> None:
    import _ctypes

    found = build_id(_ctypes.__file__)
    assert found is None or len(bytes.fromhex(found)) >= 8


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("36 35 98:0 / /mnt rw,noatime - ext4 /dev/sda rw", {"at": "/mnt", "source": "/dev/sda"}),
        (r"1 1 0:1 / /a\040b rw - nfs4 h:/x rw,vers=4", {"at": "/a b"}),
        ("1 1 0:1 / /s rw - cifs //h/x rw,username=joe,password=hunter22", {"options": "<no hunter22>"}),
        ("1 1 0:1 / /s rw - fuse.s3 https://joe:pw12345@h/b rw", {"source": "https://h/b"}),
        ("1 1 0:1 / /proc rw - proc proc rw", None),
        ("1 1 0:1 / /tmp/test/disk rw - tmpfs tmpfs rw", None),
        ("1 1 0:1 / /tmp rw - tmpfs tmpfs rw", {"at": "/tmp"}),
        ("", None),
        ("a b c", None),
        (" - ", None),
    ],
)
def test_lines_of_mounts(line: str, wanted: dict | None, tmp_path: Path, store: Store, state: Path) -> None:
    found = _mount(scene(tmp_path, store, state), line)
    if wanted is None:
        assert found is None
        return
    assert found is not None
    if "options" in wanted:
        assert "hunter22" not in found["options"]
        assert "username=joe" in found["options"]
    else:
        assert {name: found[name] for name in wanted} == wanted


def test_a_python_that_hangs_or_lies(tmp_path: Path, store: Store, state: Path, monkeypatch) -> None:
    from dsec_cli.snapshot import interpreter

    folder = repository(tmp_path / "p", {"a.py": ""})
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setattr(interpreter, "TIMEOUT_S", 0.2)
    for script, says in (
        ("sleep 30", "did not answer"),
        ("echo 3", "could not be asked"),
        ("exit 3", "status 3"),
    ):
        (programs / "python").write_text(f"#!/bin/sh\n{script}\n")
        (programs / "python").chmod(0o755)
        found = scene(folder, store, state, environ={"PATH": f"{programs}:{os.environ['PATH']}"})
        del found.memory["python"]
        view = take(found, says.replace(" ", "-"))
        section = view.manifest.section("dependencies")
        assert section is not None
        assert section.status == "absent"
        assert says in section.reason


def test_files_that_change_while_they_are_taken(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {f"f{number}.txt": "x" * 1000 for number in range(200)})
    writer = subprocess.Popen(
        [sys.executable, "-c", _CHURN, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    try:
        for number in range(3):
            view = take(scene(folder, store, state), f"s{number}")
            section = view.manifest.section("code")
            assert section is not None
            assert section.status in ("present", "partial")
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    assert not store.verify().damage


_CHURN = """
import os, sys
os.chdir(sys.argv[1])
print("begun", flush=True)
at = 0
while True:
    at += 1
    name = f"f{at % 200}.txt"
    if at % 3 == 0 and os.path.exists(name):
        os.unlink(name)
    else:
        with open(name, "w") as file:
            file.write("y" * (at % 5000))
"""


def test_a_folder_that_goes(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "", "sub/b.py": ""})
    (folder / "sub" / "b.py").unlink()
    (folder / "sub").rmdir()
    view = take(scene(folder, store, state), "one")
    assert view.side("code").data["states"] == [["sub/b.py", "deleted"]]


def test_a_file_that_is_unreadable(tmp_path: Path, store: Store, state: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    folder = repository(tmp_path / "p", {"a.py": "", "b.py": "1"})
    (folder / "b.py").chmod(0)
    view = take(scene(folder, store, state), "one")
    section = view.manifest.section("code")
    assert section is not None
    assert section.status == "partial"
    assert "b.py" in section.reason


def test_the_store_within_the_project(tmp_path: Path) -> None:
    from dsec.store import open_store

    folder = repository(tmp_path / "p", {"a.py": ""})
    state = folder / "state"
    with open_store(str(state / "store")) as inside:
        one = take(scene(folder, inside, state), "one")
        two = take(scene(folder, inside, state), "two")
    assert one.side("code").data["files"] <= two.side("code").data["files"]


def test_data_by_hash_and_as_a_whole(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    write(folder, {"data/x.bin": "1", "data/y.bin": "2"})
    wanted = Wanted(data=("data", "data/x.bin:content", "none"))
    one = take(scene(folder, store, state, wanted=wanted), "one")
    rows = {each["path"]: each["hash"] for each in one.side("data").data["named"]}
    assert rows["none"] is None
    section = one.manifest.section("data")
    assert section is not None
    assert section.status == "partial"
    assert [label for label, _ in section.trees] == ["data-1"]
    write(folder, {"data/x.bin": "3"})
    two = take(scene(folder, store, state, wanted=wanted), "two")
    found = [each for each in compare(one, two) if each.section == "data"]
    assert [each.subject for each in found] == ["data", "data/x.bin"]
    assert all(each.cause for each in found)


def limited(number: int, value: int):
    """What a process is to do before it becomes the program."""

    def limit() -> None:
        resource.setrlimit(number, (value, value))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    return limit


@pytest.mark.battery
@pytest.mark.parametrize(("number", "value"), [(resource.RLIMIT_FSIZE, 3000), (resource.RLIMIT_NOFILE, 64)])
def test_limits_of_the_process(shell: Shell, number: int, value: int) -> None:
    write(shell.project, {f"d{number}/f{number}.txt": os.urandom(4000).hex() for number in range(150)})
    ran = subprocess.run(
        command("dsec", "snapshot", "create", "--name", "v1"),
        cwd=shell.project, env=shell.environ, stdin=subprocess.DEVNULL, timeout=60,
        capture_output=True, text=True, preexec_fn=limited(number, value), check=False,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr
    if ran.returncode:
        assert ran.returncode == 3
        assert ran.stderr.count("\n") == 1
    shell.ok("snapshot create --name v2")
    assert "intact" in shell.ok("snapshot verify")


def creating(shell: Shell) -> subprocess.Popen[str]:
    """A snapshot of files that do not compress, which takes a while."""
    write(shell.project, {f"d{name}/f.txt": os.urandom(40_000).hex() for name in range(100)})
    return subprocess.Popen(
        command("dsec", "snapshot", "create", "--name", "v1"),
        cwd=shell.project, env=shell.environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.battery
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.battery)]
)
def test_ended_again_and_again(shell: Shell, number: signal.Signals, code: int) -> None:
    """Who holds Ctrl-C down, because the first did not seem to do anything."""
    running = creating(shell)
    until = time.monotonic() + 60
    while not (shell.project / ".dsec" / "store" / "packs").exists():
        assert running.poll() is None
        assert time.monotonic() < until
        time.sleep(0.001)
    running.send_signal(number)
    while running.poll() is None:  # two at the same moment would be one
        time.sleep(0.001)
        running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode in (code, -number)
    assert "Traceback" not in said
    assert shell.ok("snapshot create --name v1")
    assert "intact: 1 snapshot" in shell.ok("snapshot verify")
    assert os.listdir(shell.project / ".dsec" / "store" / "scratch") == []


@pytest.mark.battery
def test_a_hundred_thousand_untracked_files(shell: Shell) -> None:
    for folder in range(100):
        target = shell.project / "runs" / str(folder)
        target.mkdir(parents=True)
        for number in range(1000):
            (target / f"{number}.txt").write_bytes(b"%d %d\n" % (folder, number))
    shell.ok("snapshot create --name v1")
    assert "100003 files" in shell.ok("snapshot inspect v1")
    first = resource.getrusage(resource.RUSAGE_CHILDREN)
    shell.ok("snapshot create --name v2")
    then = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert then.ru_utime + then.ru_stime < 10 + first.ru_utime + first.ru_stime
    (shell.project / "runs" / "7" / "7.txt").write_bytes(b"another\n")
    shell.ok("snapshot create --name v3")
    assert "runs/7/7.txt" in shell.ok("snapshot diff v2 v3", code=1)


@pytest.mark.battery
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.battery), signal.SIGKILL]
)
def test_ended_in_the_middle(shell: Shell, number: signal.Signals) -> None:
    running = creating(shell)
    until = time.monotonic() + 60
    while running.poll() is None and not (shell.project / ".dsec" / "store").exists():
        assert time.monotonic() < until
        time.sleep(0.001)
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode in (0, 130, 143, -number)
    assert "Traceback" not in said
    shell.ok("snapshot create --name v2")
    assert "intact" in shell.ok("snapshot verify")
