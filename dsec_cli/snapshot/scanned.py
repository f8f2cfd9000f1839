"""Which files were looked at for secrets, and what was found, so that an unchanged one is not read again.

A file of two JSON documents, a line each. The first holds a digest of all files and how they looked, and
those with secrets: where the digest is the same nobody needs the second, which has the look of all others.
"""

from __future__ import annotations

import functools
import json
import os
import stat
import struct
import time

from dsec import __version__, wholefile
from dsec.hashing import blake3_of
from dsec.record import Record
from dsec.store import facts_of
from dsec_cli.snapshot import cachefile
from dsec_cli.snapshot.redaction import Found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec.store.values import Facts
    from dsec_cli.snapshot.listing import Taken
    from dsec_cli.snapshot.redaction import Redactor

    Held = dict[str, tuple[str, tuple[Found, ...]]]
    """Of files with secrets: how they looked, and what was found."""

FORMAT = "dsec.scanned/4"
MOST_BYTES = 32 << 20
"""A larger file is not looked at."""
_LEAST_READ = 4096
_RACY_NS = 2_000_000_000
"""A file changed this recently may change again within the same tick of its clock."""


class Secrets(Record):
    """What a file holds that must not be kept."""

    found: tuple[Found, ...]
    clean: bytes | None
    """The content without them; None: it was not read this time."""


class _Known(Record):
    """What is remembered."""

    whole: str
    """Digest of all files and how they looked; "": not each of them is remembered."""
    held: Held
    withheld: tuple[str, ...]
    """Files that are a secret as a whole."""
    large: tuple[str, ...]
    """Files that are too large to be looked at."""
    names: str
    """Digest of paths that hold none either."""
    redacted: tuple[str, str, int]
    """Digest of the files that hold some; id and size of the tree in which they hold none."""


_NOTHING = _Known("", {}, (), (), "", ("", "", 0))


