"""Where a folder lies that may not exist yet."""

from __future__ import annotations

import os


def existing(folder: str) -> str:
    """The folder, or the nearest one above it that exists."""
    path = os.path.abspath(folder)
    while not os.path.isdir(path):
        above = os.path.dirname(path)
        if above == path:
            return path
        path = above
    return path


def mounted(mountinfo: str, path: str) -> str:
    """The kind of file system that holds `path`, by /proc/self/mountinfo; "": it does not say."""
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        words, rest = before.split(), after.split()
        if len(words) < 5 or not rest:
            continue
        point = words[4].replace("\\040", " ").rstrip("/")
        if (path == point or path.startswith(f"{point}/")) and len(point) > best:
            best, kind = len(point), rest[0]
    return kind
