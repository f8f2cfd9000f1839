"""Puts new content into a user's file: whole or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import os
import stat
import sys

from dsec.errors import FileProblem
from dsec_cli.report.output import write_all
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.text import SourceText

_ANYONE_MAY_WRITE = 0o222
_RIGHTS = 0o777


def rewrite(path: str, *, old: bytes, new: bytes) -> None:
    """Replace the content of `path`, which was `old` when it was read; raises FileProblem.

    A symbolic link stays one: the file it leads to is replaced. Mode and, where the system allows
    it, owner are kept. The new content is on the disk before it takes the old one's place.
    """
    target = os.path.realpath(path)
    try:
        before = _unchanged(path, target, old)
        _replace(path, target, new, before=before)
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be written: {why}", path=path, why=system(problem)),
            hint="it is as it was; check the permissions and the space of its folder",
        ) from problem


def _unchanged(path: str, target: str, old: bytes) -> os.stat_result:
    """What the system says of the file, once it is known to hold `old` still."""
    with open(target, "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise FileProblem(
                say("{path} is no ordinary file", path=path), hint="give its text on standard input"
            )
        same = file.read(len(old) + 1) == old
    if not same:
        raise _changed(path)
    if not state.st_mode & _ANYONE_MAY_WRITE or not os.access(target, os.W_OK):
        raise FileProblem(
            say("{path} is read-only", path=path), hint="it is as it was; make it writable with: chmod u+w"
        )
    return state


def _changed(path: str) -> FileProblem:
    return FileProblem(
        say("{path} has changed since it was read", path=path), hint="it is left alone; run the command again"
    )


def _replace(path: str, target: str, new: bytes, *, before: os.stat_result) -> None:
    folder = os.path.dirname(target)
    part = os.path.join(folder, f".dsec-{os.getpid()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(part, flags, 0o600)
    except FileExistsError:
        # Left by a process of this number that was killed.
        os.unlink(part)
        descriptor = os.open(part, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:
            write_all(descriptor, new)
            os.fchmod(descriptor, _owned(descriptor, before))
            os.fsync(file.fileno())
        now = os.stat(target)
        if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
            raise _changed(path)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise
    _sync(folder)


def _owned(descriptor: int, before: os.stat_result) -> int:
    """Give the file the owner of the old one; the mode that it may then have."""
    mode = stat.S_IMODE(before.st_mode)
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) == (before.st_uid, before.st_gid):
        return mode
    try:
        os.fchown(descriptor, before.st_uid, before.st_gid)
    except PermissionError:
        # What runs as its owner must not come to run as another one.
        return mode & _RIGHTS
    return mode


def _sync(folder: str) -> None:
    """Make the new name last; some file systems cannot be asked to."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)


def to_stdout(data: bytes) -> None:
    """Write bytes to standard output as they are."""
    sys.stdout.flush()
    write_all(sys.stdout.fileno(), data)


def difference(old: SourceText, new: SourceText) -> str:
    """Both texts as a unified diff, which `patch` takes; "" when they are the same."""
    if old.data == new.data:
        return ""
    from difflib import unified_diff

    lines = unified_diff(_lines(old), _lines(new), old.name, old.name, lineterm="\n")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: SourceText) -> list[str]:
    """Lines as `patch` counts them, byte order mark included."""
    lines = text.data.decode(text.encoding, "surrogateescape").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
