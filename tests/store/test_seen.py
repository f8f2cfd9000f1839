"""The stat cache: nothing is read twice without need, and no change is missed."""

from __future__ import annotations

import os

import pytest

from dsec.store import CHANGED, Entry, descent, facts_of, intake, open_store
from dsec.store.reading import Reading


@pytest.fixture
def reads(monkeypatch):
    """Paths of the files that were read."""
    found = []
    real = Reading.file

    def spied(self, name, facts, **more):
        found.append(name)
        return real(self, name, facts, **more)

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

    def swapped(self, name, facts, *, folder, exact):
        os.unlink(name, dir_fd=folder)
        if name == b"train.py":
            os.symlink("/etc/passwd", name, dir_fd=folder)
        return real(self, name, facts, folder=folder, exact=exact)

    monkeypatch.setattr(Reading, "file", swapped)
    with open_store(str(place)) as store:
        taken = store.put_tree(os.fsencode(folder), [Entry(b"train.py"), Entry(b"run.sh")])
        assert [(one.path, one.reason) for one in taken.unread] == [
            (b"run.sh", "vanished"), (b"train.py", "Too many levels of symbolic links"),
        ]  # fmt: skip
        assert list(store.tree(taken.id)) == []


def looked_at(folder, *names):
    """Entries as whoever lists files makes them: with what they look like now."""
    return [
        Entry(name, "file", facts_of(os.lstat(os.path.join(os.fsencode(folder), name)))) for name in names
    ]


NAMES = (b"train.py", b"run.sh", b"src/model.py", b"src/deep/er/none", b"link")


@pytest.fixture
def opens(monkeypatch):
    """Folders that were opened."""
    found = []
    real = descent.Folder.reach

    def spied(self):
        found.append(self)
        return real(self)

    monkeypatch.setattr(descent.Folder, "reach", spied)
    return found


def fresh(tmp_path, folder, names):
    """The tree of a store that remembers nothing and looks itself."""
    with open_store(str(tmp_path / f"fresh-{len(os.listdir(tmp_path))}")) as store:
        return store.put_tree(os.fsencode(folder), [Entry(name) for name in names], times=False)


def test_what_was_looked_at_and_did_not_change_is_not_even_opened(
    place, folder, settled, reads, opens, tmp_path
):
    (folder / "src" / "deep" / "er").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "deep" / "er" / "none").touch()
    with open_store(str(place)) as store:
        one = store.put_tree(os.fsencode(folder), looked_at(folder, *NAMES), times=False)
        store.put_record("one", b"", trees=[one.id], contents=[])
    wanted = fresh(tmp_path, folder, NAMES)
    opens.clear()
    reads.clear()
    with open_store(str(place)) as store:
        two = store.put_tree(os.fsencode(folder), looked_at(folder, *NAMES), times=False)
    assert (opens, reads) == ([], [])
    assert one.id == two.id == wanted.id
    fields = ("files", "folders", "links", "size_bytes")
    assert [getattr(two, each) for each in fields] == [getattr(wanted, each) for each in fields]
    assert (two.reused_files, two.new_objects) == (4, 0)


CHANGES = {
    "content": lambda folder: (folder / "src" / "model.py").write_bytes(b"layers = 99\n"),
    "mode": lambda folder: (folder / "train.py").chmod(0o600),
    "mode of a folder": lambda folder: (folder / "src").chmod(0o700),
    "link": lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("elsewhere")),
    "another folder": lambda folder: (
        (folder / "src").rename(folder / "old"),
        (folder / "src").mkdir(),
        *(each.rename(folder / "src" / each.name) for each in list((folder / "old").iterdir())),
    ),
    "nothing": lambda folder: (folder / "notes.new").write_bytes(b"not named"),
}


