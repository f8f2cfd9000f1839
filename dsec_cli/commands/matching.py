"""Whether a file is meant by a pattern of a configuration: `legacy/**`, `*.tmp.yaml`."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def meant(file: str, patterns: Iterable[str], *, folder: str) -> str:
    """The first of `patterns`, which are relative to `folder`, that means `file`; "" when none does.

    A pattern without a slash means that name in any folder below; one with a slash is a path. `*`
    stays within one name, `**` stands for any number of folders. A folder means all that is in it.
    """
    path = os.path.relpath(os.path.abspath(file), folder or None)
    parts = path.split(os.sep)
    if parts[0] == os.pardir:
        return ""
    return next((one for one in patterns if _covers(one, parts)), "")


def _covers(pattern: str, parts: list[str]) -> bool:
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    if not wanted:
        return False
    if "/" not in pattern.rstrip("/"):
        wanted = ["**", *wanted]
    # Every place in the pattern where the path read so far may have led.
    reached = _past_stars({0}, wanted)
    for part in parts:
        if len(wanted) in reached:
            return True
        steps = [at for at in reached if wanted[at] == "**" or fnmatchcase(part, wanted[at])]
        reached = _past_stars({at if wanted[at] == "**" else at + 1 for at in steps}, wanted)
    return len(wanted) in reached


def _past_stars(reached: set[int], wanted: list[str]) -> set[int]:
    """`reached`, and what lies behind each `**`, which may stand for nothing."""
    for at in sorted(reached):
        while at < len(wanted) and wanted[at] == "**":
            at += 1
            reached.add(at)
    return reached
