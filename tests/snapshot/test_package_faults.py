"""A disk that gets full, and a process that is killed, at every effect of export and import.

The package of that name is the one that was there, or the whole new one; the store is right; the next
command works with nothing done by hand.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dsec.errors import DSecError
from dsec.store import open_store
from dsec.store.disk import Disk
from dsec_cli.snapshot.package import reading
from dsec_cli.snapshot.package.aside import aside_of
from dsec_cli.snapshot.package.writing import write as export
from dsec_cli.snapshot.shelf import View, find
from tests.store.disks import Deadly, FailingDisk

from .kit import write
from .shell import Shell

OLD = b"DSECSNAP an older package"
Writing = Callable[[Path, Disk], None]


@pytest.fixture
def writing(view: View, package: Path, environ: dict[str, str]) -> Writing:
    """Exports to a path, all keys being there."""

    def write(path: Path, disk: Disk) -> None:
        export(view, str(path), environ=environ, recipients=[], signed=True, disk=disk)

    return write


def in_a_child(act: Callable[[], None]) -> int:
    """Act in a process of its own; how it ended."""
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        finally:  # nothing of pytest goes on in it
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("there", [True, False])
def test_a_disk_that_gets_full_at_any_effect(writing: Writing, package: Path, there: bool) -> None:
    whole, target = package.read_bytes(), package.with_name("full.dsnap")
    for at in itertools.count(1):
        target.write_bytes(OLD) if there else target.unlink(missing_ok=True)
        disk = FailingDisk(at)
        try:
            writing(target, disk)
        except DSecError as problem:
            said = problem.what
        if disk.done < at:
            break
        assert "No space left" in said
        assert not target.with_name("full.dsnap.tmp").exists()
        if "is whole" in said:  # only that it survives a power cut is not sure
            assert target.read_bytes() == whole
        else:
            assert (target.read_bytes() == OLD) if there else not target.exists()
    assert at > 6
    assert target.read_bytes() == whole


@pytest.mark.battery
def test_killed_at_any_effect_of_an_export(writing: Writing, package: Path) -> None:
    whole, target = package.read_bytes(), package.with_name("killed.dsnap")
    ends = []
    for at in itertools.count(1):
        target.write_bytes(OLD)
        ends.append(in_a_child(lambda at=at: writing(target, Deadly(at))))  # type: ignore[misc]
        if ends[-1] != -signal.SIGKILL:
            break
        assert target.read_bytes() in (OLD, whole), at
        writing(target, Disk())
        assert target.read_bytes() == whole, at
        assert not target.with_name("killed.dsnap.tmp").exists()
    assert ends == [-signal.SIGKILL] * (len(ends) - 1) + [0]
    assert len(ends) > 6


@pytest.mark.battery
def test_killed_at_any_effect_of_an_import(package: Path, tmp_path: Path) -> None:
    ends = []
    for at in itertools.count(1):
        place = str(tmp_path / f"store-{at}")

        def act(place: str = place, at: int = at) -> None:
            with open_store(place, disk=Deadly(at)) as store, reading.opened(str(package)) as found:
                reading.take(found, store, "theirs")

        ends.append(in_a_child(act))
        if ends[-1] != -signal.SIGKILL:
            break
        imported(place, package)
    assert ends == [-signal.SIGKILL] * (len(ends) - 1) + [0]
    assert len(ends) > 18


@pytest.mark.battery
def test_a_disk_that_gets_full_at_any_effect_of_an_import(package: Path, tmp_path: Path) -> None:
    for at in itertools.count(1):
        place, disk = str(tmp_path / f"store-{at}"), FailingDisk(at)
        said = "No space left"  # a cache that cannot be written costs time only
        try:
            with open_store(place, disk=disk) as store, reading.opened(str(package)) as found:
                reading.take(found, store, "theirs")
        except DSecError as problem:
            said = problem.what
        if disk.done < at:
            break
        assert "No space left" in said
        imported(place, package)
    assert at > 18


def imported(place: str, package: Path) -> None:
    """After whatever happened, the next import works, and there is no half snapshot."""
    with open_store(place) as store:
        if "theirs" not in {one.name for one in store.records()}:
            with reading.opened(str(package)) as found:
                reading.take(found, store, "theirs")
        assert store.verify().damage == ()
        view = View(find(store, "theirs"), store)
        assert view.side("code").status == "present"
        store.prune()
        assert store.usage().unfinished_bytes == 0


def test_what_a_killed_export_left_is_used_up(writing: Writing, package: Path) -> None:
    left = package.with_name("v1.dsnap.tmp")
    left.write_bytes(b"x" * 1_000_000)
    before = package.read_bytes()
    writing(package, Disk())
    assert package.read_bytes() == before
    assert not left.exists()


def test_two_at_once_do_not_mix(writing: Writing, package: Path) -> None:
    with package.with_name("v1.dsnap.tmp").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DSecError, match="is being written by somebody else"):
            writing(package, Disk())


def test_a_file_that_became_anothers_package_is_not_written_to(
    writing: Writing, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening and locking it another export may end: the file then has the package's name."""
    aside, real, calls = package.with_name("v1.dsnap.tmp"), fcntl.flock, iter(range(9))

    def renaming(fd: int, how: int) -> None:
        if next(calls) == 0:
            aside.write_bytes(b"DSECSNAP of another")
            aside.rename(package)
        real(fd, how)

    monkeypatch.setattr("dsec_cli.snapshot.package.aside.fcntl.flock", renaming)
    with aside_of(str(package), Disk()) as file:
        file.write(b"ours")
        assert package.read_bytes() == b"DSECSNAP of another"
    assert package.read_bytes() == b"ours"


