"""Folders that no walk may get lost in: a million names, links in a circle, another file system within."""

from __future__ import annotations

import os
import resource
import subprocess
import time

import pytest

from dsec.store import trees
from dsec.store.packform import TREE


def test_links_in_a_circle_are_not_followed(store, tmp_path):
    root = tmp_path / "loop"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "up").symlink_to("..")
    (root / "self").symlink_to("self")
    (root / "a" / "root").symlink_to(root)
    found = store.put_folder(os.fsencode(root))
    assert (found.files, found.folders, found.links, found.unread) == (0, 2, 3, ())
    assert store.checkout(found.id, os.fsencode(tmp_path / "out")).links == 3


def test_another_file_system_is_not_entered(store, tmp_path):
    place = tmp_path / "p" / "mounted"
    place.mkdir(parents=True)
    (tmp_path / "p" / "file").write_text("x")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", place]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount, where that is allowed")
    try:
        (place / "inner").write_text("not ours")
        found = store.put_folder(os.fsencode(tmp_path / "p"))
        assert [(one.path, one.reason) for one in found.unread] == [(b"mounted", "on another file system")]
        assert [one.path for one in store.tree(found.id)] == [b"file", b"mounted"]
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.battery
def test_a_million_names_in_one_folder(store):
    """A tree that somebody sends: read, compared and listed in time and memory that grow with it, no more."""
    one = bytes.fromhex(store.put_bytes(b""))
    rows = [(b"%07d" % at, trees.FILE, 0o644, 0, 0, one, b"") for at in range(1_000_000)]
    data = trees.encoded(rows)
    other = trees.encoded([*rows[:-1], (b"last", trees.FILE, 0o644, 0, 0, one, b"")])
    with store._putting():
        tree, changed = (store._objects.put(text, TREE).hex() for text in (data, other))
    del rows
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    assert sum(1 for _ in store.tree(tree)) == 1_000_000
    assert len(list(store.diff(tree, changed))) == 2
    assert time.process_time() - start < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 3 << 20
