"""Names that are bytes, in documents that are text: the way there and back."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error

_MARK = "b64:"
_IGNORED = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff]")
"""Characters that some file systems leave out of names (HFS+)."""
_GIT = re.compile(r"(?:\.git|git~\d{1,3})(?:[ .]*|[:\\].*)", re.DOTALL)


def spelled(name: bytes) -> str:
    """`name` as text: itself where it is UTF-8, else (and where it looks like the mark) in base 64."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return _MARK + b64encode(name).decode("ascii")
    return _MARK + b64encode(name).decode("ascii") if text.startswith(_MARK) else text


def unspelled(text: str) -> bytes:
    """The bytes that `spelled` wrote."""
    if not text.startswith(_MARK):
        return text.encode("utf-8", "surrogateescape")
    try:
        return b64decode(text[len(_MARK) :], validate=True)
    except (Error, ValueError):
        return text.encode("utf-8")


def readable(name: bytes) -> str:
    """For people: bytes that are no UTF-8 are written in hexadecimal."""
    return name.decode("utf-8", "backslashreplace")


def is_repository(name: bytes) -> bool:
    """Whether git, on some system, takes a folder or file of this name for its repository.

    Case and trailing dots and spaces do not count, nor do characters that cannot be seen; `git~1` is the
    short form of `.git`, and what follows a colon or a backslash belongs to something else.
    """
    text = _IGNORED.sub("", name.decode("utf-8", "replace")).casefold()
    return any(_GIT.fullmatch(part) for part in (text, *text.split("\\")))


class Repositories:
    """Leaves repositories of git out of a folder: whoever unpacks one may run what it says."""

    def __init__(self) -> None:
        self._paths: list[bytes] = []

    def skips(self, path: bytes, _is_folder: bool) -> bool:  # the store calls it so
        """Whether this path is left out."""
        if not is_repository(path.rpartition(b"/")[2]):
            return False
        self._paths.append(path)
        return True

    def reasons(self, folder: str = "") -> list[str]:
        """What was left out, in a sentence; none where nothing was."""
        below = f"{folder}/" if folder else ""
        named = ", ".join(below + spelled(one) for one in sorted(set(self._paths))[:3])
        count = len(set(self._paths))
        return (
            [f"not taken: {named}{f' and {count - 3} more' if count > 3 else ''} (of git)"] if count else []
        )
