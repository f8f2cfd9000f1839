"""A store that is not as it was written: found by default, named, and whose snapshots it harms."""

from __future__ import annotations

import os

import pytest

from dsec.errors import DSecError
from dsec.store import Damaged, Missing, StoreProblem, open_store
from dsec.store.packs import open_pack


@pytest.fixture
def kept(place, folder):
    """A store with two records, each with a pack of its own."""
    (folder / "weights.bin").write_bytes(os.urandom(300_000))
    other = folder.parent / "other"
    other.mkdir()
    (other / "data").write_bytes(b"something else " * 400)
    for name, root in (("first", folder), ("second", other)):
        with open_store(str(place)) as store:
            store.put_record(
                name, b'{"name": 1}', trees=[store.put_folder(os.fsencode(root)).id], contents=[]
            )
    return place


def flip(path, at, bit=0):
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def verify(place, **how):
    with open_store(str(place)) as store:
        return store.verify(**how)


def test_a_store_that_is_right(kept):
    found = verify(kept)
    assert (found.packs, found.records, found.damage, found.notes) == (2, 2, (), ())
    assert found.objects > 8
    assert found.read_bytes > 300_000
    assert verify(kept, quick=True).damage == ()


def test_every_region_of_every_pack(kept):
    """Header, first and last byte of each frame, each table, trailer."""
    tried = 0
    for path in sorted((kept / "packs").iterdir()):
        pack = open_pack(str(path))
        os.close(pack.fd)
        frames = pack.tables.frames
        size = path.stat().st_size
        places = {*range(16), *range(size - 56, size), size - 60, size - 120}
        places |= {frame.offset for frame in frames} | {frame.offset + frame.stored - 1 for frame in frames}
        places |= {frame.offset + frame.stored // 2 for frame in frames}
        places.add(frames[-1].offset + frames[-1].stored + 5)
        for at in sorted(places):
            flip(path, at)
            damage = verify(kept).damage
            assert damage, f"byte {at} of {size}"
            assert damage[0].file == f"packs/{path.name}"
            assert {name for one in damage for name in one.records}, f"byte {at} harms nobody"
            flip(path, at)
            tried += 1
    assert tried > 140
    assert verify(kept).damage == ()


def test_a_difference_reads_nothing_that_is_not_as_it_was_written(kept):
    """Of packs that the index knows only frames are read: whatever byte is wrong, it is told or not read."""
    with open_store(str(kept)) as store:
        two = [store.get_record(name).trees[0] for name in ("first", "second")]
        right = list(store.diff(*two))
    told = []
    for path in sorted((kept / "packs").iterdir()):
        size = path.stat().st_size
        for at in {*range(0, size, max(1, size // 60)), *range(size - 56 - 3 * 36, size)}:
            flip(path, at)
            try:
                with open_store(str(kept)) as store:
                    assert list(store.diff(*two)) == right, at
            except (Damaged, StoreProblem) as problem:
                told.append((path.name, str(problem)))
            flip(path, at)
    assert len(told) > 100
    assert all(name in problem for name, problem in told)


def test_the_snapshots_that_are_hit_and_no_other(kept):
    with open_store(str(kept)) as store:
        by_name = {name: store.get_record(name).trees[0] for name in ("first", "second")}
        content = next(one.content for one in store.tree(by_name["second"]))
    for path in (kept / "packs").iterdir():
        pack = open_pack(str(path))
        os.close(pack.fd)
        if bytes.fromhex(content) in pack.tables.objects:
            flip(path, pack.tables.frames[0].offset)
    [damage] = verify(kept).damage
    assert damage.records == ("second",)
    assert content in damage.objects
    assert "frame 0" in damage.what
    with open_store(str(kept)) as store:
        with pytest.raises(Damaged, match="damaged"):
            store.get_bytes(content)
        assert len(list(store.tree(by_name["first"]))) == 12


def test_quick_looks_at_tables_only(kept):
    path = next((kept / "packs").iterdir())
    flip(path, 20)
    assert verify(kept, quick=True).damage == ()
    assert verify(kept).damage
    flip(path, 20)
    flip(path, path.stat().st_size - 10)
    assert verify(kept, quick=True).damage


def test_every_byte_of_a_record(kept):
    path = kept / "records" / "first"
    for at in range(path.stat().st_size):
        flip(path, at, at % 8)
        damage = verify(kept, quick=True).damage
        assert [(one.file, one.records) for one in damage] == [("records/first", ("first",))], at
        with open_store(str(kept)) as store, pytest.raises(DSecError):
            store.get_record("first")
        flip(path, at, at % 8)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_truncated_files(kept, share):
    for path in [*(kept / "packs").iterdir(), *(kept / "records").iterdir()]:
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])
        damage = verify(kept).damage
        assert damage
        assert path.name in damage[0].file
        path.write_bytes(data)


def test_trailing_garbage(kept):
    path = next((kept / "packs").iterdir())
    path.write_bytes(path.read_bytes() + b"x")
    assert path.name in verify(kept).damage[0].file


def test_a_pack_that_is_gone(kept):
    with open_store(str(kept)) as store:
        tree = store.get_record("second").trees[0]
    for path in (kept / "packs").iterdir():
        pack = open_pack(str(path))
        os.close(pack.fd)
        if bytes.fromhex(tree) in pack.tables.objects:
            path.unlink()
    [damage] = verify(kept).damage
    assert damage.records == ("second",)
    assert tree in damage.objects
    with open_store(str(kept)) as store, pytest.raises(Missing):
        list(store.tree(tree))


def test_what_is_put_in_again_heals_a_lost_pack(kept, folder):
    for path in (kept / "packs").iterdir():
        flip(path, path.stat().st_size - 1)
    with open_store(str(kept)) as store, pytest.raises(Damaged, match="nothing was freed"):
        store.prune()
    assert {name for one in verify(kept).damage for name in one.records} == {"first", "second"}
    with open_store(str(kept)) as store:
        store.put_folder(os.fsencode(folder))
        store.put_folder(os.fsencode(folder.parent / "other"))
    assert all(not one.records for one in verify(kept).damage)
    with open_store(str(kept)) as store:
        store.prune()
    assert verify(kept).damage == ()


@pytest.mark.parametrize("harm", [b"", b"DSECIDX1", os.urandom(5000)])
def test_a_damaged_index_costs_time_only(place, harm):
    for at in range(4):
        with open_store(str(place)) as store:
            name = store.put_bytes(b"%d" % at)
    assert (place / "cache" / "index").exists()
    (place / "cache" / "index").write_bytes(harm)
    with open_store(str(place)) as store:
        assert store.get_bytes(name) == b"3"
        assert store.verify().damage == ()
    data = place / "cache" / "index"
    data.unlink()
    with open_store(str(place)) as store:
        assert store.get_bytes(name) == b"3"


def test_other_files_in_the_way(kept):
    (kept / "packs" / "readme").write_text("x")
    (kept / "records" / ".hidden").write_text("x")
    found = verify(kept)
    assert found.damage == ()
    assert found.notes == ("packs/readme is not a pack, and is not looked at",)


def test_a_store_of_a_newer_version(kept):
    (kept / "store").write_bytes(b"dsec.store 2\n")
    with pytest.raises(StoreProblem, match="newer version of DSec"):
        open_store(str(kept))


@pytest.mark.parametrize("form", [b"", b"dsec.store", b"dsec.store x\n", b"dsec.store 0\n", b"\xff" * 64])
def test_what_is_no_store(kept, form):
    (kept / "store").write_bytes(form)
    with pytest.raises(StoreProblem, match="not the beginning of a store"):
        open_store(str(kept))


def test_a_record_of_a_newer_version(kept):
    path = kept / "records" / "first"
    path.write_bytes(path.read_bytes().replace(b"dsec.record 1", b"dsec.record 2", 1))
    with open_store(str(kept)) as store, pytest.raises(StoreProblem, match="newer version"):
        store.get_record("first")


def test_a_folder_that_is_something_else(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"")
    with pytest.raises(StoreProblem, match=r"holds cat\.jpg, and is not a store"):
        open_store(str(tmp_path / "photos"))
    with pytest.raises(StoreProblem, match="is not a folder"):
        open_store(str(tmp_path / "photos" / "cat.jpg"))
    with pytest.raises(Missing, match="there is no store"):
        open_store(str(tmp_path / "none"), create=False)
    assert not (tmp_path / "none").exists()


def test_a_store_whose_making_was_interrupted(tmp_path):
    (tmp_path / "store" / "packs").mkdir(parents=True)
    (tmp_path / "store" / "lock").write_bytes(b"")
    with open_store(str(tmp_path / "store")) as store:
        assert store.get_bytes(store.put_bytes(b"x")) == b"x"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_may_not_be_written_can_be_read(kept, tmp_path):
    for base, folders, files in os.walk(kept):
        for name in (*files, *folders):
            os.chmod(os.path.join(base, name), 0o500)
    os.chmod(kept, 0o500)
    try:
        with open_store(str(kept)) as store:
            tree = store.get_record("first").trees[0]
            assert store.verify().damage == ()
            assert store.checkout(tree, os.fsencode(tmp_path / "out")).files == 6
            store.put_bytes(b"new")
            with pytest.raises(StoreProblem, match="Permission denied"):
                store.close()
    finally:
        for base, folders, _ in os.walk(kept):
            for name in (*folders, "."):
                os.chmod(os.path.join(base, name), 0o700)
