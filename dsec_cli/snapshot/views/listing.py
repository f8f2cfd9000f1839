"""The snapshots of a store in a table."""

from __future__ import annotations

from dsec_cli.cells import shown
from dsec_cli.snapshot.manifest import ABSENT, PRESENT
from dsec_cli.snapshot.views.quantities import counted, moment, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.store import Usage
    from dsec_cli.snapshot.manifest import Manifest, Plain

FORMAT = "dsec.snapshots/1"


def render(known: Sequence[Manifest], odd: Sequence[tuple[str, str]], usage: Usage) -> str:
    """The table; without any, a line. `odd` cannot be read."""
    if not known and not odd:
        return "no snapshots yet: dsec snapshot create makes one\n"
    rows = [("NAME", "ID", "TAKEN (UTC)", "OF", "SIZE", "NOT WHOLE")]
    rows += [
        (
            one.name,
            one.id[:12],
            moment(one.created_ms),
            f"{one.kind} {one.job}".strip() if one.kind != "manual" else "by hand",
            size(sum(section.size for section in one.sections)),
            ", ".join(section.name for section in one.sections if section.status not in (PRESENT, ABSENT)),
        )
        for one in known
    ]
    wide = [max(len(row[at]) for row in rows) for at in range(6)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)).rstrip() for row in rows
    ]
    lines += [f"unreadable: {shown(why)}" for _, why in odd]
    lines.append(f"{counted(len(known), 'snapshot')}, {size(usage.stored_bytes)} on the disk")
    return "".join(f"{line}\n" for line in lines)


def document(known: Sequence[Manifest], odd: Sequence[tuple[str, str]], usage: Usage) -> Plain:
    """The same for programs."""
    return {
        "format": FORMAT,
        "snapshots": [
            {
                "name": one.name,
                "id": one.id,
                "created_ms": one.created_ms,
                "kind": one.kind,
                "job": one.job or None,
                "bytes": sum(section.size for section in one.sections),
                "sections": {section.name: section.status for section in one.sections},
            }
            for one in known
        ],
        "unreadable": [{"name": name, "why": why} for name, why in odd],
        "stored_bytes": usage.stored_bytes,
    }
