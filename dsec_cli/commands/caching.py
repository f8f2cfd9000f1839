"""Leaves the answer of a lint with the cache (see `cached`), or leaves it be, without a word."""

from __future__ import annotations

import os
import sys

from dsec_cli.commands.cached import (
    DAY_S,
    DIGEST,
    HEAD,
    MOST_BYTES,
    Ticket,
    contents,
    packed,
    private,
    sealed,
    state,
    survey,
)
from dsec_cli.commands.configuring import OWN, SHARED
from dsec_cli.commands.sources import BESIDE, NAMES, STDIN
from dsec_cli.commands.tabled import names as tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    States = list[tuple[str, tuple[int, ...]]]

MOST_ENTRIES = 512
MOST_TOTAL = 32 * 2**20
"""Entries and bytes that the folder holds after a clearing."""
CLEARED_EVERY = 16
"""One store in so many looks after the folder's size."""
_SETTLED_NS = 50_000_000
"""A file that changed later than this before the lint began may have changed again since it was read."""
_LIBRARIES = ("site-packages", "dist-packages")


def keep(
    ticket: Ticket, out: bytes, code: int, *, tried: Iterable[str] = (), until_s: int | None = None
) -> bool:
    """Store an answer; `tried` are names at which something was looked for, `until_s` when it expires.

    False: it was not stored, because it could not be, or because nobody could tell later whether it
    still holds.
    """
    if ticket.spoilt or len(out) > MOST_BYTES // 2:
        return False
    try:
        ours = _program_folders()
        files, states = _inputs(ticket, ours)
        program = _program(ticket, ours)
        # Whether a file stands where one was read is seen when it is read again.
        looked = {os.path.abspath(path) for path in tried}.difference(files)
        states += [(path, state(path)) for path in sorted(looked)]
        payload = packed(
            (ticket.key, until_s, (program, survey(program)), (files, contents(files)), states, out, code)
        )
        _write(ticket, HEAD + sealed(payload).encode() + payload)
        if ticket.began_ns // 1000 % CLEARED_EVERY == 0:
            clear(ticket.folder)
    except (OSError, ValueError):
        return False
    return True


def _program_folders() -> tuple[str, str]:
    """The folders of our two packages."""
    import dsec

    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return own, os.path.abspath(next(iter(dsec.__path__)))


def _program(ticket: Ticket, ours: tuple[str, ...]) -> list[str]:
    """Modules and data of ours that the lint has used, and their folders; raises ValueError as `_at_rest`."""
    used = {path for _, path, _ in _module_files()}
    used.update(os.path.abspath(path) for path in ticket.opened if not path.endswith(".pyc"))
    found = sorted(path for path in used if _ours(path, ours))
    for path in found:
        _at_rest(path, ticket)
    # A file that is added to a folder may be a rule.
    return sorted({os.path.dirname(path) for path in found}) + found


def _at_rest(path: str, ticket: Ticket) -> None:
    """Raise ValueError where a file is gone, or may have changed since the lint read it."""
    if not os.path.exists(path) or os.stat(path).st_ctime_ns > ticket.began_ns - _SETTLED_NS:
        raise ValueError(path)


def _inputs(ticket: Ticket, ours: tuple[str, ...]) -> tuple[list[str], States]:
    """What the lint has read, files by their names; raises ValueError where one is not at rest."""
    known, strange, libraries = _modules(ours)
    files: list[str] = []
    opened = {os.path.abspath(path) for path in ticket.opened} - known
    for path in sorted(opened | strange):
        if _ours(path, ours):
            continue
        _at_rest(path, ticket)
        files.append(path)
    searched = {os.path.abspath(path) for path in sys.path}
    searched.update(os.path.dirname(path) for path in known)
    listed = {os.path.abspath(path) for path in ticket.listed} - searched
    close = [*libraries, *sorted(path for path in listed if not _ours(path, ours))]
    return files, [(path, state(path, closely=True)) for path in close]


