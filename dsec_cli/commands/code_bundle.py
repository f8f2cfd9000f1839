"""`dsec code bundle`: the code as git sees it in one archive, the same bytes for the same files."""

from __future__ import annotations

import gzip
import os
import sys

from dsec.hashing import hasher
from dsec_cli.cells import shown
from dsec_cli.commands.snapshotting import exclusion, key_of_user, project, redactor
from dsec_cli.exit import YES, UsageError
from dsec_cli.report.output import emit, emit_bytes, to_stderr
from dsec_cli.snapshot import acceptance
from dsec_cli.snapshot.bundle import archive
from dsec_cli.snapshot.capture import refuse_root
from dsec_cli.snapshot.listing import list_code
from dsec_cli.snapshot.secretfiles import withheld
from dsec_cli.snapshot.spelling import readable
from dsec_cli.snapshot.views.quantities import counted, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args

_LEVEL = 6


def main(args: Args) -> int:
    """Write the archive; what was left out is told on standard error."""
    place = project(args.dir)
    refuse_root(place.folder, os.path.expanduser("~"))
    listing = list_code(place.folder, os.environ, exclusion(place))
    engine = redactor(place, args.accept)
    kept = tuple(one for one in listing.taken if one.link or not withheld(os.fsdecode(one.path)))
    if engine.text("\n".join(readable(one.path) for one in kept))[1]:
        kept = tuple(one for one in kept if not engine.text(readable(one.path))[1])
    data, redacted = archive(place.folder, listing._replace(taken=kept), engine)
    if args.accept:
        acceptance.remember(place.state, args.accept, key_of_user())
    target = args.output or f"{os.path.basename(place.folder)}.tar.gz"
    if target == "-" and sys.stdout.isatty():
        raise UsageError(
            "an archive is no text for a terminal", hint="name a file with -o, or redirect the output"
        )
    packed = data if target.endswith(".tar") else gzip.compress(data, _LEVEL, mtime=0)
    emit_bytes(packed, target)
    state = hasher("blake3")
    state.update(packed)
    lines = [f"left out: {shown(readable(one.path))}  {one.why}" for one in listing.left_out[:20]]
    lines += [f"secret replaced: {shown(path)}:{line}" for path, line in redacted]
    lines += [f"partial: {reason}" for reason in listing.reasons]
    to_stderr("".join(f"{line}\n" for line in lines))
    if target != "-":
        emit(
            f"{target}  {counted(len(kept), 'file')}, {size(len(packed))}, blake3 {state.hexdigest()[:16]}\n"
        )
    return YES
