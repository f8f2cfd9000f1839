"""A store that somebody else prepared: nothing is written or removed where its links lead."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from dsec.store import Damaged, StoreProblem, open_store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["packs", "records", "scratch", "cache"])
def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, name: str) -> None:
    with open_store(str(tmp_path / "store")) as store:
        store.put_bytes(b"x")
    own = tmp_path / "own"
    (tmp_path / "store" / name).rename(own)
    (own / "letter").write_text("mine")
    (tmp_path / "store" / name).symlink_to(own)
    with pytest.raises(StoreProblem, match=f"{name} is a link"):
        open_store(str(tmp_path / "store"))
    assert (own / "letter").read_text() == "mine"


@pytest.mark.parametrize("name", ["store", "lock", "records.written"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_file_that_is_a_link_or_a_pipe_is_refused(tmp_path: Path, name: str, kind: str) -> None:
    with open_store(str(tmp_path / "store")) as store:
        store.put_bytes(b"x")
    path = tmp_path / "store" / name
    path.unlink(missing_ok=True)
    own = tmp_path / "own"
    own.write_text("mine")
    path.symlink_to(own) if kind == "link" else os.mkfifo(path)
    with pytest.raises(StoreProblem, match=f"{name} is a link"):
        open_store(str(tmp_path / "store"))
    assert own.read_text() == "mine"


def test_a_record_that_is_a_pipe_or_a_device_is_damaged(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "store")) as store:
        os.mkfifo(tmp_path / "store" / "records" / "pipe")
        (tmp_path / "store" / "records" / "device").symlink_to("/dev/zero")
        for name in ("pipe", "device"):
            with pytest.raises(Damaged):
                store.get_record(name)
            assert store.is_broken(name)
            store.delete_record(name)
        assert store.verify().damage == ()
