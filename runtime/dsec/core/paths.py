"""Declared paths of inputs and outputs as text: one spelling each, and which lie in which.

No file is looked at: a plan is made before there are any.
"""

from __future__ import annotations

RUN = "{run}"
EVERYTHING = (".", "..", "/", RUN)
"""Folders in which all work lies: who reads one of them does not name what others write there."""


def normal(text: str) -> str:
    """One spelling per file: `./a//x/../b/` is `a/b`, as POSIX reads it where no link leads elsewhere.

    `..` stays at the beginning, and behind `{run}`, of which nobody knows how many folders it is.
    """
    if "./" not in text and "//" not in text and text[-1:] not in ("/", ".", ""):
        return text  # `.` and `..` stand before a slash or at the end
    parts: list[str] = []
    rooted = text.startswith("/")
    for part in text.split("/"):
        if part == ".." and parts and parts[-1] != ".." and RUN not in parts[-1]:
            parts.pop()
        elif part not in ("", ".") and not (part == ".." and rooted and not parts):
            parts.append(part)
    return ("/" if rooted else "") + "/".join(parts) or "."


def covers(output: str, name: str) -> bool:
    """Whether a Step with that output writes the normal path `name`, something in it, or all around it."""
    written = normal(output)
    if written == name:
        return True
    return _within(name, written) or _within(written, name)


def _within(name: str, folder: str) -> bool:
    return folder not in EVERYTHING and name.startswith(f"{folder}/")
