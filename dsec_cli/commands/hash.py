"""`dsec hash`: what a dependency's `hash:` has to say for a file or a folder."""

from __future__ import annotations

from dsec.contenthash import content_hash
from dsec_cli.exit import YES
from dsec_cli.report.output import emit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Print `blake3:HEX` or `sha256:HEX`."""
    emit(content_hash(args.path, args.algorithm) + "\n")
    return YES
