"""Which files were looked at for secrets and had none, so that an unchanged one is not read again."""

from __future__ import annotations

import json
import os
import time

from dsec import wholefile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.snapshot.redaction import Found, Redactor

FORMAT = "dsec.scanned/2"
MOST_BYTES = 32 << 20
"""A larger file is not looked at."""
_RACY_NS = 2_000_000_000
"""A file changed this recently may change again within the same tick of its clock."""


class Scanned:
    """Reads files for secrets; remembers those that have none by size, times and inode."""

    def __init__(self, path: str, root: bytes) -> None:
        self._path = path
        self._root = root
        self._known = _loaded(path)
        self._clean: dict[str, str] = {}
        self.unread: list[bytes] = []
        """Files that could not be read, or are too large."""

    def secrets(self, path: bytes, redactor: Redactor) -> tuple[bytes, tuple[Found, ...]] | None:
        """The content of the file without its secrets, and which they were; None: it has none."""
        full = os.path.join(self._root, path)
        name = os.fsdecode(path)
        try:
            stamp = _stamp(os.stat(full, follow_symlinks=False))
            if stamp and self._known.get(name) == stamp:
                self._clean[name] = stamp
                return None
            with open(full, "rb", opener=opened) as file:
                data = file.read(MOST_BYTES + 1)
        except OSError:
            self.unread.append(path)
            return None
        if len(data) > MOST_BYTES:
            self.unread.append(path)
            return None
        clean, found = redactor.file(data, name)
        if found:
            return clean, found
        if stamp:
            self._clean[name] = stamp
        return None

    def keep(self) -> None:
        """Write what is known; one that cannot be written is made anew the next time."""
        if self._clean == self._known:
            return
        document = json.dumps({"format": FORMAT, "clean": self._clean}, separators=(",", ":"))
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            wholefile.write_whole(self._path, [document.encode("utf-8", "surrogatepass")], durable=False)
        except OSError:
            return


def opened(path: str | bytes, flags: int) -> int:
    """Open a file that may have become a link or a pipe meanwhile: neither is followed or waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _stamp(seen: os.stat_result) -> str:
    """What tells one state of a file from another; "": it is too fresh to be told."""
    if time.time_ns() - max(seen.st_mtime_ns, seen.st_ctime_ns) < _RACY_NS:
        return ""
    return f"{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}:{seen.st_ino}"


def _loaded(path: str) -> dict[str, str]:
    try:
        with open(path, "rb") as file:
            document = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    known = document.get("clean") if isinstance(document, dict) and document.get("format") == FORMAT else None
    return {str(name): str(stamp) for name, stamp in known.items()} if isinstance(known, dict) else {}
