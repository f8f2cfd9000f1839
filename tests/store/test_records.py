"""Documents under names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.store import Missing, NameTaken, StoreProblem, open_store
from dsec.store.records import file_of, name_of


def put(store, name, document=b"{}", **how):
    store.put_record(name, document, trees=[], contents=[], **how)


def test_a_record_comes_back(place):
    with open_store(str(place)) as store:
        content = store.put_bytes(b"x")
        store.put_record("train-finish-v2.3", b"\x00any\nbytes\n\n", trees=[], contents=[content], at_ns=7)
    with open_store(str(place)) as store:
        record = store.get_record("train-finish-v2.3")
        assert (record.document, record.trees, record.contents) == (b"\x00any\nbytes\n\n", (), (content,))
        assert record.at_ns == 7


def test_records_come_the_oldest_first(store):
    for name, at in (("b", 5), ("a", 9), ("c", 1), ("d", 5)):
        put(store, name, at_ns=at)
    assert [one.name for one in store.records()] == ["c", "b", "d", "a"]


def test_a_name_that_is_taken(store):
    put(store, "one", b"first")
    with pytest.raises(NameTaken, match="there is a snapshot named one already"):
        put(store, "one", b"second")
    assert store.get_record("one").document == b"first"
    assert [one.name for one in store.records()] == ["one"]


def test_a_record_that_is_deleted(store):
    put(store, "one")
    store.delete_record("one")
    with pytest.raises(Missing):
        store.get_record("one")
    with pytest.raises(Missing):
        store.delete_record("one")
    put(store, "one", b"again")


@pytest.mark.parametrize(
    "name",
    [
        "..",
        ".",
        ".hidden",
        "a/b",
        "/etc/passwd",
        "a b",
        "a\nb",
        "ünï",
        "快照",
        "a%2Fb",
        "\udcff",
        "-x",
        "a\0b",
    ],
)
def test_any_name_is_a_file_of_its_own(place, name):
    with open_store(str(place)) as store:
        put(store, name, name.encode("utf-8", "surrogateescape"))
        assert store.get_record(name).document == name.encode("utf-8", "surrogateescape")
        assert [one.name for one in store.records()] == [name]
    assert len(os.listdir(place / "records")) == 1
    assert not (place / "records" / "hidden").exists()


@given(st.text(min_size=1, max_size=40))
def test_names_and_files_are_one_to_one(name):
    try:
        file = file_of(name)
    except (StoreProblem, UnicodeEncodeError):
        return
    assert name_of(file) == name
    assert "/" not in file
    assert not file.startswith(".")


@pytest.mark.parametrize("name", ["", "x" * 241, "/" * 81])
def test_names_that_do_not_fit(store, name):
    with pytest.raises(StoreProblem, match="cannot be kept"):
        put(store, name)


def test_what_is_not_there_cannot_be_named(store):
    with pytest.raises(Missing, match="nothing with the id"):
        store.put_record("one", b"", trees=[], contents=["0" * 64])
    with pytest.raises(Missing, match="nothing with the id"):
        store.put_record("one", b"", trees=["0" * 64], contents=[])
    assert list(store.records()) == []


def test_a_tree_of_another_session_is_named_only_if_all_of_it_is_there(place, folder):
    with open_store(str(place)) as store:
        tree = store.put_folder(os.fsencode(folder)).id
        inner = next(one.content for one in store.tree(tree) if one.path == b"src")
        store.put_record("src", b"", trees=[inner], contents=[])
    with open_store(str(place)) as store:
        store.put_record("all", b"", trees=[tree], contents=[])
        store.delete_record("all")
        store.prune()
        with pytest.raises(Missing):
            store.put_record("again", b"", trees=[tree], contents=[])
        store.put_record("src2", b"", trees=[inner], contents=[])


RACE = """
import sys
from dsec.store import NameTaken, open_store
with open_store(sys.argv[1]) as store:
    store.put_bytes(sys.argv[2].encode() * 1000)
    sys.stdin.readline()
    try:
        store.put_record("same", sys.argv[2].encode(), trees=[], contents=[])
        print("won")
    except NameTaken:
        print("taken")
"""


def test_of_several_at_once_one_gets_the_name(place):
    with open_store(str(place)):
        pass
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(place), str(at)], stdin=-1, stdout=-1, text=True, bufsize=1
        )
        for at in range(4)
    ]
    for one in racers:
        one.stdin.write("go\n")
    said = sorted(one.communicate(timeout=60)[0].strip() for one in racers)
    assert said == ["taken", "taken", "taken", "won"]
    with open_store(str(place)) as store:
        assert len(list(store.records())) == 1
        assert store.verify().damage == ()
