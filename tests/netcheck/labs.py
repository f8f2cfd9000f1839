"""Labs for tests: real packets between namespaces, or the reason why there are none here."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from dsec.codec import decode
from dsec_cli.netcheck.flows import Wants
from dsec_cli.netcheck.judge import judge
from dsec_cli.netcheck.replay import Floor, Leg
from dsec_cli.netcheck.statement import Statement

ROOT = Path(__file__).resolve().parents[2]
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
UNSHARE = ("unshare", "-Urnmpf", "--mount-proc", "--kill-child", "--propagation", "private")
ENVIRON = {**os.environ, "PATH": PATH, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}


class Outcome(NamedTuple):
    """What a measurement in a lab found."""

    leg: Leg
    statements: tuple[Statement, ...]
    router: dict[str, int]

    def wrong(self) -> set[tuple[str, str, str]]:
        """(aspect, state, cause) of all that is not as it should be; the sender's own slowness apart."""
        return {
            (one.aspect, one.state, one.cause)
            for one in self.statements
            if one.state not in ("ok", "absent") and not self.slow(one)
        }

    @staticmethod
    def slow(one: Statement) -> bool:
        """Whether it only says that this machine is busy: tests share it."""
        return one.aspect in ("rate", "flow") and "too busy" in one.text


@functools.cache
def missing(needs: str) -> str:
    """Why there is no lab here; "": there is."""
    for name in ("unshare", "ip", "tc", "mount", needs):
        if shutil.which(name, path=PATH) is None:
            return f"{name} is not installed"
    words = [*UNSHARE, "ip", "link", "add", "x", "type", "veth", "peer", "name", "y"]
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRON, check=False)
    return f"no namespaces here: {done.stderr.strip()}" if done.returncode else ""


def measure(
    *faults: str,
    probes: tuple[str, ...],
    flow: str = "here:b:64KiB@40/s",
    rate: int = 20_000_000,
    span_ms: int = 400,
    engine: str = "own",
    streams: int = 1,
) -> Outcome:
    """One flow in a lab with these faults."""
    job = {
        "faults": faults,
        "command": [],
        "probes": probes,
        "span_ms": span_ms,
        "stream_bps": rate,
        "streams": streams,
        "engine": engine,
        "wants": [None, None, None],
        "flow": flow,
    }
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "dsec_cli.netcheck.labinside"],
        input=json.dumps(job) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        env=ENVIRON,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert "failed" not in answer, answer
    leg = decode(Leg, answer["legs"][0])
    verdict = judge(leg, decode(Floor, answer["floor"]), Wants())
    return Outcome(leg, verdict.statements, answer["router"])
