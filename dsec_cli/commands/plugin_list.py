"""`dsec plugin list`: what is installed for a contract."""

from __future__ import annotations

import json

from dsec_cli.commands.plugin_checking import plugins_of
from dsec_cli.commands.plugin_known import standing_of
from dsec_cli.exit import YES
from dsec_cli.plugins.signing import installed
from dsec_cli.plugins.signing.trust import STATUSES
from dsec_cli.report.output import emit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args
    from dsec_cli.plugins.signing.installed import Installed


def main(args: Args) -> int:
    """List the plugins."""
    _, root = plugins_of(args.contract)
    found = [one._replace(status=standing_of(one)) for one in installed.installed(root)]
    if args.json:
        rows = [one._asdict() for one in found]
        emit(json.dumps({"version": 1, "plugins": rows}, indent=2) + "\n")
    elif not found:
        emit(f"no plugins in {root}\n")
    else:
        emit("".join(_row(one) for one in found))
    return YES


def _row(one: Installed) -> str:
    signer = f" (signed by {one.signer})" if one.signer and one.status in STATUSES else ""
    others = f"; also there: {', '.join(one.others)}" if one.others else ""
    return f"{one.name} {one.version}: {one.status}{signer}{others}\n"
