"""What tells one state of a file from another."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from dsec.store.values import Facts


def facts_of(found: os.stat_result) -> Facts:
    """What says that a file is the same as before."""
    inode = found.st_ino if found.st_ino < 1 << 63 else found.st_ino - (1 << 64)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, inode, found.st_mode
