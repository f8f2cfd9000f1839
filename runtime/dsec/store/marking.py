"""What the records of a store need, and what they would need if the oldest were forgotten."""

from __future__ import annotations

from dsec.store.treewalk import needed
from dsec.store.values import Damaged, StoreProblem
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.store.packs import Packs
    from dsec.store.values import Record


def mark(packs: Packs, record: Record, live: set[bytes], known: set[bytes]) -> int:
    """Add what a record needs to `live`; the stored bytes that this adds.

    Raises StoreProblem where that cannot be read: what is behind it would be taken for not needed.
    """
    added = 0
    try:
        for one in map(bytes.fromhex, record.contents):
            added += _add(packs, one, live)
        for tree in record.trees:
            for one in needed(packs.get, bytes.fromhex(tree), known):
                added += _add(packs, one, live)
    except StoreProblem as problem:
        raise Damaged(
            say("what the record {name} needs cannot be read: {why}", name=record.name, why=problem.what),
            hint=say("nothing was freed; delete that record, or bring the damaged file back"),
        ) from None
    return added


def _add(packs: Packs, one: bytes, live: set[bytes]) -> int:
    """Stored bytes of an object, its share of its frame; nothing for one that is known."""
    if one in live:
        return 0
    live.add(one)
    place = packs.find(one)
    if place is None:
        return 0
    frame = packs.opened(place.pack).tables.frames[place.frame]
    return frame.stored * place.length // max(1, frame.plain)


def within(
    packs: Packs, found: Sequence[Record], *, budget: int | None, keep: frozenset[str]
) -> tuple[set[bytes], list[Record]]:
    """What is needed, and the records to forget: the oldest, from the first that is too much on.

    The newest record stays, and so do those of `keep`, whatever they take.
    """
    if not found:
        return set(), []
    newest = found[-1]
    kept = [record for record in found if record.name in keep or record is newest]
    rest = [record for record in reversed(found) if record.name not in keep and record is not newest]
    live, known = set[bytes](), set[bytes]()
    size = sum(mark(packs, record, live, known) for record in kept)
    for at, record in enumerate(rest):
        size += mark(packs, record, live, known)
        if budget is not None and size > budget:
            live, known = set(), set()
            for one in (*kept, *rest[:at]):
                mark(packs, one, live, known)
            return live, rest[at:]
    return live, []
