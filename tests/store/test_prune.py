"""Freeing what no record needs, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsec.store import Damaged, StoreProblem, open_store

from .conftest import facts


def keep(place, name, root, at_ns):
    with open_store(str(place)) as store:
        tree = store.put_folder(os.fsencode(root)).id
        store.put_record(name, b"{}", trees=[tree], contents=[], at_ns=at_ns)
    return tree


@pytest.fixture
def three(place, folder, tmp_path):
    """Three records, each with 400,000 bytes of its own."""
    trees = {}
    for at, name in enumerate(("one", "two", "three")):
        (folder / "weights.bin").write_bytes(os.urandom(400_000))
        (folder / "note").write_text(name)
        trees[name] = keep(place, name, folder, at)
    return trees


def test_what_records_need_stays(place, three, folder, tmp_path):
    with open_store(str(place)) as store:
        assert store.prune().records == ()
        store.delete_record("one")
        store.delete_record("two")
        freed = store.prune()
        assert freed.freed_bytes > 700_000
        assert freed.left_bytes == store.usage().stored_bytes - (place / "records" / "three").stat().st_size
        assert store.verify().damage == ()
        store.checkout(three["three"], os.fsencode(tmp_path / "out"))
    assert facts(tmp_path / "out") == facts(folder)


def test_small_packs_are_put_together_once(place, three):
    with open_store(str(place)) as store:
        assert store.usage().packs == 3
        objects = store.usage().objects
        store.prune()
        assert (store.usage().packs, store.usage().objects) == (1, objects)
        before = os.listdir(place / "packs")
        assert store.prune().packs == 0
        assert os.listdir(place / "packs") == before


def test_without_records_nothing_stays(place, three):
    with open_store(str(place)) as store:
        for name in three:
            store.delete_record(name)
        store.prune()
        assert store.usage().packs == 0
        assert os.listdir(place / "packs") == []
        assert store.get_bytes(store.put_bytes(b"still usable")) == b"still usable"


def test_what_was_freed_is_put_in_again_by_the_same_session(place):
    with open_store(str(place)) as store:
        name = store.put_bytes(b"again" * 1000)
        store.prune()
        assert name not in store
        assert store.put_bytes(b"again" * 1000) == name
        store.put_record("one", b"", trees=[], contents=[name])
    with open_store(str(place)) as store:
        assert store.get_bytes(name) == b"again" * 1000


def test_contents_that_a_record_names_stay(place):
    with open_store(str(place)) as store:
        kept, gone = store.put_bytes(b"kept" * 1000), store.put_bytes(b"gone" * 1000)
        store.put_record("one", b"", trees=[], contents=[kept])
    with open_store(str(place)) as store:
        store.prune()
        assert store.get_bytes(kept) == b"kept" * 1000
        assert gone not in store


def test_a_budget_forgets_the_oldest(place, three):
    with open_store(str(place)) as store:
        assert store.prune(budget=10_000_000).records == ()
        assert store.prune(budget=900_000).records == ("one",)
        assert store.prune(budget=0, keep=frozenset(["two"])).records == ()
        assert store.prune(budget=0).records == ("two",)
        assert [one.name for one in store.records()] == ["three"]
        assert store.usage().stored_bytes < 500_000


def test_a_record_to_keep_outlives_newer_ones(place, three):
    with open_store(str(place)) as store:
        assert store.prune(budget=0, keep=frozenset(["one"])).records == ("two",)


def test_large_files_keep_their_pieces(place, tmp_path):
    root = tmp_path / "large"
    root.mkdir()
    (root / "a").write_bytes(os.urandom(5 << 20))
    tree = keep(place, "one", root, 1)
    with (root / "a").open("r+b") as file:
        file.seek(3 << 20)
        file.write(os.urandom(100))
    second = keep(place, "two", root, 2)
    with open_store(str(place)) as store:
        store.delete_record("one")
        store.prune()
        assert store.verify().damage == ()
        [entry] = store.tree(second)
        assert b"".join(store.content(entry)) == (root / "a").read_bytes()
        assert tree not in store


def test_what_was_left_over_is_swept(place, three):
    (place / "scratch" / "left-over").write_bytes(b"x" * 1000)
    with open_store(str(place)) as store:
        assert store.usage().unfinished_bytes == 1000
        store.prune()
        assert store.usage().unfinished_bytes == 0


def test_a_record_that_cannot_be_read_stops_it(place, three):
    (place / "records" / "one").write_bytes(b"garbage")
    before = sorted(os.listdir(place / "packs"))
    with (
        open_store(str(place)) as store,
        pytest.raises(Damaged, match="the record one of the store is damaged"),
    ):
        store.prune()
    assert sorted(os.listdir(place / "packs")) == before


def test_little_free_space_frees_what_it_can(place, three, monkeypatch):
    with open_store(str(place)) as store:
        store.delete_record("one")
        real = os.statvfs(place)
        monkeypatch.setattr(
            "dsec.store.pruning.os.statvfs", lambda _: os.statvfs_result((*real[:4], 100, *real[5:]))
        )
        freed = store.prune()
        assert freed.stopped
        assert store.verify().damage == ()


def test_many_packs_and_few_descriptors(place):
    for at in range(40):
        with open_store(str(place)) as store:
            store.put_record(str(at), b"", trees=[], contents=[store.put_bytes(os.urandom(20_000))])
    few = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))\n"
    script = few + (
        "import sys; from dsec.store import open_store\n"
        "with open_store(sys.argv[1]) as store:\n"
        "    assert not store.verify().damage\n"
        "    assert len([store.get_bytes(one.contents[0]) for one in store.records()]) == 40\n"
        "    store.prune()\n"
        "    assert not store.verify().damage\n"
    )
    subprocess.run([sys.executable, "-c", script, str(place)], check=True, timeout=60)
    assert len(os.listdir(place / "packs")) == 1


HOLDER = """
import sys
from dsec.store import open_store
with open_store(sys.argv[1]) as store:
    name = store.put_bytes(b"not yet in a record" * 100)
    print("holding", flush=True)
    sys.stdin.readline()
    store.put_record("late", b"", trees=[], contents=[name])
