"""Files beneath a folder that somebody else may have made: opened and replaced through no link.

A name inside such a folder is hostile: it may lead out by `..`, by a link anywhere on its way, or by a
hard link, and a pipe or a device in its place blocks or never ends. Every part of the name is therefore
opened by itself, relative to the one before, and none of them may be a link; checking first and opening
by the whole path afterwards would leave time to swap one of them.
"""

from __future__ import annotations

import os
import stat
from errno import ELOOP, EMFILE, EMLINK, ENAMETOOLONG, ENFILE, ENOTDIR, ENXIO

from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_OURS = (EMFILE, ENFILE, ENAMETOOLONG)


class Escape(OSError):  # it says what the name does, as the errors of the system do
    """A name leads out of its folder, or to what is no ordinary file of it; `strerror` says how."""

    def __init__(self, why: str, path: str) -> None:
        super().__init__(ELOOP, why, path)


def parts_beneath(folder: str, name: str) -> tuple[str, ...]:
    """The parts of `name`, relative to `folder` or absolute, without looking; raises Escape."""
    if "\0" in name:
        raise Escape(say("the name holds a NUL"), name)
    relative = os.path.relpath(os.path.join(folder, name), folder)
    parts = tuple(relative.split("/"))
    if parts[0] == os.pardir:
        raise Escape(say("it lies outside of {folder}", folder=folder), name)
    return () if parts == (os.curdir,) else parts


def open_beneath(folder: str, name: str) -> int:
    """A descriptor to read the regular file `name` beneath `folder`; raises OSError, Escape among them.

    A file with a second name (a hard link) is refused: the other name may be anybody's file.
    """
    *above, last = parts_beneath(folder, name) or (os.curdir,)
    at = _opened_folder(folder, above)
    try:
        descriptor = _opened(last, os.O_RDONLY, at)
    finally:
        os.close(at)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise Escape(
            say("it is no ordinary file")
            if not stat.S_ISREG(status.st_mode)
            else say("it is a hard link: the same file has another name"),
            name,
        )
    return descriptor


def read_beneath(folder: str, name: str, *, most: int = -1) -> bytes:
    """The content of the regular file `name` beneath `folder`, up to `most` bytes; raises OSError."""
    with open(open_beneath(folder, name), "rb") as file:
        return file.read(most)


def replace_beneath(folder: str, name: str, pieces: Iterable[bytes]) -> None:
    """Replace the regular file `name` beneath `folder`, or make it; raises OSError.

    The new file is made exclusively beside the old one and renamed: what stood there is never written
    to, so that a hard link takes nothing with it.
    """
    *above, last = parts_beneath(folder, name) or (os.curdir,)
    at = _opened_folder(folder, above)
    try:
        mode = _replaceable(last, at)
        _replace(last, at, pieces, mode=mode)
    finally:
        os.close(at)


def _replaceable(last: str, at: int) -> int | None:
    """The mode of the file that will be replaced; None: there is none yet."""
    try:
        status = os.stat(last, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise Escape(say("it is a symbolic link"), last)
    if not stat.S_ISREG(status.st_mode):
        raise Escape(say("it is no ordinary file"), last)
    return stat.S_IMODE(status.st_mode) & 0o777


def _replace(last: str, at: int, pieces: Iterable[bytes], *, mode: int | None) -> None:
    aside = f".dsec-{os.getpid()}-{os.urandom(4).hex()}.part"
    # 0o666 less the umask, as any program that creates a file.
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666, dir_fd=at)
    try:
        with open(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.writelines(pieces)
        os.replace(aside, last, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        os.unlink(aside, dir_fd=at)
        raise


def _opened_folder(folder: str, parts: Iterable[str]) -> int:
    """The folder reached from `folder`, which itself may be reached through links, by these parts."""
    at = os.open(folder, _FOLDER)
    for part in parts:
        try:
            below = _opened(part, os.O_DIRECTORY, at)
        finally:
            os.close(at)
        at = below
    return at


def _opened(part: str, flags: int, at: int) -> int:
    try:
        return os.open(part, flags | _NO_LINK, dir_fd=at)
    except OSError as problem:
        if problem.errno in _OURS:
            raise
        if problem.errno in (ELOOP, EMLINK) or (problem.errno == ENOTDIR and _is_link(part, at)):
            raise Escape(say("{part} is a symbolic link", part=part), part) from None
        if problem.errno == ENXIO:  # a socket
            raise Escape(say("it is no ordinary file"), part) from None
        raise


def _is_link(part: str, at: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=at, follow_symlinks=False).st_mode)
    except OSError:
        return False


def stray_target(path: str) -> str:
    """Where the link `path` leads, if that is out of the project it stands in; "" for all else.

    A clone or an unpacked archive may hold a link with the name of a file that commands write, which leads
    to a file of the user's. The project is the repository around the link, else the present folder above
    it (a home folder is no project), else the link's own folder.
    """
    if not os.path.islink(path):
        return ""
    target, folder = os.path.realpath(path), os.path.realpath(os.path.dirname(path) or os.curdir)
    return "" if _is_beneath(target, _project(folder)) else target


def _project(folder: str) -> str:
    at = folder
    while at != os.path.dirname(at):
        if os.path.lexists(f"{at}/.git"):
            return at
        at = os.path.dirname(at)
    here = os.path.realpath(os.curdir)
    homely = _is_beneath(os.path.realpath(os.path.expanduser("~")), here)
    return here if _is_beneath(folder, here) and not homely else folder


def _is_beneath(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
