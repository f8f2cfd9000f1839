"""How Steps of this run make room for a Step of another run that must not wait.

The rule is that of one run: a discardable attempt starts again, one that can save its state saves it and
goes on later, a critical one is left alone. What could only stand still is left alone, too, because its
memory would stay on the GPU. An instance makes room for others once, so that it comes to its end.
"""

from __future__ import annotations

from dsec.yielding import devices_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set

    from dsec.runner import Runner


def make_room(runner: Runner, devices: Set[str], *, spared: Set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Stop what may be stopped on these devices; the instances that are."""
    yielding = runner.yields()
    found: set[tuple[int, int]] = set()
    for attempt in list(yielding.floor.running):
        name = (attempt.at, attempt.iteration)
        if name in spared or devices.isdisjoint(devices_of(attempt)):
            continue
        if yielding.leaves(attempt, "a Step of another run must not wait"):
            found.add(name)
    return found
