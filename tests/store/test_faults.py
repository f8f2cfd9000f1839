"""A disk that gets full, and a process that is killed, at every single effect on the disk.

Afterwards the store is right, whatever was recorded is whole, nothing is left over, and the next command
works as if nothing had been.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dsec.store import StoreProblem, open_store

from .disks import FailingDisk


def create(place, root, name, disk=None):
    with open_store(str(place), disk=disk) as store:
        tree = store.put_folder(os.fsencode(root)).id
        more = store.put_bytes(b"manifest" * 20_000)
        store.put_record(name, b"{}", trees=[tree], contents=[more])


def change(root, seed):
    (root / "weights.bin").write_bytes(bytes([seed]) * 1000 + os.urandom(150_000))
    (root / "train.py").write_bytes(b"seed = %d\n" % seed)


@pytest.fixture
def two(place, folder, tmp_path):
    """A store with two records, and what its folder looks like without them."""
    for seed in (1, 2):
        change(folder, seed)
        create(place, folder, str(seed))
    change(folder, 3)
    return place


def check(place, names):
    """All of these records are whole, and the next commands work."""
    with open_store(str(place)) as store:
        assert {one.name for one in store.records()} >= set(names)
        found = store.verify()
        assert (found.damage, found.notes) == ((), ())
        store.put_record("after", b"", trees=[], contents=[store.put_bytes(os.urandom(1000))])
        store.prune()
        assert store.verify().damage == ()
        assert store.usage().unfinished_bytes == 0


def every(run, place, copies, names):
    """Let the first effect fail, then the second, until all are done; how many that were."""
    at = 1
    while True:
        copy = copies / str(at)
        shutil.copytree(place, copy) if place.exists() else None
        disk = FailingDisk(at)
        said = "No space left"  # a cache that cannot be written costs time only
        try:
            run(copy, disk)
        except StoreProblem as problem:
            said = problem.what
        if disk.done < at:
            return at - 1
        assert "No space left" in said
        check(copy, names)
        shutil.rmtree(copy)
        at += 1


def test_the_disk_is_full_at_any_write_of_create(two, folder, tmp_path):
    count = every(lambda at, disk: create(at, folder, "3", disk), two, tmp_path / "copies", ["1", "2"])
    assert count > 12


def test_the_disk_is_full_while_a_store_is_made(folder, tmp_path):
    count = every(lambda at, disk: create(at, folder, "1", disk), tmp_path / "none", tmp_path / "copies", [])
    assert count > 18


def prune(place, disk):
    with open_store(str(place), disk=disk) as store:
        store.delete_record("1")
        store.prune()


def test_the_disk_is_full_at_any_write_of_prune(two, tmp_path):
    assert every(prune, two, tmp_path / "copies", ["2"]) > 8


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[5])
from dsec.store import open_store
from tests.store.disks import Deadly
from tests.store.test_faults import create, prune
from pathlib import Path

what, place, root, first = sys.argv[1:5]
# One interpreter for all: each try is a child of its own.
import shutil
at = int(first)
while True:
    copy = f"{place}.{at}"
    shutil.copytree(place, copy)
    child = os.fork()
    if child == 0:
        disk = Deadly(at)
        create(Path(copy), Path(root), "3", disk) if what == "create" else prune(Path(copy), disk)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(at, status, flush=True)
    if status != -signal.SIGKILL:
        break
    at += 1
"""


@pytest.mark.battery
@pytest.mark.parametrize("what", ["create", "prune"])
def test_killed_at_any_write(two, folder, what):
    here = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, what, str(two), str(folder), "1", here],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    ends = [line.split() for line in done.stdout.splitlines()]
    assert len(ends) > 8
    assert [status for _, status in ends] == [str(-signal.SIGKILL)] * (len(ends) - 1) + ["0"]
    for at, _ in ends:
        check(Path(f"{two}.{at}"), ["2"] if what == "prune" else ["1", "2"])


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.EDQUOT])
def test_other_things_that_a_disk_says(two, folder, number):
    with pytest.raises(StoreProblem, match=os.strerror(number)):
        create(two, folder, "3", FailingDisk(1, number))
    check(two, ["1", "2"])


def test_a_full_disk_that_is_a_real_one(folder, tmp_path):
    """A small disk of its own, for root; what does not fit is refused, what fits is there afterwards."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", place]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may have a disk of its own, where mounting is allowed")
    try:
        change(folder, 1)
        create(place / "store", folder, "1")
        (folder / "huge").write_bytes(os.urandom(2 << 20))
        with pytest.raises(StoreProblem, match="No space left"):
            create(place / "store", folder, "2")
        (folder / "huge").unlink()
        check(place / "store", ["1"])
    finally:
        subprocess.run(["umount", "-l", place], check=True)
