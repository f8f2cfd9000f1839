"""The stat caches of a store on the disk: one file for each root and way of looking at it."""

from __future__ import annotations

import os

from dsec.hashing import blake3_of
from dsec.store import scratch
from dsec.store.outcomes import Expected
from dsec.store.statcache import NO_WHOLE, StatCache, encoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsec.store.disk import Disk
    from dsec.store.layout import Layout
    from dsec.store.statcache import Whole

_PREFIX = "seen-"
_MOST = 16
"""So many are kept; the one that was not used for longest goes."""


def path_of(place: Layout, root: bytes, look: str) -> str:
    """The file for a root that is looked at in this way."""
    key = b"\0".join((look.encode(), os.path.realpath(root)))
    return os.path.join(place.cache, _PREFIX + blake3_of()(key).hexdigest()[:32])


def load(path: str, present: frozenset[str]) -> StatCache:
    """What is remembered; nothing when that cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        with Expected(OSError):
            os.utime(path)
    except OSError:
        return StatCache()
    return StatCache(data, present)


def save(
    disk: Disk,
    place: Layout,
    path: str,
    folders: Iterable[tuple[bytes, bytes]],
    packs: Sequence[str],
    whole: Whole = NO_WHOLE,
) -> None:
    """Remember; all objects of the folders must be in these packs, on the disk. A failure costs time only."""
    with Expected(OSError):
        scratch.write_new(disk, place.scratch, path, encoded(folders, packs, whole), durable=False)
        caches = [
            os.path.join(place.cache, name) for name in os.listdir(place.cache) if name.startswith(_PREFIX)
        ]
        if len(caches) > _MOST:
            disk.remove(min(caches, key=os.path.getmtime))


def forget(place: Layout) -> None:
    """Remove all caches, the index among them; what cannot be removed stays."""
    for name in os.listdir(place.cache):
        with Expected(OSError):
            os.unlink(os.path.join(place.cache, name))