def test_pipes_and_folders_are_not_written_to(writing: Writing, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(DSecError, match="is not a package"):
            writing(tmp_path / name, Disk())


def test_a_full_disk_that_is_a_real_one(writing: Writing, package: Path, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    room = (package.stat().st_size + 5000) >> 10
    mount = ["mount", "-t", "tmpfs", "-o", f"size={room}k", "none", str(place)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may have a disk of its own, where mounting is allowed")
    try:
        writing(place / "v1.dsnap", Disk())
        with pytest.raises(DSecError, match="No space left"):
            writing(place / "second.dsnap", Disk())
        assert [one.name for one in place.iterdir()] == ["v1.dsnap"]
        assert (place / "v1.dsnap").read_bytes() == package.read_bytes()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_files_may_not_be_that_large(writing: Writing, package: Path) -> None:
    target = package.with_name("large.dsnap")

    def act() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with pytest.raises(DSecError, match="File too large"):
            writing(target, Disk())

    assert in_a_child(act) == 0
    assert not target.exists()
    assert not target.with_name("large.dsnap.tmp").exists()


@pytest.mark.battery
@pytest.mark.parametrize(
    "number",
    [
        *(pytest.param(one, marks=pytest.mark.battery) for one in (signal.SIGINT, signal.SIGTERM)),
        signal.SIGKILL,
    ],
)
def test_an_export_that_is_ended(shell: Shell, number: signal.Signals) -> None:
    """The command itself, at the moment when the file beside the package appears."""
    write(shell.project, {f"d{name}/f.txt": os.urandom(100_000).hex() for name in range(20)})
    shell.ok("snapshot create --name v1")
    shell.ok("snapshot export v1 -o whole.dsnap")
    left = shell.project / "v1.dsnap.tmp"
    running = shell.start("snapshot export v1")
    while running.poll() is None and not left.exists():
        pass
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode in (0, 130, 143, -number)
    assert "Traceback" not in said
    whole = (shell.project / "whole.dsnap").read_bytes()
    package = shell.project / "v1.dsnap"
    assert not package.exists() or package.read_bytes() == whole
    shell.ok("snapshot export v1")
    assert package.read_bytes() == whole
    assert not left.exists()
    assert "intact" in shell.ok("snapshot verify")
