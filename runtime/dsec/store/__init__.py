"""Content-addressed store: files and trees by the hash of what they hold, and named records.

    with open_store("/home/me/.local/share/dsec/store") as store:
        tree = store.put_tree(b"/home/me/project", [Entry(b"train.py")])
        store.put_record("first", b"{...}", trees=[tree.id], contents=[])

What is put in is safe from `prune` from the first `put_...` to the end of the `with`, and
afterwards if a record names it (`trees=`, `contents=`). `docs/reference/store.md` has the format.
"""

from __future__ import annotations

from dsec.store.facts import facts_of
from dsec.store.store import Store, open_store
from dsec.store.values import (
    CHANGED,
    Beside,
    Change,
    Damage,
    Damaged,
    Entry,
    Missing,
    NameTaken,
    Pruned,
    Record,
    Report,
    StoreProblem,
    Tree,
    TreeEntry,
    Unread,
    Usage,
    Verification,
)

__all__ = [
    "CHANGED",
    "Beside",
    "Change",
    "Damage",
    "Damaged",
    "Entry",
    "Missing",
    "NameTaken",
    "Pruned",
    "Record",
    "Report",
    "Store",
    "StoreProblem",
    "Tree",
    "TreeEntry",
    "Unread",
    "Usage",
    "Verification",
    "facts_of",
    "open_store",
]
