"""One probe in a process of its own, beside others: a job on stdin, the reading on stdout."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Any

from dsec.codec import encode
from dsec.errors import DSecError
from dsec_cli.netcheck.line import Ask, connect
from dsec_cli.netcheck.probe import find_probes

_DEATH_SIGNAL = 1


def main() -> int:
    """Connect, say so, wait until all others have, and measure."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)  # nobody sends for a program that is gone
    said = sys.stdin.readline()
    job: dict[str, Any] = json.loads(said) if said else {"parent": None}
    if os.getppid() != job["parent"]:
        return 1
    try:
        line = connect((job["host"], job["port"]), bytes.fromhex(job["token"]))
        line.path_bytes = job["path_bytes"]
        line.limits = line.limits._replace(rate_bps=min(line.limits.rate_bps, job["rate_bps"]))
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
    try:
        sys.stdout.write(json.dumps(document) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # who asked is gone
        os._exit(1)
