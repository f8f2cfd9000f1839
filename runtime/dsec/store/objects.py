"""Putting objects in: each once, under its hash."""

from __future__ import annotations

from dsec.hashing import blake3_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec.store.packs import Packs
    from dsec.store.packwriter import PackWriter


class NewObjects:
    """What goes into packs that are being written; `begin` is called before the first look."""

    def __init__(self, packs: Packs, begin: Callable[[], PackWriter]) -> None:
        self._packs, self._begin, self._hash = packs, begin, blake3_of()
        self._writer: PackWriter | None = None
        self.fresh: set[bytes] = set()
        """Of the writer: ids of all objects that were put in; the packs that it writes are not searched."""
        self.count = 0
        self.size_bytes = 0

    def id_of(self, data: bytes | memoryview) -> bytes:
        """The id that these bytes have."""
        return self._hash(data).digest()

    def __contains__(self, name: bytes) -> bool:
        return name in self.fresh or name in self._packs

    def put(self, data: bytes | memoryview, kind: int) -> bytes:
        """Keep bytes; their id."""
        name = self._hash(data).digest()
        if name not in self.fresh and name not in self._packs:
            self._writing().add(name, data, kind)
            self.count += 1
            self.size_bytes += len(data)
        return name

    def put_piece(self, data: bytes) -> bytes:
        """The same for a piece of a large file."""
        name = self._hash(data).digest()
        if name not in self:
            self._writing().add_piece(name, data)
            self.count += 1
            self.size_bytes += len(data)
        return name

    def _writing(self) -> PackWriter:
        if self._writer is None:
            self._writer = self._begin()
            self.fresh = self._writer.fresh
        return self._writer

    def forget(self) -> None:
        """The writer is gone."""
        self._writer, self.fresh = None, set()
