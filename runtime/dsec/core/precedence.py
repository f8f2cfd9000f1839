"""Which Steps go first where they compete: by the tolerance level of what depends on them.

A Step that a critical one needs, now or in a later iteration, holds a critical one up while it waits, so it
counts as critical. A discardable Step counts as such only where nothing but discardable ones needs it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

CRITICAL, OTHERS, DISCARDABLE = range(3)
"""The lower goes first."""
_OF = {"critical": CRITICAL, "discardable": DISCARDABLE}


def precedence(levels: Sequence[str], dependents: Callable[[int], Iterable[int]]) -> list[int]:
    """Per Step its class; `dependents` gives the Steps that need one, also in later iterations."""
    found = [_OF.get(level, OTHERS) for level in levels]
    if len(set(found)) < 2:
        return found
    before: list[list[int]] = [[] for _ in levels]
    for at in range(len(levels)):
        for other in dependents(at):
            before[other].append(at)
    for level in (CRITICAL, OTHERS):
        reached = [at for at, own in enumerate(found) if own == level]
        while reached:
            for need in before[reached.pop()]:
                if found[need] > level:
                    found[need] = level
                    reached.append(need)
    return found


def lifted(ranks: Sequence[int], classes: Sequence[int]) -> list[int]:
    """The ranks, each class above the next: the higher goes first."""
    if len(set(classes)) < 2:
        return list(ranks)
    last, step = max(classes), max(ranks, default=0) + 1
    return [rank + (last - own) * step for rank, own in zip(ranks, classes, strict=True)]
