"""Which automatic snapshots are kept: of each run the marks and the last states, of runs the latest."""

from __future__ import annotations

from dsec_cli.snapshot.manifest import LIGHT, MANUAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.snapshot.manifest import Manifest

RUNS = 20
"""Runs whose automatic snapshots stay."""
LIGHTS = 12
"""States of one run, between its marks, that stay: the last hour."""


def passing(known: Iterable[Manifest], *, runs: int = RUNS, lights: int = LIGHTS) -> Iterator[str]:
    """Names of the automatic snapshots that are to go; what was taken by hand never is."""
    automatic = [one for one in known if one.kind != MANUAL and one.job]
    automatic.sort(key=lambda one: (one.created_ms, one.name), reverse=True)
    latest = list(dict.fromkeys(one.job for one in automatic))[:runs]
    seen: dict[str, int] = {}
    for one in automatic:
        if one.job not in latest:
            yield one.name
        elif one.kind == LIGHT:
            seen[one.job] = seen.get(one.job, 0) + 1
            if seen[one.job] > lights:
                yield one.name
