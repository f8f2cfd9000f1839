"""A name that is taken says the way out, and a record that is damaged or gone can be forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dsec.store import Damaged, Missing, Store, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from .shell import Shell


def _store(folder: Path) -> Store:
    store = open_store(str(folder / "store"))
    for name in ("one", "two"):
        store.put_record(name, name.encode(), trees=(), contents=())
    return store


def test_a_record_that_is_gone_is_forgotten_by_its_name(tmp_path: Path) -> None:
    with _store(tmp_path) as store:
        (tmp_path / "store" / "records" / "one").unlink()
        assert store.is_broken("one")
        assert not store.is_broken("two")
        assert len(store.verify().damage) == 1
        store.delete_record("one")
        assert not store.is_broken("one")
        assert store.verify().damage == ()
        with pytest.raises(Missing):
            store.delete_record("one")


@pytest.mark.parametrize("content", [b"", b"junk", b"dsec.record 1 " + b"0" * 64 + b"\nat 1\n"])
def test_a_damaged_record_is_forgotten_by_its_name(tmp_path: Path, content: bytes) -> None:
    with _store(tmp_path) as store:
        (tmp_path / "store" / "records" / "one").write_bytes(content)
        assert store.is_broken("one")
        with pytest.raises(Damaged, match="damaged"):
            store.get_record("one")
        store.delete_record("one")
        assert store.verify().damage == ()


def test_a_taken_name_and_a_damaged_snapshot_name_the_way_out(shell: Shell) -> None:
    shell.ok("snapshot create --name s1")
    again = shell("snapshot create --name s1")
    assert again.returncode == 2
    assert "there is a snapshot named s1 already" in again.stderr
    assert "dsec snapshot prune s1" in again.stderr
    (shell.project / ".dsec" / "store" / "records" / "s1").write_bytes(b"junk")
    assert "dsec snapshot prune s1" in shell("snapshot list").stderr
    assert "forgotten: s1" in shell.ok("snapshot prune s1")
    shell.ok("snapshot create --name s1")
