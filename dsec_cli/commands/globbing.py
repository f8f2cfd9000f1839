"""Files that a quoted pattern names: `'jobs/**/*.yaml'`, for shells and systems that do not expand it.

`**` enters no folder through a link, as shells do: with two links back to the top, `glob` would walk
more paths than any machine can count.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ANY_DEPTH = "**"
_SIGNS = frozenset("*?[")


def files_like(pattern: str) -> tuple[str, ...]:
    """Files (not folders) that match, `**` standing for any number of folders; hidden ones only by name."""
    found = {os.path.normpath(path) for path in _matching(pattern) if path and not os.path.isdir(path)}
    return tuple(sorted(found))


def matches_folders(pattern: str) -> bool:
    """Whether there is a folder that the pattern names."""
    return any(os.path.isdir(path) for path in _matching(pattern))


def _matching(pattern: str) -> set[str]:
    """Every path that matches; "" is the current folder."""
    here = {"/" if pattern.startswith("/") else ""}
    parts = [part for part in pattern.split("/") if part]
    for part in parts:
        if part == _ANY_DEPTH:
            here = set(_folders(here))
        elif _SIGNS.isdisjoint(part):
            here = {path for one in here if os.path.lexists(path := os.path.join(one, part))}
        else:
            here = {one.path for folder in here for one in _entries(folder, part)}
    if parts and parts[-1] == _ANY_DEPTH:
        here |= {one.path for folder in here for one in _entries(folder, "*")}
    return {path for path in here if os.path.isdir(path)} if pattern.endswith("/") else here


def _folders(tops: set[str]) -> Iterator[str]:
    """The folders themselves, and all below them that no link leads to."""
    waiting, seen = list(tops), set(tops)
    while waiting:
        folder = waiting.pop()
        if folder and not os.path.isdir(folder):
            continue
        yield folder
        inside = {one.path for one in _entries(folder, "*") if one.is_dir(follow_symlinks=False)} - seen
        seen |= inside
        waiting += inside


def _entries(folder: str, part: str) -> list[os.DirEntry[str]]:
    """What a folder holds that one part of a pattern means; nothing where it cannot be looked into."""
    try:
        with os.scandir(folder or ".") as found:
            names = [one for one in found if fnmatchcase(one.name, part)]
    except OSError:
        return []
    return [one for one in names if part.startswith(".") or not one.name.startswith(".")]
