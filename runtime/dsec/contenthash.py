"""The hash of a file's or a folder's content, as `dsec hash` prints it and `hash:` states it.

A file's hash is that of its bytes, so `b3sum` and `sha256sum` agree. A folder's is taken over
fields, each preceded by its length in 8 bytes, little-endian: first `dsec.tree/1`, then for each
file and each link in it, sorted by the bytes of its path from the folder (parts joined by `/`):
a letter, that path, and a value.

    f   a file: the digest of its bytes (32 bytes)
    x   a file that its owner may execute: the same
    l   a link: where it leads, as it is written

Times, owners and other permissions do not count, nor do folders without files. A link that leads
out of the folder is refused: what is there is not covered.
"""

from __future__ import annotations

import os
import stat

from dsec.errors import FileProblem
from dsec.hashing import hasher
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

TREE = b"dsec.tree/1"
_PIECE = 1 << 20


class Memory(Protocol):
    """Digests of files as they were when they were read before."""

    def known(self, state: os.stat_result) -> str | None:
        """The digest of a file that looks like this; None: it has to be read."""

    def note(self, state: os.stat_result, digest: str) -> None:
        """A file that looked like this before and after it was read has this digest."""


def content_hash(
    path: str, algorithm: str, seen: dict[str, str] | None = None, memory: Memory | None = None
) -> str:
    """`blake3:HEX` or `sha256:HEX`; every byte is read once. Raises FileProblem.

    Of a folder, `seen` gets the digest of each file and where each link leads, by their paths. What `memory`
    knows, of this algorithm, is not read.
    """
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            digest = _folder(path, algorithm, {} if seen is None else seen, memory)
        else:
            digest = _file(path, algorithm, memory, links=True)[1]
    except OSError as problem:
        raise FileProblem(
            say("{filename}: {why}", filename=problem.filename or path, why=system(problem)),
            hint=say("check the name"),
        ) from None
    return f"{algorithm}:{digest}"


def _folder(root: str, algorithm: str, seen: dict[str, str], memory: Memory | None) -> str:
    state = hasher(algorithm)
    state.update(_framed(TREE))
    real = os.path.realpath(root)
    for name in sorted(_names(os.fsencode(root))):
        path = os.path.join(root, os.fsdecode(name))
        kind, _, value = fields = _entry(path, name, algorithm, real, memory)
        seen[os.fsdecode(name)] = os.fsdecode(value) if kind == b"l" else value.hex()
        for field in fields:
            state.update(_framed(field))
    return state.hexdigest()


def _names(root: bytes) -> list[bytes]:
    """Paths of everything in the folder that is no folder, from the folder on."""
    found: list[bytes] = []
    waiting = [b""]
    while waiting:
        prefix = waiting.pop()
        with os.scandir(os.path.join(root, prefix)) as entries:
            for entry in entries:
                name = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name + b"/")
                else:
                    found.append(name)
    return found


def _entry(
    path: str, name: bytes, algorithm: str, root: str, memory: Memory | None
) -> tuple[bytes, bytes, bytes]:
    if os.path.islink(path):
        target = os.readlink(path)
        if os.path.isabs(target) or not is_within(os.path.realpath(path), root):
            raise FileProblem(
                say("{path} is a link that leads out of the folder, to {target}", path=path, target=target),
                hint="put what it leads to into the folder: a hash does not cover it where it is",
            )
        return b"l", name, os.fsencode(target)
    executable, digest = _file(path, algorithm, memory, links=False)
    return b"x" if executable else b"f", name, bytes.fromhex(digest)


def is_within(path: str, folder: str) -> bool:
    """Whether the real path `path` is the real folder `folder`, or in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _file(path: str, algorithm: str, memory: Memory | None, *, links: bool) -> tuple[bool, str]:
    """Whether its owner may execute the file, and the hash of its bytes.

    Opened without waiting, so that a pipe does not hold us up, and looked at through the open
    descriptor, so that what was read is what was judged.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW)
    fd = os.open(path, flags)
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise FileProblem(say("{path} is neither a file nor a folder", path=path))
        executable = bool(before.st_mode & stat.S_IXUSR)
        if memory is not None and (known := memory.known(before)) is not None:
            return executable, known
        state = hasher(algorithm)
        while piece := os.read(fd, _PIECE):
            state.update(piece)
        after = os.fstat(fd)
    finally:
        os.close(fd)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise FileProblem(say("{path} changed while it was read", path=path), hint="wait until it is written")
    digest = state.hexdigest()
    if memory is not None:
        memory.note(before, digest)
    return executable, digest


def _framed(field: bytes) -> bytes:
    return len(field).to_bytes(8, "little") + field
