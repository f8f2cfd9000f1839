"""What stands between a snapshot and its next run, for programs."""

from __future__ import annotations

import json

from dsec_cli.snapshot.hostcheck import worst
from dsec_cli.snapshot.views.diffjson import entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.snapshot.drift import Drift
    from dsec_cli.snapshot.hostcheck import Axis
    from dsec_cli.snapshot.manifest import Manifest
    from dsec_cli.snapshot.replay import Replayed

FORMAT = "dsec.snapshot-run/1"


def render(
    manifest: Manifest, axes: tuple[Axis, ...], found: Drift, replayed: Replayed | None, *, runs: bool
) -> str:
    """The document as text; `runs`: nothing stands in the way."""
    document = {
        "format": FORMAT,
        "name": manifest.name,
        "id": manifest.id,
        "runs": runs,
        "machine": {"verdict": worst(axes), "axes": [_axis(one) for one in axes]},
        "stops": [entry(one) for one in found.stops],
        "told": [entry(one) for one in found.told],
        "environment": None if replayed is None else _environment(replayed),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _axis(one: Axis) -> dict[str, object]:
    return {
        "name": one.name,
        "verdict": one.verdict,
        "before": one.before,
        "after": one.after,
        "says": one.says or None,
        "variables": dict(one.variables),
    }


def _environment(found: Replayed) -> dict[str, object]:
    return {
        "set": dict(found.put),
        "unset": list(found.taken),
        "kept": list(found.kept),
        "missing": list(found.hidden),
    }
