"""Answers a lint of what has not changed since the last one, before anything else is imported.

An entry holds what a lint wrote and its exit code. It counts when everything that the answer
depends on is as it was: the place of the program, the command line, the folder, the environment and
the terminal are its name; the program's files that the lint has used, the files that were read, what
stood or did not stand at the names that were tried, and the day until which it holds, are listed in
it. `caching` writes entries.

The cache never fails: what cannot be read, is damaged or belongs to somebody else is a miss.
"""

from __future__ import annotations

import marshal
import os
import sys
from time import time_ns

from dsec.hashing import hasher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

HEAD = b"dsec lint cache 3\n"
DIGEST = 64
DAY_S = 86_400
MOST_BYTES = 4 * 2**20
"""Entries are never larger."""
ASKED = ("HOME", "NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "LANG", "LANGUAGE", "CI", "TZ")
ASKED_BY_BEGINNING = ("DSEC_", "LC_", "XDG_", "GITHUB_", "GITLAB_", "CI_", "PYTHON")
"""Environment variables that an answer may depend on."""
_SHARED = 0o022
_COPIED = 2**16
"""Bytes that are joined before they are hashed: many small files are hashed as if they were one."""


class Ticket:
    """One lint that the cache may answer, or be given the answer of."""

    __slots__ = ("began_ns", "folder", "key", "listed", "opened", "spoilt")

    def __init__(self, folder: str, key: str) -> None:
        self.folder = folder
        self.key = key
        self.began_ns = time_ns()
        self.opened: set[str] = set()
        """Files opened since the cache was asked."""
        self.listed: set[str] = set()
        self.spoilt = False
        """Something was done that cannot be done again by answering from the cache."""

    @property
    def path(self) -> str:
        """The file of the entry."""
        return f"{self.folder}/{self.key}"


def draw(argv: list[str]) -> Ticket | None:
    """A ticket for this command line, without `lint`; None where nothing is to be cached."""
    # With --code a folder is read, and which files are in it is not in the key.
    named = any(word == "--code" or word.startswith("--code=") for word in argv)
    if named or "--no-cache" in argv or sys.stdout is None:
        return None
    folder = cache_folder()
    if not folder:
        return None
    try:
        facts = (HEAD, sys.version, __file__, argv, os.getcwd(), _environment(), _terminal())
    except OSError:  # the folder is gone
        return None
    return Ticket(folder, sealed(packed(facts)))


def sealed(data: bytes) -> str:
    """BLAKE3 of `data`, in hexadecimal digits."""
    state = hasher("blake3")
    state.update(data)
    return state.hexdigest()


def packed(value: Any) -> bytes:
    """Plain values as bytes, the same for equal values (later versions of the form count references)."""
    return marshal.dumps(value, 2)


def cache_folder() -> str:
    """The user's folder of entries; "" where none can be named."""
    asked = os.environ.get("DSEC_CACHE_DIR", "")
    if asked:
        return os.path.join(os.path.abspath(asked), "lint")
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not home.startswith("/"):
        user = os.environ.get("HOME", "")
        home = f"{user}/.cache" if user.startswith("/") else ""
    return f"{home}/dsec/lint" if home else ""


def _environment() -> list[tuple[str, str]]:
    return sorted(
        (name, value)
        for name, value in os.environ.items()
        if name in ASKED or name.startswith(ASKED_BY_BEGINNING) or name.endswith("_COMPLETE")
    )


def _terminal() -> tuple[object, ...]:
    encoding = sys.stdout.encoding
    if not os.isatty(1):
        return (encoding,)
    return (encoding, *os.get_terminal_size(1))


def answer(ticket: Ticket) -> int | None:
    """Write what the entry holds and give its exit code; None: lint."""
    entry = _entry(ticket)
    if entry is None:
        sys.addaudithook(_listener(ticket))
        return None
    out, code = entry
    try:
        rest = out[os.write(1, out) :] if out else b""
    except OSError:
        rest = out
    return _finished(rest, code) if rest else code


def _entry(ticket: Ticket) -> tuple[bytes, int] | None:
    try:
        data = _own(ticket)
        head = len(HEAD) + DIGEST
        if data[:head] != HEAD + sealed(data[head:]).encode():
            return None
        # Ours, and whole.
        key, until_s, program, read, states, out, code = marshal.loads(data[head:])  # noqa: S302
        if key != ticket.key or not _timely(ticket.began_ns // 10**9, until_s):
            return None
        fresh = (
            contents(read[0]) == read[1]
            and all(state(path, closely=len(before) > 1) == before for path, before in states)
            and survey(program[0]) == program[1]
        )
    except (OSError, ValueError, TypeError, EOFError):
        return None
    return (out, code) if fresh else None


def _timely(now_s: int, until_s: int | None) -> bool:
    """Whether it is the day of the entry; a clock that was set back has left it as well."""
    return until_s is None or until_s - DAY_S <= now_s < until_s


def _own(ticket: Ticket) -> bytes:
    """The entry's bytes; raises OSError where it is not a file of this user alone."""
    if not private(os.stat(ticket.folder)):
        raise OSError
    descriptor = os.open(ticket.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not private(status) or status.st_size > MOST_BYTES:
            raise OSError
        return os.read(descriptor, MOST_BYTES)
    finally:
        os.close(descriptor)


def private(status: os.stat_result) -> bool:
    """Whether a file is this user's and nobody else can write to it."""
    return status.st_uid == os.geteuid() and not status.st_mode & _SHARED


def contents(paths: Iterable[str]) -> str:
    """BLAKE3 of the bytes of regular files, each preceded by its length; raises OSError."""
    hashed = hasher("blake3")
    waiting: list[bytes] = []
    size = 0
    for path in paths:
        data = _content(path)
        waiting += (len(data).to_bytes(8, "little"), data)
        size += len(data)
        if size > _COPIED:
            hashed.update(b"".join(waiting))
            waiting, size = [], 0
    hashed.update(b"".join(waiting))
    return hashed.hexdigest()


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if status.st_mode & 0o170000 != 0o100000:
            raise OSError
        data = os.read(descriptor, status.st_size + 1)
        if len(data) == status.st_size:
            return data  # a regular file gives less than asked for at its end only
        pieces = [data]
        while piece := os.read(descriptor, 2**20):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def survey(paths: Iterable[str]) -> list[int]:
    """Time and size of the program's files: whoever edits a rule gets no stale answer; raises OSError."""
    found: list[int] = []
    for path in paths:
        status = os.stat(path)
        found += (status.st_mtime_ns, status.st_size)
    return found


def state(path: str, *, closely: bool = False) -> tuple[int, ...]:
    """What stands at a path: its kind (0: nothing, 1: a link to nothing); closely also time, size, number."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        nothing = int(os.path.lexists(path))
        return (nothing, 0) if closely else (nothing,)
    kind = status.st_mode & 0o170000
    return (kind, status.st_mtime_ns, status.st_size, status.st_ino) if closely else (kind,)


def _listener(ticket: Ticket) -> Any:
    """An audit hook that notes which files the lint opens; import machinery included."""

    def hear(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            if not isinstance(path, str):
                # A number was opened before, under its name; for bytes nobody here has a use.
                ticket.spoilt = ticket.spoilt or isinstance(path, bytes)
            elif (flags or 0) & (os.O_WRONLY | os.O_RDWR) and "__pycache__" not in path:
                ticket.spoilt = True
            else:
                ticket.opened.add(path)
        elif event == "os.listdir" or event == "os.scandir":
            ticket.listed.add(args[0] if isinstance(args[0], str) else os.getcwd())
        elif event.startswith(
            ("subprocess.", "socket.", "os.system", "os.posix_spawn", "os.exec", "os.fork")
        ):
            ticket.spoilt = True

    return hear


def _finished(rest: bytes, code: int) -> int:
    """Write what is left the long way, which knows slow readers and lost ones."""
    from dsec_cli.exit import guarded
    from dsec_cli.report.output import write_all

    def written() -> int:
        write_all(1, rest)
        return code

    return guarded(written)
