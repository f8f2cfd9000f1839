"""`dsec sandbox run --snapshot NAME`: the same as `dsec snapshot run NAME`."""

from __future__ import annotations

from dsec_cli.commands.snapshot_run import rerun
from dsec_cli.exit import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Run the snapshot."""
    if args.snapshot is None:
        raise UsageError("--snapshot is missing", hint="write: dsec sandbox run --snapshot NAME")
    return rerun(args, args.snapshot)
