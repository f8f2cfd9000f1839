"""What keeps a snapshot from being run as it was, and what is only worth telling."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.snapshot.section import Difference

_STOPPING = frozenset(("code", "dependencies", "data"))
"""The environment is put back, the machine has a check of its own, and the rest is told."""
_ONLY_TOLD = frozenset(("commit", "branch", "busy"))


class Drift(Record):
    """The differences, sorted by what they mean for running it again."""

    stops: tuple[Difference, ...]
    told: tuple[Difference, ...]


def drift(differences: Iterable[Difference]) -> Drift:
    """Sort them out."""
    stops: list[Difference] = []
    told: list[Difference] = []
    for one in differences:
        matters = one.section in _STOPPING and one.kind not in ("unknown", "suspect")
        if matters and not (one.section == "code" and one.subject in _ONLY_TOLD and not one.path):
            stops.append(one)
        else:
            told.append(one)
    return Drift(tuple(stops), tuple(told))
