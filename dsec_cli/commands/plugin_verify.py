"""`dsec plugin verify`: who signed a package, and whether it is still what was signed."""

from __future__ import annotations

import json

from dsec_cli.commands.plugin_checking import checked, plugins_of
from dsec_cli.exit import NO, YES
from dsec_cli.plugins.signing.bundle import read_package
from dsec_cli.report.output import emit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Print where the package stands."""
    _, root = plugins_of(args.contract)
    found = checked(read_package(args.package), root)
    manifest, standing = found.manifest, found.standing
    if args.json:
        row = {"version": 1, "name": manifest.name, "plugin_version": manifest.version, **standing._asdict()}
        row["files"] = len(manifest.files)
        row["expires"] = manifest.expires.isoformat() if manifest.expires else None
        emit(json.dumps(row, indent=2) + "\n")
    else:
        emit(f"{manifest.comment}: {standing.status} ({standing.why})\n")
    return YES if standing.status == "trusted" else NO
