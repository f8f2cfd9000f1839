"""The cross-check: iperf3, where both ends have it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from typing import Any

from dsec_cli.netcheck.readings import Bulk
from dsec_cli.netcheck.wire import LineLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.line import Ask, End, Line

PROGRAM = "iperf3"


def answer(end: End) -> dict[str, Any]:
    """Serve two tests, one each way, on a port of its own."""
    path = shutil.which(PROGRAM)
    if path is None:
        return {"failed": "iperf3 is not installed there (apt install iperf3)"}
    with socket.socket(end.family, socket.SOCK_STREAM) as sock:
        sock.bind((end.here, 0))
        port = sock.getsockname()[1]
    server = subprocess.Popen(
        [path, "-s", "-p", str(port), "-B", end.here, "--forceflush"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdout is not None
    try:
        for line in server.stdout:
            if "listening" in line:
                break
        end.channel.send({"port": port})
        end.channel.receive(within_s=3.0 * end.limits.span_s)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    return {"ended": True}


def measure(line: Line, ask: Ask) -> Bulk:
    """TCP both ways by iperf3; raises LineLost where it cannot be had."""
    path = shutil.which(PROGRAM)
    if path is None:
        raise LineLost("iperf3 is not installed here", hint="apt install iperf3, or leave --engine out")
    port = int(line.call("iperf3")["port"])
    forward = _run(line, ask, path=path, port=port, back=False)
    back = _run(line, ask, path=path, port=port, back=True)
    line.call("done")
    sent, received = forward["end"]["sum_sent"], forward["end"]["sum_received"]
    stream = forward["end"]["streams"][0]["sender"]
    cpu = forward["end"]["cpu_utilization_percent"]
    span_ns = int(float(sent["seconds"]) * 1e9)
    return Bulk(
        forward_bps=int(received["bits_per_second"]),
        forward_resent=int(sent.get("retransmits", 0)),
        forward_segments=int(sent["bytes"]) // 1448,
        rtt_ns=int(stream.get("mean_rtt", 0)) * 1000,
        least_rtt_ns=int(stream.get("min_rtt", 0)) * 1000,
        limited="network",
        cpu_ns_here=int(cpu["host_total"] / 100 * span_ns),
        cpu_ns_peer=int(cpu["remote_total"] / 100 * span_ns),
        back_bps=int(back["end"]["sum_received"]["bits_per_second"]),
        back_resent=int(back["end"]["sum_sent"].get("retransmits", 0)),
        streams=1,
    )


def _run(line: Line, ask: Ask, *, path: str, port: int, back: bool) -> dict[str, Any]:
    span_s = max(1, min(ask.span_ms // 1000, line.limits.span_s))
    words = [path, "-c", line.peer, "-p", str(port), "-B", line.here, "-t", str(span_s), "-J"]
    words += ["-b", str(line.limits.rate_bps), *(["-R"] if back else [])]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=span_s + 15, check=False)
        document = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        raise LineLost("iperf3 gave no answer") from None
    if not isinstance(document, dict) or document.get("error"):
        raise LineLost(f"iperf3: {str(document.get('error'))[:200]}")
    return document
