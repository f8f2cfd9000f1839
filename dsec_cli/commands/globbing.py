"""Files that a quoted pattern names: `'jobs/**/*.yaml'`, for shells and systems that do not expand it."""

from __future__ import annotations

import glob
import os


def files_like(pattern: str) -> tuple[str, ...]:
    """Files (not folders) that match, `**` standing for any number of folders; hidden ones only by name."""
    found = glob.iglob(pattern, recursive=True)
    return tuple(sorted(os.path.normpath(path) for path in found if not os.path.isdir(path)))


def matches_folders(pattern: str) -> bool:
    """Whether there is a folder that the pattern names."""
    return any(os.path.isdir(path) for path in glob.iglob(pattern, recursive=True))
