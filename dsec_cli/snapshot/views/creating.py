"""What is told when a snapshot has been taken."""

from __future__ import annotations

from dsec_cli.cells import shown
from dsec_cli.snapshot.manifest import ABSENT, PARTIAL
from dsec_cli.snapshot.views.inspecting import told_of
from dsec_cli.snapshot.views.quantities import counted, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.redaction import Found
    from dsec_cli.snapshot.shelf import View

    Paint = Callable[[str, str], str]

FORMAT = "dsec.snapshot-created/1"
MOST = 8


def render(view: View, redactions: Sequence[tuple[str, Found]], *, paint: Paint, took_s: float) -> str:
    """A few lines: what is in, what is not, what was replaced."""
    manifest = view.manifest
    wide = max(len(one.name) for one in manifest.sections)
    lines = [
        f"  {one.name:<{wide}}  {size(one.size):>9}  {shown(told_of(view, one))}".rstrip()
        for one in manifest.sections
        if one.status != ABSENT
    ]
    for one in manifest.sections:
        if one.status == PARTIAL:
            lines.append(f"  {one.name:<{wide}}  {paint('partial', '33')}: {shown(one.reason)}")
        if one.status == ABSENT:
            lines.append(f"  {one.name:<{wide}}  {paint('absent', '2')}: {shown(one.reason)}")
    if redactions:
        told = (
            f"{counted(len(redactions), 'secret')} replaced by keyed digests (--accept DIGEST: it is none):"
        )
        lines.append(paint(told, "1"))
        for where, found in redactions[:MOST]:
            place = f"{where}:{found.line}" if found.line else where
            lines.append(f"  {shown(place)}  {found.kind}  {found.digest}")
        if len(redactions) > MOST:
            lines.append(f"  ... and {len(redactions) - MOST} more (dsec snapshot inspect)")
    if view.store.compression != "zstd":
        lines.append(
            "compressed with zlib: pip install 'dsec[snapshot]' makes snapshots smaller, and sooner done"
        )
    lines.append(f"{paint(manifest.name, '1')}  {manifest.id[:12]}  taken in {took_s:.2f} s")
    return "".join(f"{line}\n" for line in lines)


def document(view: View, redactions: Sequence[tuple[str, Found]]) -> Plain:
    """The same for programs."""
    manifest = view.manifest
    return {
        "format": FORMAT,
        "name": manifest.name,
        "id": manifest.id,
        "sections": {
            one.name: {"status": one.status, "reason": one.reason or None, "bytes": one.size}
            for one in manifest.sections
        },
        "redactions": [
            {"where": where, "line": found.line or None, "kind": found.kind, "digest": found.digest}
            for where, found in redactions
        ],
    }
