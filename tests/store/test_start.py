"""Putting in what did not change is mostly the start of Python: nothing is imported for other work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUT = """
import sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
from dsec.store import open_store
with open_store(sys.argv[2]) as store:
    tree = store.put_folder(sys.argv[3].encode())
    store.put_record(sys.argv[4], b"{}", trees=[tree.id], contents=[])
print(tree.new_objects, *sorted(set(sys.modules) - before))
"""
NEEDLESS = {
    "array", "collections", "contextlib", "functools", "zlib", "zstandard", "dsec.store.checkout",
    "dsec.store.compression", "dsec.store.packwriter", "dsec.store.portable", "dsec.store.sweeping",
    "dsec.store.treewalk", "dsec.store.verifying",
}  # fmt: skip


def _put(store: Path, tree: Path, name: str) -> tuple[int, set[str]]:
    """How many objects were new, and what was imported."""
    argv = [sys.executable, "-c", PUT, str(ROOT / "runtime"), str(store), str(tree), name]
    count, *modules = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    return int(count), set(modules)


def test_what_did_not_change_needs_neither_compression_nor_reading(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "large").write_bytes(bytes(range(256)) * 8192)
    count, modules = _put(tmp_path / "store", tmp_path / "tree", "first")
    assert count > 1
    assert {"dsec.store.compression", "dsec.store.packwriter"} <= modules
    count, modules = _put(tmp_path / "store", tmp_path / "tree", "second")
    assert count == 0
    assert not NEEDLESS & modules