@pytest.mark.parametrize(("first", "second"), [*zip(CHANGES, reversed(CHANGES), strict=True)])
def test_what_was_looked_at_is_taken_as_it_would_be_by_a_store_that_looks(
    place, folder, settled, tmp_path, first, second
):
    names = [name for name in NAMES if os.path.lexists(os.path.join(os.fsencode(folder), name))]
    for change in ("nothing", first, "nothing", second, "nothing"):
        CHANGES[change](folder)
        with open_store(str(place)) as store:
            one = store.put_tree(os.fsencode(folder), looked_at(folder, *names), times=False)
        assert one.id == fresh(tmp_path, folder, names).id, change


@pytest.mark.parametrize("times", [True, False])
def test_names_that_go_and_come_are_seen(place, folder, settled, times):
    found = []
    for names in (NAMES[:3], NAMES[:2], NAMES[1:3], NAMES[:3]):
        with open_store(str(place)) as store:
            found.append(store.put_tree(os.fsencode(folder), looked_at(folder, *names), times=times).id)
    assert found[0] == found[3]
    assert len(set(found)) == 3


def test_a_file_that_was_fresh_when_it_was_looked_at_is_read_again(place, folder, reads):
    """Same size, and nothing about it may differ: only that it was too fresh to be remembered tells."""
    for _ in range(2):
        reads.clear()
        with open_store(str(place)) as store:
            store.put_tree(os.fsencode(folder), looked_at(folder, b"train.py", b"src/model.py"), times=False)
        assert reads == [b"model.py", b"train.py"]


def test_a_file_that_changed_since_it_was_looked_at_is_taken_as_it_is_and_read_again(
    place, folder, settled, reads
):
    entries = looked_at(folder, b"train.py")
    (folder / "train.py").write_bytes(b"another, and longer than it was before it was looked at\n" * 20)
    with open_store(str(place)) as store:
        one = store.put_tree(os.fsencode(folder), entries)
        (entry,) = store.tree(one.id)
        assert b"".join(store.content(entry)) == (folder / "train.py").read_bytes()
    reads.clear()
    with open_store(str(place)) as store:
        assert store.put_tree(os.fsencode(folder), looked_at(folder, b"train.py")).id == one.id
    assert reads == [b"train.py"]


def test_what_is_gone_from_the_store_is_read_again_whatever_it_looks_like(place, folder, settled, reads):
    entries = looked_at(folder, b"train.py", b"src/model.py")
    with open_store(str(place)) as store:
        one = store.put_tree(os.fsencode(folder), entries)
    with open_store(str(place)) as store:
        store.prune()
    reads.clear()
    with open_store(str(place)) as store:
        two = store.put_tree(os.fsencode(folder), entries)
        store.put_record("two", b"", trees=[two.id], contents=[])
        assert not store.verify().damage
    assert (two.id, reads) == (one.id, [b"model.py", b"train.py"])


def test_a_folder_that_became_a_link_is_not_looked_through(place, folder, settled, tmp_path):
    names = (b"train.py", b"src/model.py")
    with open_store(str(place)) as store:
        store.put_tree(os.fsencode(folder), looked_at(folder, *names))
    (folder / "src").rename(tmp_path / "away")
    (folder / "src").symlink_to(tmp_path / "away")
    with open_store(str(place)) as store:
        taken = store.put_tree(os.fsencode(folder), looked_at(folder, *names))
        assert [(one.path, one.kind) for one in store.tree(taken.id)] == [
            (b"src", "link"), (b"train.py", "file"),
        ]  # fmt: skip
    assert [one.reason for one in taken.unread] == ["a folder when it was named, now something else"]


def test_what_is_not_as_it_was_seen_is_not_taken_in_where_it_is_to_be_exact(place, folder):
    entries = looked_at(folder, *NAMES)
    (folder / "train.py").write_bytes(b"other content")
    with open_store(str(place)) as store:
        one = store.put_tree(os.fsencode(folder), entries, exact=0)
        assert (one.files, one.unread) == (len(NAMES) - 1, ())  # it is larger, and one is a link
        two = store.put_tree(os.fsencode(folder), entries, exact=1 << 20)
        assert [(one.path, one.reason, one.kept) for one in two.unread] == [(b"train.py", CHANGED, False)]
        assert two.files == len(NAMES) - 2