def _modules(ours: tuple[str, ...]) -> tuple[set[str], set[str], list[str]]:
    """Files of modules: those that only an installation changes, all others, and compiled libraries."""
    known: set[str] = set()
    strange: set[str] = set()
    libraries: list[str] = []
    standard = os.path.dirname(os.path.abspath(os.__file__))
    for name, path, compiled in _module_files():
        installed = path.startswith(standard + os.sep) or any(part in path for part in _LIBRARIES)
        if installed or _ours(path, ours):
            known.update((path, compiled))
        elif name != "__main__":
            strange.add(path)
        if installed and not path.endswith(".py") and not path.startswith(standard + os.sep):
            libraries.append(path)
    return known, strange, sorted(set(libraries))


def _module_files() -> Iterator[tuple[str, str, str]]:
    """Name, file and compiled file of every module that has a file."""
    module_type = type(sys)
    for module in list(sys.modules.values()):
        # Looking into a module like this does not wake one that waits to be executed.
        about = vars(module) if isinstance(module, module_type) else {}
        path = about.get("__file__")
        if isinstance(path, str):
            compiled = os.path.abspath(about.get("__cached__") or path)
            yield about["__name__"], os.path.abspath(path), compiled


def _ours(path: str, ours: tuple[str, ...]) -> bool:
    return path.startswith(tuple(folder + os.sep for folder in ours))


def _write(ticket: Ticket, data: bytes) -> None:
    os.makedirs(ticket.folder, mode=0o700, exist_ok=True)
    if not private(os.stat(ticket.folder)):
        raise ValueError(ticket.folder)
    part = f"{ticket.path}.{os.getpid()}"
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError
        finally:
            os.close(descriptor)
        os.replace(part, ticket.path)
    except OSError:
        if os.path.lexists(part):
            os.unlink(part)
        raise


def clear(folder: str) -> None:
    """Take the oldest entries away until the folder is within its bounds; what is no entry stays."""
    with os.scandir(folder) as found:
        entries = [(one.stat(follow_symlinks=False), one.path) for one in found if _is_entry(one.name)]
    entries.sort(key=lambda one: (one[0].st_mtime_ns, one[1]))
    total = sum(status.st_size for status, _ in entries)
    count = len(entries)
    for status, path in entries:
        if count <= MOST_ENTRIES and total <= MOST_TOTAL:
            return
        os.unlink(path)
        count -= 1
        total -= status.st_size


def _is_entry(name: str) -> bool:
    """Whether a file is an entry, or a part of one; a folder that a user has named may hold more."""
    key = name.partition(".")[0]
    return len(key) == DIGEST and set(key) <= set("0123456789abcdef")


def keep_lint(ticket: Ticket, shown: str, code: int, *, paths: tuple[str, ...], read: Iterable[str]) -> bool:
    """Store what a lint has shown for the command line's `paths`, of which it has read the texts `read`."""
    if STDIN in paths:
        return False
    tried = [os.path.join("~", ".ds", "config.yaml"), *paths]
    for path in paths or (os.curdir,):
        if os.path.isdir(path):
            tried += (os.path.join(path, name) for name in NAMES)
    for folder in {os.curdir, *(os.path.dirname(name) or os.curdir for name in read)}:
        tried += (*_configurations(os.path.abspath(folder)), *tables(folder))
        tried += (os.path.join(folder, name) for name in BESIDE)
    out = shown.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
    return keep(ticket, out, code, tried=map(os.path.expanduser, tried), until_s=midnight_s(ticket.began_ns))


def _configurations(folder: str) -> Iterator[str]:
    """Names at which the configuration of a folder is looked for, upwards."""
    above = ""
    while folder != above:
        yield from (os.path.join(folder, OWN), os.path.join(folder, SHARED))
        above, folder = folder, os.path.dirname(folder)


def midnight_s(began_ns: int) -> int:
    """When the day of a lint ends in UTC, in seconds since 1970: suppressions may be given a last day."""
    return (began_ns // (DAY_S * 10**9) + 1) * DAY_S
