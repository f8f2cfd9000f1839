"""The far end of the lab: a server in a process of its own, so that it can be killed."""

from __future__ import annotations

import json
import sys

from dsec_cli.netcheck.line import Limits
from dsec_cli.netcheck.serving import Server


def main() -> int:
    """Serve until killed."""
    job = json.loads(sys.stdin.readline())
    server = Server((job["host"], job["port"]), bytes.fromhex(job["token"]), limits=Limits(), quiet=True)
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    server.serve()
    return 0
