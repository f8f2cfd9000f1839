"""The code as git sees it in one archive: the same files give the same bytes."""

from __future__ import annotations

import io
import os
import stat
import tarfile

from dsec.errors import FileProblem
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.listing import Listing
    from dsec_cli.snapshot.redaction import Redactor

_TIME = 0
"""Of every entry, as two archives of the same files are to be equal; 1970-01-01."""


def archive(folder: str, listing: Listing, redactor: Redactor) -> tuple[bytes, list[tuple[str, int]]]:
    """A tar file, sorted, without owners and times; and where secrets were replaced.

    Raises FileProblem where a file cannot be read.
    """
    room = io.BytesIO()
    redacted: list[tuple[str, int]] = []
    with tarfile.open(fileobj=room, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for one in listing.taken:
            name = os.fsdecode(one.path)
            for info, data, lines in _member(folder, name, redactor):
                tar.addfile(info, io.BytesIO(data))
                redacted += ((name, line) for line in lines)
    return room.getvalue(), redacted


def _member(folder: str, name: str, redactor: Redactor) -> Iterator[tuple[tarfile.TarInfo, bytes, list[int]]]:
    path = os.path.join(folder, name)
    info = tarfile.TarInfo(name)
    info.mtime = _TIME
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
            yield info, b"", []
            return
        with open(path, "rb") as file:
            data = file.read()
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint="check its permissions"
        ) from None
    clean, found = redactor.file(data, name)
    info.size, info.mode = len(clean), 0o755 if mode & 0o100 else 0o644
    yield info, clean, [one.line for one in found]
