"""Hashes of data and results, remembered by how each file looks: what did not change is not read again."""

from __future__ import annotations

import json
import os
import time

from dsec import wholefile
from dsec.contenthash import content_hash
from dsec_cli.snapshot import cachefile

FORMAT = "dsec.hashes/1"
MOST = 100_000
"""Files that are remembered; the ones that were not asked about for the longest time are forgotten first."""
_SIZE = 32
"""Bytes of a digest."""
_RACY_NS = 2_000_000_000
"""A file changed this recently may change again within the same tick of its clock."""


class Hashes:
    """BLAKE3 digests of files, by device, inode, size and times."""

    def __init__(self, path: str) -> None:
        self._path, self._latest_ns = path, time.time_ns() - _RACY_NS
        self._before = _loaded(path)
        self._now: dict[str, str] = {}

    def of(self, path: str, seen: dict[str, str] | None = None) -> str:
        """As `content_hash` with BLAKE3; raises FileProblem."""
        return content_hash(path, "blake3", seen, self)

    def known(self, state: os.stat_result) -> str | None:
        """The digest of a file that looks like this; None: it has to be read."""
        look = _look(state)
        if (digest := self._before.get(look)) is not None:
            self._now[look] = digest
        return digest

    def note(self, state: os.stat_result, digest: str) -> None:
        """Remember a file, unless it may change without looking different."""
        if state.st_mtime_ns < self._latest_ns > state.st_ctime_ns:
            self._now[_look(state)] = digest

    def keep(self) -> None:
        """Write what is known; what cannot be written is read again the next time."""
        kept = {look: digest for look, digest in self._before.items() if look not in self._now} | self._now
        if kept == self._before:
            return
        document = {"format": FORMAT, "files": dict(list(kept.items())[-MOST:])}
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            text = json.dumps(document, separators=(",", ":"))
            wholefile.write_whole(self._path, [text.encode("ascii")], durable=False)
        except OSError:
            return


def _look(state: os.stat_result) -> str:
    return f"{state.st_dev}:{state.st_ino}:{state.st_size}:{state.st_mtime_ns}:{state.st_ctime_ns}"


def _loaded(path: str) -> dict[str, str]:
    try:
        document = json.loads(cachefile.content(path))
        found = document["files"] if document["format"] == FORMAT else {}
        return {
            str(look): one.hex() for look, text in found.items() if len(one := bytes.fromhex(text)) == _SIZE
        }
    except cachefile.BROKEN:
        return {}
