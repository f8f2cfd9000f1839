"""A plugin's package as a folder or a zip: its files, with nothing that could reach outside of it."""

from __future__ import annotations

import lzma
import os
import stat
import zipfile
import zlib
from typing import NamedTuple

from dsec.errors import FileProblem
from dsec.hashing import blake3_of
from dsec_cli.plugins.signing.contents import UNLISTED, Entry
from dsec_cli.words import say, system

MOST_FILES = 10_000
MOST_BYTES = 1 << 30
_RATIO = 200
"""How much larger than its compressed self a file of a zip may be, above a megabyte."""


_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(EOFError, RuntimeError, ValueError, OSError),
)
"""What Python's zipfile raises for a zip that is damaged; ValueError: names and sizes that are none,
RuntimeError: a password, or a way of compressing that it does not know."""


class Package(NamedTuple):
    """The files of a package."""

    where: str
    files: dict[str, bytes]
    """Content by path with `/`, the manifest and the signature among them."""
    executable: frozenset[str]

    def entries(self) -> dict[str, Entry]:
        """What a manifest lists."""
        blake3 = blake3_of()
        listed = {path: data for path, data in self.files.items() if path not in UNLISTED}
        return {path: Entry(len(data), blake3(data).hexdigest()) for path, data in listed.items()}

    def digest(self) -> str:
        """One hash of all files that a manifest lists, whether there is a manifest or not."""
        rows = (f"{entry.blake3} {path}\n" for path, entry in sorted(self.entries().items()))
        return str(blake3_of()("".join(rows).encode()).hexdigest())

    def seal(self) -> str:
        """One hash of the manifest and its signature, which no manifest lists."""
        blake3 = blake3_of()
        kept = ((path, self.files.get(path)) for path in sorted(UNLISTED))
        rows = (f"{'-' if data is None else blake3(data).hexdigest()} {path}\n" for path, data in kept)
        return str(blake3("".join(rows).encode()).hexdigest())


def read_package(path: str) -> Package:
    """The package in a folder or a zip; raises FileProblem for what is neither, or holds what none may."""
    if os.path.isdir(path):
        return _folder(path)
    try:
        if os.path.isfile(path) and zipfile.is_zipfile(path):  # a pipe would let us wait
            return _zip(path)
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None
    absent = not os.path.exists(path)
    what = say("there is no such file") if absent else say("it is neither a folder nor a zip")
    raise FileProblem(
        say("{path}: {what}", path=path, what=what),
        hint="a package is a folder with plugin.yaml, or a zip of one",
    )


def _folder(path: str) -> Package:
    files: dict[str, bytes] = {}
    executable: set[str] = set()
    left = MOST_BYTES
    try:
        for name in sorted(_names(path, "")):
            full = os.path.join(path, name)
            mode = os.lstat(full)
            if not stat.S_ISREG(mode.st_mode):
                raise FileProblem(
                    say("{full} is no ordinary file", full=full), hint="a package has no links and no devices"
                )
            left = _within(path, len(files) + 1, left - mode.st_size)
            with open(full, "rb") as file:
                files[name] = file.read()
            if mode.st_mode & stat.S_IXUSR:
                executable.add(name)
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=problem.filename or path, why=system(problem))) from None
    return Package(path, files, frozenset(executable))


def _names(root: str, below: str) -> list[str]:
    found: list[str] = []
    with os.scandir(os.path.join(root, below)) as entries:
        for entry in entries:
            name = f"{below}{entry.name}"
            if not safe(name):
                raise FileProblem(
                    say("{root}: {name!r} is no name for a file of a package", root=root, name=entry.name)
                )
            if entry.is_dir(follow_symlinks=False):
                found += _names(root, f"{name}/")
            else:
                found.append(name)
            _within(root, len(found), 1)
    return found


def safe(name: str) -> bool:
    """Whether a path stays inside the folder it is put into, on any system, and can be shown."""
    parts = name.split("/")
    plain = name.isprintable() and "\\" not in name and ":" not in name and len(name) < 512
    return plain and all(part not in ("", ".", "..") and part == part.strip() for part in parts)


def _within(where: str, count: int, left: int) -> int:
    if count > MOST_FILES or left < 0:
        raise FileProblem(
            say(
                "{where} is too large for a package: {most_files} files and {most_bytes} GiB at most",
                where=where,
                most_files=MOST_FILES,
                most_bytes=MOST_BYTES >> 30,
            )
        )
    return left


def _zip(path: str) -> Package:
    files: dict[str, bytes] = {}
    executable: set[str] = set()
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            base = _base([one.filename for one in members])
            left = MOST_BYTES
            for member in members:
                name = member.filename.removeprefix(base)
                _refuse(path, member, name, files)
                left = _within(path, len(files) + 1, left - member.file_size)
                files[name] = _content(archive, member, path)
                if member.external_attr >> 16 & stat.S_IXUSR:
                    executable.add(name)
    except _DAMAGED as problem:
        raise FileProblem(say("{path} is no whole zip: {problem}", path=path, problem=problem)) from None
    return Package(path, files, frozenset(executable))


def _base(names: list[str]) -> str:
    """The folder that all of the zip lies in, "" for none."""
    first = names[0].partition("/")[0] + "/" if names else ""
    return first if names and all(name.startswith(first) for name in names) else ""


def _refuse(path: str, member: zipfile.ZipInfo, name: str, files: dict[str, bytes]) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if not safe(name) or not safe(member.filename):
        raise FileProblem(
            say(
                "{path}: {filename!r} would reach outside of the package", path=path, filename=member.filename
            )
        )
    if kind not in (0, stat.S_IFREG):
        raise FileProblem(
            say("{path}: {filename!r} is no ordinary file", path=path, filename=member.filename)
        )
    if name in files:
        raise FileProblem(say("{path}: {filename!r} stands twice in it", path=path, filename=member.filename))
    if member.file_size > max(1 << 20, _RATIO * member.compress_size):
        raise FileProblem(
            say(
                "{path}: {filename!r} is {file_size} bytes out of {compress_size}",
                path=path,
                filename=member.filename,
                file_size=member.file_size,
                compress_size=member.compress_size,
            )
        )


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str) -> bytes:
    with archive.open(member) as file:
        data = file.read(member.file_size + 1)
    if len(data) != member.file_size:
        raise FileProblem(
            say("{path}: {filename!r} is not as long as it says", path=path, filename=member.filename)
        )
    return data
