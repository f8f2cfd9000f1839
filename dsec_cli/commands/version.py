"""`dsec version`: what is installed, for bug reports."""

from __future__ import annotations

import sys

from dsec_cli.report.versions import versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Print the table, or the same as JSON."""
    rows = versions()
    if args.json:
        import json

        sys.stdout.write(json.dumps(dict(rows), indent=2, ensure_ascii=False) + "\n")
        return 0
    width = max(len(name) for name, _ in rows)
    sys.stdout.writelines(f"{name:<{width}}  {version}\n" for name, version in rows)
    return 0
