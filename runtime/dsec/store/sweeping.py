"""Pruning a store from end to end, and counting what it takes."""

from __future__ import annotations

import os

from dsec.store import marking, records, scratch
from dsec.store.packwriter import PackWriter
from dsec.store.pruning import Pruner
from dsec.store.values import Pruned, StoreProblem, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.store.disk import Disk
    from dsec.store.layout import Layout
    from dsec.store.packs import Packs


def prune(packs: Packs, disk: Disk, place: Layout, *, budget: int | None, keep: frozenset[str]) -> Pruned:
    """Forget records that are too much, then free what none needs. The caller keeps everyone else out."""
    before = size_of(place.packs) + size_of(place.scratch)
    scratch.sweep(disk, place.scratch)
    live, forgotten = marking.within(packs, records.oldest_first(place.records), budget=budget, keep=keep)
    for record in forgotten:
        records.delete(disk, place.records, record.name)
    written: set[str] = set()
    writer = PackWriter(disk, packs=place.packs, scratch=place.scratch, written=written.add)
    try:
        freed = Pruner(packs, disk, writer, written).free(live)
    except BaseException:
        writer.abandon()
        raise
    finally:
        writer.close()
    left = size_of(place.packs)
    names = tuple(record.name for record in forgotten)
    return Pruned(names, freed.packs, before - left, left, freed.stopped)


def size_of(folder: str) -> int:
    """Bytes of the files in a folder."""
    return sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(folder))


def usage(packs: Packs, place: Layout) -> Usage:
    """What a store takes; packs that are damaged count with their size only."""
    objects = content = 0
    names = packs.names()
    for name in names:
        try:
            tables = packs.opened(name).tables
        except StoreProblem:
            continue
        objects += len(tables)
        content += sum(frame.plain for frame in tables.frames)
    return Usage(
        packs=len(names),
        objects=objects,
        records=sum(1 for _ in records.names(place.records)),
        stored_bytes=size_of(place.packs) + size_of(place.records),
        content_bytes=content,
        unfinished_bytes=size_of(place.scratch),
    )