class Scanned:
    """Reads files for secrets; remembers by size, times and inode which were found in them."""

    def __init__(self, path: str, root: bytes, redactor: Redactor) -> None:
        self._path, self._below, self._redactor = path, root + b"/", redactor
        self._latest_ns = time.time_ns() - _RACY_NS
        self._known, self._rest = _loaded(path, redactor.identity)
        self._same = False
        self._whole = ""
        self._clean: dict[str, str] = {}
        self._held: Held = {}
        self._withheld: list[str] = []
        self._large: list[str] = []
        self._names = ""
        self._redacted = _NOTHING.redacted
        self.unread: list[bytes] = []
        """Files that could not be read, or are too large."""

    @functools.cached_property
    def _were_clean(self) -> dict[str, str]:
        """How files without secrets looked."""
        try:
            found = json.loads(self._rest)
            return {str(name): str(stamp) for name, stamp in found.items()}
        except cachefile.BROKEN:
            return {}

    def same(self, taken: Iterable[Taken]) -> tuple[Mapping[str, tuple[Found, ...]], frozenset[str]] | None:
        """Of files that all look as they did when they were last asked about: what is in those with secrets.

        And those that are secrets as a whole. None: they do not, or one is too fresh to be told: `secrets` or
        `withhold` is to be called with each.
        """
        names: list[bytes] = []
        looks: list[int] = []
        for path, link, facts in taken:
            names.append(path)
            looks.append(link)
            looks += facts
        latest = self._latest_ns
        if max(looks[2::6], default=0) > latest or max(looks[3::6], default=0) > latest:
            return None
        look = blake3_of()(b"\0".join(names))
        look.update(struct.pack(f"<{len(looks)}q", *looks))
        self._whole = look.hexdigest()
        if self._whole != self._known.whole:
            return None
        self._same, self._held = True, self._known.held
        self.unread += map(os.fsencode, self._known.large)
        return {name: found for name, (_, found) in self._held.items()}, frozenset(self._known.withheld)

    def withhold(self, name: str) -> None:
        """Remember a file that is a secret as a whole."""
        self._withheld.append(name)

    def secrets(self, path: bytes, facts: Facts | None = None) -> Secrets | None:
        """What the file holds, which looked like this; None: nothing."""
        name = os.fsdecode(path)
        try:
            stamp = self._stamp(facts_of(os.lstat(self._below + path)) if facts is None else facts)
            if stamp and self._were_clean.get(name) == stamp:
                self._clean[name] = stamp
                return None
            if stamp and (known := self._known.held.get(name)) is not None and known[0] == stamp:
                self._held[name] = known
                return Secrets(known[1], None)
            return self._looked_at(path, name, stamp)
        except OSError:
            self.unread.append(path)
            return None

    def _looked_at(self, path: bytes, name: str, stamp: str) -> Secrets | None:
        data = self._content(path)
        if data is None:
            self.unread.append(path)
            self._large.append(name)
            return None
        spared = self._redactor.spared
        clean, found = self._redactor.file(data, name)
        if found and stamp:
            self._held[name] = stamp, found
        elif stamp and spared == self._redactor.spared:  # what was accepted this time may not be the next
            self._clean[name] = stamp
        return Secrets(found, clean) if found else None

    def now(self, path: bytes) -> Secrets | None:
        """What the file holds now, and all of it without that; None: it is no file, or is not looked at."""
        folder = os.path.dirname(self._below + path)
        root = self._below[:-1]
        try:
            inside = os.path.realpath(folder) == os.path.realpath(root) + folder[len(root) :]
            regular = stat.S_ISREG(os.lstat(self._below + path).st_mode)
            data = self._content(path) if inside and regular else None
        except OSError:
            data = None
        if data is None:
            return None
        name = os.fsdecode(path)
        self._clean.pop(name, None)
        clean, found = self._redactor.file(data, name)
        return Secrets(found, clean)

    def _content(self, path: bytes) -> bytes | None:
        """None: it is too large. Raises OSError."""
        fd = opened(self._below + path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Not `open().read(MOST_BYTES)`: that asks for so much memory, and gives it back, for each file.
            size = os.fstat(fd).st_size
            most, left = max(size + 1, _LEAST_READ), MOST_BYTES + 1 if size <= MOST_BYTES else 0
            parts = []
            while left > 0 and (part := os.read(fd, min(most, left))):
                parts.append(part)
                left -= len(part)
        finally:
            os.close(fd)
        return b"".join(parts) if left > 0 else None

    def without(self, path: bytes) -> bytes | None:
        """The content of a file without its secrets; None: it cannot be read any more."""
        try:
            data = self._content(path)
        except OSError:
            data = None
        if data is None:
            self.unread.append(path)
            return None
        return self._redactor.file(data, os.fsdecode(path))[0]

    def is_clean(self, names: str) -> bool:
        """Whether a text of paths holds no secret."""
        self._names = blake3_of()(names.encode("utf-8", "surrogatepass")).hexdigest()
        if self._names != self._known.names and self._redactor.text(names)[1]:
            self._names = ""
            return False
        return True

    def redacted(self, paths: Iterable[bytes]) -> tuple[str, int]:
        """Id and size of the tree in which these files hold no secrets; "": none is known."""
        if {os.fsdecode(path) for path in paths} == self._held.keys():
            digest = blake3_of()(_document(self._held).encode("utf-8", "surrogatepass")).hexdigest()
            before = self._known.redacted
            self._redacted = before if before[0] == digest else (digest, "", 0)
        return self._redacted[1:]

    def remember(self, tree: str, size: int) -> None:
        """This tree is made of the files that `redacted` was asked about."""
        if self._redacted[0]:
            self._redacted = (self._redacted[0], tree, size)

    def keep(self, count: int) -> None:
        """Write what is known of so many files; one that cannot be written is made anew the next time."""
        whole, withheld, large = self._known.whole, self._known.withheld, self._known.large
        if not self._same:
            withheld, large = tuple(self._withheld), tuple(self._large)
            every = len(self._clean) + len(self._held) + len(withheld) + len(large) == count
            whole = self._whole if every else ""
        now = _Known(whole, self._held, withheld, large, self._names, self._redacted)
        if now == self._known and (self._same or self._clean == self._were_clean):
            return
        clean = self._were_clean if self._same else self._clean
        head = {"format": FORMAT, "by": __version__, "identity": self._redactor.identity, **now._asdict()}
        document = f"{_document(head)}\n{_document(clean)}"
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            wholefile.write_whole(self._path, [document.encode("utf-8", "surrogatepass")], durable=False)
        except OSError:
            return

    def _stamp(self, facts: Facts) -> str:
        """What tells one state of a file from another; "": it is too fresh to be told."""
        size, mtime, ctime, inode, _ = facts
        if mtime > self._latest_ns or ctime > self._latest_ns:
            return ""
        return f"{size}:{mtime}:{ctime}:{inode}"


def _document(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def opened(path: str | bytes, flags: int) -> int:
    """Open a file that may have become a link or a pipe meanwhile: neither is followed or waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _loaded(path: str, identity: str) -> tuple[_Known, bytes]:
    """What was remembered by this version; what was found counts only for the same key and exceptions."""
    try:
        head, _, rest = cachefile.content(path).partition(b"\n")
        document = json.loads(head)
        if document["format"] != FORMAT or document["by"] != __version__:
            return _NOTHING, b""
        if document["identity"] != identity:
            return _NOTHING, rest
        held = {
            str(name): (str(stamp), tuple(Found(str(kind), int(line), str(one)) for kind, line, one in found))
            for name, (stamp, found) in document["held"].items()
        }
        digest, tree, size = document["redacted"]
        withheld, large = (tuple(map(str, document[key])) for key in ("withheld", "large"))
        whole, names = str(document["whole"]), str(document["names"])
        return _Known(whole, held, withheld, large, names, (str(digest), str(tree), int(size))), rest
    except cachefile.BROKEN:
        return _NOTHING, b""
