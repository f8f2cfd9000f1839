"""Where zstandard is not installed: stored all the same, read all the same, and what needs it says so."""

from __future__ import annotations

import os
import sys

import pytest

from dsec.store import StoreProblem, open_store
from dsec.store.compression import Zlib, best


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)


def test_the_standard_library_takes_its_place(place, folder, without):
    assert isinstance(best(), Zlib)
    with open_store(str(place)) as store:
        tree = store.put_folder(os.fsencode(folder)).id
        store.put_record("one", b"", trees=[tree], contents=[])
    with open_store(str(place)) as store:
        assert store.verify().damage == ()
        assert len(list(store.tree(tree))) == 12
    assert store.compression == "zlib"


def test_it_reads_what_either_wrote(place, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with open_store(str(place)) as store:
        one = store.put_bytes(b"zlib " * 5000)
    monkeypatch.undo()
    with open_store(str(place)) as store:
        assert store.compression == "zstd"
        two = store.put_bytes(b"zstd " * 5000)
        assert store.get_bytes(one) == b"zlib " * 5000
        assert store.get_bytes(two) == b"zstd " * 5000
        store.put_record("one", b"", trees=[], contents=[one, two])
        assert store.verify().damage == ()


def test_what_needs_it_says_so(place, monkeypatch):
    with open_store(str(place)) as store:
        one = store.put_bytes(b"zstd " * 5000)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with open_store(str(place)) as store:
        with pytest.raises(StoreProblem, match="compressed with zstandard, which is not installed") as told:
            store.get_bytes(one)
        assert "pip install 'dsec[snapshot]'" in told.value.hint
        with pytest.raises(StoreProblem, match="zstandard"):
            store.verify()
