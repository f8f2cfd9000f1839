"""Whose a folder is: what others can make or change is not taken for ours.

State that is found by looking (a `.dsec` in a folder above, a cache in a shared temporary folder) decides
which commands are run and which libraries are loaded, so whoever can write to it decides as well. As with
git's safe.directory, what is not this user's is refused, and the user may allow a folder by name.
"""

from __future__ import annotations

import os
import stat

from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ALLOWED = "DSEC_SAFE_DIRECTORY"
"""Folders, with colons between them, in which everything is trusted; `*`: everywhere."""


def owners(environ: Mapping[str, str]) -> tuple[int, ...]:
    """Whose files are as good as ours: our own, root's, and those of who became root by sudo."""
    user = os.geteuid()
    caller = environ.get("SUDO_UID", "") if user == 0 else ""
    known = int(caller) if caller.isascii() and caller.isdecimal() and len(caller) < 11 else user
    return (user, 0, known)


def foreign(path: str, environ: Mapping[str, str], *, above: bool = True) -> str:
    """Why somebody else decides about what stands at `path`, or is to be made there; "": nobody does.

    `above`: somebody who can rename one of the folders above it does, too.
    """
    trusted = owners(environ)
    absolute = os.path.abspath(path)
    chains = dict.fromkeys((absolute, os.path.realpath(absolute)))
    for one in chains:
        why = _of_itself(one, trusted) or (_of_folders(one, trusted) if above else "")
        if why:
            return why
    return ""


def foreign_file(path: str, environ: Mapping[str, str]) -> str:
    """Why somebody else decides what the file `path` holds, or may put one there; "": nobody does."""
    return foreign(path, environ) or foreign(os.path.dirname(path), environ, above=False)


def is_allowed(path: str, allowed: str) -> bool:
    """Whether `path` lies in a folder of the list `allowed`, which is separated by colons."""
    real = os.path.realpath(path)
    for name in filter(None, allowed.split(":")):
        if name == "*":
            return True
        folder = os.path.realpath(os.path.expanduser(name))
        if real == folder or real.startswith(folder.rstrip("/") + "/"):
            return True
    return False


def owner_name(number: int) -> str:
    """A user as people know it."""
    import pwd  # only refusals name anybody

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid {number}"


def _of_itself(path: str, trusted: tuple[int, ...]) -> str:
    try:
        status = os.lstat(path)
    except OSError:
        return ""
    if status.st_uid not in trusted:
        return say("{path} belongs to {owner}", path=path, owner=owner_name(status.st_uid))
    if stat.S_ISLNK(status.st_mode):
        return ""  # where it leads is looked at as well
    if status.st_mode & stat.S_IWOTH and not _is_sticky(status):
        return say("everybody can write to {path}", path=path)
    if status.st_mode & stat.S_IWGRP and not _is_sticky(status) and not _is_private(status):
        return say("a group of others can write to {path}", path=path)
    return ""


def _of_folders(path: str, trusted: tuple[int, ...]) -> str:
    for folder in _above(path):
        try:
            status = os.lstat(folder)
        except OSError:
            continue
        if status.st_uid not in trusted:
            return say("{path} belongs to {owner}", path=folder, owner=owner_name(status.st_uid))
        # A group that may write to a folder above is a project's; /tmp lets nobody rename what is not his.
        if status.st_mode & stat.S_IWOTH and not _is_sticky(status) and not stat.S_ISLNK(status.st_mode):
            return say("everybody can write to {path}", path=folder)
    return ""


def _above(path: str) -> Iterator[str]:
    while path != (path := os.path.dirname(path)):
        yield path


def _is_sticky(status: os.stat_result) -> bool:
    return bool(status.st_mode & stat.S_ISVTX) and stat.S_ISDIR(status.st_mode)


def _is_private(status: os.stat_result) -> bool:
    """Whether the file's group is one that only its owner is in, as most systems give every user."""
    import grp  # few files are writable by their group
    import pwd

    try:
        group, owner = grp.getgrgid(status.st_gid), pwd.getpwuid(status.st_uid)
    except KeyError:
        return False
    others = [name for name in group.gr_mem if name != owner.pw_name]
    return not others and owner.pw_gid == group.gr_gid and group.gr_name == owner.pw_name
