"""Differences for programs."""

from __future__ import annotations

import json

from dsec_cli.snapshot.diff import same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.snapshot.manifest import Manifest
    from dsec_cli.snapshot.section import Difference

FORMAT = "dsec.snapshot-diff/1"


def document(
    differences: Sequence[Difference], before: Manifest, after: Manifest, *, live: bool
) -> dict[str, object]:
    """The differences as JSON-ready data, in their order."""
    return {
        "format": FORMAT,
        "before": {"name": before.name, "id": before.id},
        "after": {"name": None if live else after.name, "id": after.id, "live": live},
        "same": same(differences),
        "differences": [entry(one) for one in differences],
    }


def entry(one: Difference) -> dict[str, object]:
    """One difference."""
    return {
        "section": one.section,
        "kind": one.kind,
        "subject": one.subject,
        "before": one.before or None,
        "after": one.after or None,
        "weight": one.weight,
        "cause": one.cause or None,
        "path": one.path or None,
        "line": one.line or None,
        "hunks": [
            {
                "before_line": hunk.before_at,
                "after_line": hunk.after_at,
                "where": hunk.where or None,
                "lines": [sign + text for sign, text in hunk.lines],
            }
            for hunk in one.hunks
        ],
    }


def render(differences: Sequence[Difference], before: Manifest, after: Manifest, *, live: bool) -> str:
    """The document as text."""
    return json.dumps(document(differences, before, after, live=live), indent=2, ensure_ascii=False) + "\n"
