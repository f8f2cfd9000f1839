"""The stat cache: nothing is read twice without need, and no change is missed."""

from __future__ import annotations

import os

import pytest

from dsec.store import Entry, intake, open_store
from dsec.store.reading import Reading


@pytest.fixture
def reads(monkeypatch):
    """Paths of the files that were read."""
    found = []
    real = Reading.file

    def spied(self, name, facts, *, folder):
        found.append(name)
        return real(self, name, facts, folder=folder)

    monkeypatch.setattr(Reading, "file", spied)
    return found


def take(place, folder, **how):
    with open_store(str(place)) as store:
        return store.put_folder(os.fsencode(folder), **how)


def test_what_did_not_change_is_not_read(place, folder, settled, reads):
    first = take(place, folder)
    assert len(reads) == first.files == 6
    reads.clear()
    again = take(place, folder)
    assert reads == []
    assert again.id == first.id
    assert (again.reused_files, again.files, again.links, again.folders) == (6, 6, 2, 4)
    assert again.size_bytes == first.size_bytes
    assert (again.new_objects, again.new_bytes) == (0, 0)


def test_only_what_changed_is_read(place, folder, settled, reads):
    take(place, folder)
    reads.clear()
    (folder / "src" / "model.py").write_bytes(b"layers = 13\n")
    changed = take(place, folder)
    assert reads == [b"model.py"]
    assert changed.reused_files == 5
    with open_store(str(place)) as store:
        found = {entry.path: entry for entry in store.tree(changed.id)}
        assert b"".join(store.content(found[b"src/model.py"])) == b"layers = 13\n"


@pytest.mark.parametrize("how", ["content", "mode", "removed", "added", "link", "renamed", "kind"])
def test_every_change_is_seen(place, folder, settled, how):
    first = take(place, folder)
    target = folder / "src" / "model.py"
    match how:
        case "content":
            target.write_bytes(b"layers = 99\n")  # of the same length
        case "mode":
            target.chmod(0o600)
        case "removed":
            target.unlink()
        case "added":
            (folder / "src" / "new").write_bytes(b"")
        case "link":
            (folder / "link").unlink()
            (folder / "link").symlink_to("src/elsewhere")
        case "renamed":
            target.rename(folder / "src" / "other.py")
        case "kind":
            target.unlink()
            target.mkdir()
    assert take(place, folder).id != first.id


def test_a_change_within_the_tick_is_seen(place, folder, reads):
    """Same size, and nothing about it may differ: only that it was too fresh to be remembered tells."""
    take(place, folder)
    reads.clear()
    take(place, folder)
    assert len(reads) == 6  # the ctime of all is of just now


def test_a_clock_that_goes_backwards_makes_us_read(place, folder, reads, monkeypatch):
    monkeypatch.setattr(intake.time, "time_ns", lambda: 1_500_000_000_000_000_000)
    take(place, folder)
    reads.clear()
    take(place, folder)
    assert len(reads) == 6


def test_a_change_of_the_ctime_alone_costs_a_read_and_nothing_else(place, folder, settled, reads):
    first = take(place, folder)
    reads.clear()
    mode = (folder / "train.py").stat().st_mode
    (folder / "train.py").chmod(0o777)
    (folder / "train.py").chmod(mode & 0o7777)
    again = take(place, folder)
    assert reads == [b"train.py"]
    assert (again.id, again.new_objects) == (first.id, 0)


def test_a_file_replaced_by_another_with_its_size_and_mtime_is_read(place, folder, settled, reads):
    take(place, folder)
    reads.clear()
    state = (folder / "train.py").stat()
    (folder / "new").write_bytes(b"#" * state.st_size)
    os.utime(folder / "new", ns=(state.st_mtime_ns, state.st_mtime_ns))
    (folder / "new").rename(folder / "train.py")
    take(place, folder)
    assert reads == [b"train.py"]


def test_named_entries_are_remembered_apart(place, folder, settled, reads):
    with open_store(str(place)) as store:
        one = store.put_tree(os.fsencode(folder), [Entry(b"train.py"), Entry(b"src/model.py")])
    reads.clear()
    with open_store(str(place)) as store:
        two = store.put_tree(os.fsencode(folder), [Entry(b"train.py"), Entry(b"src/model.py")])
    assert (two.id, reads) == (one.id, [])
    with open_store(str(place)) as store:
        three = store.put_tree(os.fsencode(folder), [Entry(b"train.py")])
        assert [one.path for one in store.tree(three.id)] == [b"train.py"]


