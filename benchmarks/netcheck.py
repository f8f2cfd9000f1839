"""One TCP stream over veth: what ds-netcheck carries beside iperf3, in wall time and per second of processor.

Two network namespaces joined by a veth pair, built below a user namespace (no root needed). In each round
every program sends once for some seconds, in turn, so that all meet the same load; medians of the rounds.
The processor's time is that of both ends while they send: iperf3's own figures for iperf3, the processes'
own clocks for ds-netcheck. Its receiver lets the kernel drop what came (MSG_TRUNC), and is woken for half
a mebibyte at a time (SO_RCVLOWAT); `copying` is the same sender with a receiver that is woken so, too, and
copies into its memory, as iperf3's does; `woken each time` does so for all that comes.

    python benchmarks/netcheck.py [--rounds 5] [--seconds 2]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "runtime")]
INSIDE = "DSEC_BENCHMARK_INSIDE"
HERE, THERE = "10.88.0.1", "10.88.0.2"
PORT, IPERF_PORT = 7471, 5201
COPYING = """
import socket, sys, time
listening = socket.create_server((sys.argv[1], 7472))
print("listening", flush=True)
room = bytearray(1 << 20)
while True:
    sock, _ = listening.accept()
    sock.settimeout(6)
    count = first = last = 0
    once = int(sock.recv(7))
    cpu = time.process_time_ns()
    while got := sock.recv_into(room):
        last = time.monotonic_ns()
        first = first or last
        count += got
        if once > 1 and count > 1 << 24:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, once)
            once = 1
    sock.sendall(f"{count} {last - first} {time.process_time_ns() - cpu}\\n".encode())
    sock.close()
"""
SERVING = """
import sys
from dsec_cli.netcheck.line import Limits
from dsec_cli.netcheck.serving import Server
server = Server((sys.argv[1], 7471), b"x" * 32, limits=Limits(rate_bps=10**12), quiet=True)
print("listening", flush=True)
server.serve()
"""


def main() -> int:
    """Re-start within namespaces, and measure there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    asked = parser.parse_args()
    if shutil.which("iperf3") is None:
        print("not measured, because iperf3 is not installed: apt install iperf3")
        return 0
    if os.environ.get(INSIDE) != "1":
        words = ["unshare", "-Urnmpf", "--mount-proc", "--kill-child", sys.executable, *sys.argv]
        return subprocess.run(words, env={**os.environ, INSIDE: "1"}, check=False).returncode
    build()
    servers = [
        start("iperf3", "-s", "-B", THERE, "--forceflush"),
        start(sys.executable, "-c", SERVING, THERE),
        start(sys.executable, "-c", COPYING, THERE),
    ]
    try:
        return compare(asked.rounds, asked.seconds)
    finally:
        for server in servers:
            server.kill()


def build() -> None:
    """The far end is a namespace called b."""
    script = f"""
    mount -t tmpfs none /run && mkdir /run/netns && ip netns add b
    ip link add here type veth peer name there netns b
    ip addr add {HERE}/24 dev here && ip link set here up && ip link set lo up
    ip -n b addr add {THERE}/24 dev there && ip -n b link set there up && ip -n b link set lo up
    """
    subprocess.run(["sh", "-e", "-c", script], check=True)


def start(*words: str) -> subprocess.Popen[str]:
    """A server at the far end, listening."""
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}
    server = subprocess.Popen(
        ["ip", "netns", "exec", "b", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environ,
    )
    assert server.stdout is not None
    for line in server.stdout:
        if "istening" in line:
            return server
    raise SystemExit(f"{words[0]} did not start")


Result = tuple[float, float]
"""Gbit/s, and Gbit per second of processor."""


def iperf(seconds: float, *more: str) -> Result:
    """Debian's program, with its own account of both processors."""
    words = ["iperf3", "-c", THERE, "-t", str(max(1, round(seconds))), "-J", *more]
    document = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["end"]
    rate, span = document["sum_received"]["bits_per_second"], document["sum_sent"]["seconds"]
    cpu = document["cpu_utilization_percent"]
    busy = (cpu["host_total"] + cpu["remote_total"]) / 100 * span
    return rate / 1e9, rate * span / busy / 1e9


def own(seconds: float) -> Result:
    """The bulk probe's way there, as the product makes it."""
    from dsec_cli.netcheck.line import connect, joined
    from dsec_cli.netcheck.tcp import drain, pace, pour

    line = connect((THERE, PORT), b"x" * 32)
    port = int(line.call("bulk", span_ms=10)["port"])
    with joined(line, port) as sock:
        pace(sock, line.limits.rate_bps)
        sent = pour(sock, seconds)
        told = line.answer(within_s=10)
    with joined(line, port) as sock:
        drain(sock)
    line.answer()
    line.close()
    bits = int(told["bytes"]) * 8
    return bits / int(told["span_ns"]), bits / (sent.cpu_ns + int(told["cpu_ns"]))


def copying(seconds: float, once: int) -> Result:
    """The same sender; the receiver copies, and is woken for so many bytes."""
    from dsec_cli.netcheck.tcp import pour

    with socket.create_connection((THERE, 7472)) as sock:
        sock.settimeout(6)
        sock.sendall(b"%7d" % once)
        sent = pour(sock, seconds)
        count, span, cpu = map(int, sock.makefile().readline().split())
    return count * 8 / span, count * 8 / (sent.cpu_ns + cpu)


def compare(rounds: int, seconds: float) -> int:
    """Alternately; ratios are to plain iperf3."""
    programs = {
        "iperf3": lambda: iperf(seconds),
        "iperf3 -Z": lambda: iperf(seconds, "-Z"),
        "ds-netcheck": lambda: own(seconds),
        "ds-netcheck, copying": lambda: copying(seconds, 1 << 19),
        "the same, woken each time": lambda: copying(seconds, 1),
    }
    found: dict[str, list[Result]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, measure in programs.items():
            found[name].append(measure())
            time.sleep(0.2)
    base = [statistics.median(column) for column in zip(*found["iperf3"], strict=True)]
    version = subprocess.run(
        ["iperf3", "--version"], capture_output=True, text=True, check=True
    ).stdout.split("\n")[0]
    print(
        f"{version}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, Python {sys.version.split()[0]}"
    )
    print(f"{'':26} {'Gbit/s':>8} {'ratio':>6} {'Gbit per CPU s':>15} {'ratio':>6}")
    good = True
    for name, rows in found.items():
        wall, cpu = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{name:26} {wall:8.2f} {wall / base[0]:6.2f} {cpu:15.2f} {cpu / base[1]:6.2f}")
        if name == "ds-netcheck":
            good = wall >= base[0] and cpu >= base[1]
    print("target: ds-netcheck at least 1.0 of iperf3 in both:", "met" if good else "MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