"""


def test_nobody_prunes_while_someone_puts_in(place, three):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place)], stdin=-1, stdout=-1, text=True
    ) as holder:
        assert holder.stdout.readline() == "holding\n"
        with open_store(str(place)) as store:
            with pytest.raises(StoreProblem, match="in use by someone"):
                store.prune(wait_s=0.1)
            store.get_record("one")
        holder.communicate("go\n", timeout=30)
    with open_store(str(place)) as store:
        store.prune()
        [content] = store.get_record("late").contents
        assert store.get_bytes(content) == b"not yet in a record" * 100


def test_a_holder_that_is_killed_holds_nothing_up(place, three):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place)], stdin=-1, stdout=-1, text=True
    ) as holder:
        assert holder.stdout.readline() == "holding\n"
        holder.kill()
    with open_store(str(place)) as store:
        store.prune()
        assert store.verify().damage == ()


PUTTER = """
import os, sys
from dsec.store import open_store
for at in range(6):
    with open_store(sys.argv[1]) as store:
        tree = store.put_folder(os.fsencode(sys.argv[2])).id
        own = store.put_bytes(os.urandom(3000))
        store.put_record(f"{sys.argv[3]}.{at}", b"", trees=[tree], contents=[own])
    if at % 2:
        with open_store(sys.argv[1]) as store:
            store.delete_record(f"{sys.argv[3]}.{at}")
"""
PRUNER = """
import sys
from dsec.store import open_store
for _ in range(8):
    with open_store(sys.argv[1]) as store:
        store.prune(wait_s=30)
"""


@pytest.mark.battery
def test_many_put_in_while_one_prunes(place, folder):
    with open_store(str(place)):
        pass
    lines = [[PUTTER, str(place), str(folder), str(at)] for at in range(3)] + [[PRUNER, str(place)]]
    running = [subprocess.Popen([sys.executable, "-c", *line]) for line in lines]
    assert [one.wait(timeout=120) for one in running] == [0, 0, 0, 0]
    with open_store(str(place)) as store:
        assert len(list(store.records())) == 9
        assert store.verify().damage == ()
        store.prune()
        assert store.verify().damage == ()
        assert store.usage().unfinished_bytes == 0


def test_who_reads_goes_on_while_packs_are_replaced(place, three, folder):
    with open_store(str(place)) as reader:
        walk = reader.tree(three["three"])
        next(walk)
        with open_store(str(place)) as store:
            store.delete_record("one")
            store.prune()
        found = {entry.path: entry for entry in walk}
        data = b"".join(reader.content(found[b"weights.bin"]))
    assert data == (folder / "weights.bin").read_bytes()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("pdr"), st.integers(0, 5)), max_size=14))
def test_any_order_of_putting_deleting_and_pruning(tmp_path_factory, steps):
    base = tmp_path_factory.mktemp("any")
    held: dict[str, bytes] = {}
    with open_store(str(base / "store")) as store:
        for at, (what, number) in enumerate(steps):
            if what == "p":
                data = os.urandom(2000) + b"%d" % number * 5000
                name = f"{number}.{at}"
                store.put_record(name, b"", trees=[], contents=[store.put_bytes(data)])
                held[name] = data
            elif what == "d" and held:
                name = sorted(held)[number % len(held)]
                store.delete_record(name)
                del held[name]
            else:
                store.prune()
        for name, data in held.items():
            assert store.get_bytes(store.get_record(name).contents[0]) == data
        assert store.verify().damage == ()