def test_after_a_prune_only_what_is_gone_is_read(place, folder, settled, reads):
    first = take(place, folder)
    with open_store(str(place)) as store:
        store.put_record("one", b"{}", trees=[store.put_folder(os.fsencode(folder / "src")).id], contents=[])
        store.prune()
    reads.clear()
    again = take(place, folder)
    assert again.id == first.id
    assert sorted(reads) == sorted(
        set(os.listdir(os.fsencode(folder))) - {b"src", b"empty", b"link", b"broken"}
    )
    with open_store(str(place)) as store:
        store.put_record("two", b"{}", trees=[again.id], contents=[])
        assert store.verify().damage == ()


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "garbage", "gone"])
def test_a_damaged_cache_costs_time_only(place, folder, settled, reads, harm):
    first = take(place, folder)
    [cache] = (place / "cache").glob("seen-*")
    data = cache.read_bytes()
    match harm:
        case "cut":
            cache.write_bytes(data[: len(data) // 2])
        case "flip":
            cache.write_bytes(data[:200] + bytes((data[200] ^ 1,)) + data[201:])
        case "empty":
            cache.write_bytes(b"")
        case "garbage":
            cache.write_bytes(os.urandom(len(data)))
        case "gone":
            cache.unlink()
    reads.clear()
    assert take(place, folder).id == first.id
    assert len(reads) == 6


def test_a_crash_before_the_pack_is_whole_leaves_no_memory_of_it(place, folder, settled, reads):
    store = open_store(str(place))
    store.put_folder(os.fsencode(folder))
    store.__exit__(RuntimeError, RuntimeError(), None)
    reads.clear()
    taken = take(place, folder)
    assert len(reads) == 6
    with open_store(str(place)) as store:
        assert len(list(store.tree(taken.id))) == 12


def test_a_file_that_changes_while_it_is_read(place, folder, monkeypatch):
    """A log that grows with every look: what was read last is kept, and it is said that it grows."""
    log = folder / "train.log"
    log.write_bytes(b"step 1\n")
    real = os.fstat

    def growing(fd):
        with log.open("ab") as file:
            file.write(b"step\n")
        return real(fd)

    monkeypatch.setattr("dsec.store.reading.os.fstat", growing)
    with open_store(str(place)) as store:
        taken = store.put_tree(os.fsencode(folder), [Entry(b"train.log")])
        monkeypatch.undo()
        assert [(one.path, one.reason, one.kept) for one in taken.unread] == [
            (b"train.log", "changed while it was read", True)
        ]
        [entry] = store.tree(taken.id)
        assert b"".join(store.content(entry)).startswith(b"step 1\nstep\n")


def test_a_file_that_changes_once_is_read_again(place, folder, monkeypatch):
    target = folder / "train.py"
    real, once = os.fstat, [True]

    def changing(fd):
        if once and os.readlink(f"/proc/self/fd/{fd}") == str(target):
            once.clear()
            target.write_bytes(b"other content")
        return real(fd)

    monkeypatch.setattr("dsec.store.reading.os.fstat", changing)
    with open_store(str(place)) as store:
        taken = store.put_tree(os.fsencode(folder), [Entry(b"train.py")])
        assert taken.unread == ()
        [entry] = store.tree(taken.id)
        assert b"".join(store.content(entry)) == b"other content"


def test_a_file_that_becomes_a_link_or_vanishes_meanwhile(place, folder, monkeypatch):
    real = Reading.file

    def swapped(self, name, facts, *, folder):
        os.unlink(name, dir_fd=folder)
        if name == b"train.py":
            os.symlink("/etc/passwd", name, dir_fd=folder)
        return real(self, name, facts, folder=folder)

    monkeypatch.setattr(Reading, "file", swapped)
    with open_store(str(place)) as store:
        taken = store.put_tree(os.fsencode(folder), [Entry(b"train.py"), Entry(b"run.sh")])
        assert [(one.path, one.reason) for one in taken.unread] == [
            (b"run.sh", "vanished"), (b"train.py", "Too many levels of symbolic links"),
        ]  # fmt: skip
        assert list(store.tree(taken.id)) == []
