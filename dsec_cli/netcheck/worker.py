"""One probe in a process of its own, beside others: a job on stdin, the reading on stdout."""

from __future__ import annotations

import json
import sys
from typing import Any

from dsec.codec import encode
from dsec.errors import DSecError
from dsec_cli.netcheck.line import Ask, connect
from dsec_cli.netcheck.probe import find_probes


def main() -> int:
    """Connect, say so, wait until all others have, and measure."""
    job = json.loads(sys.stdin.readline())
    try:
        line = connect((job["host"], job["port"]), bytes.fromhex(job["token"]))
        line.path_bytes = job["path_bytes"]
        probe = next(probe for probe in find_probes() if probe.name == job["probe"])
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        if sys.stdin.readline() != "go\n":
            return 1
        _say({"reading": encode(probe.measure(line, Ask(**job["ask"])))})
    except DSecError as problem:
        _say({"lost": problem.what})
    except OSError as problem:
        _say({"lost": problem.strerror or str(problem)})
    return 0


def _say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
