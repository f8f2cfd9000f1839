"""The lab's router as far as the kernel cannot be it: delays, damages and reorders packets, or adds some.

Its `main` runs within the router's namespace; a job on stdin, `ready` on stdout.
Packets come by a TUN device, to which the router's rules send what arrives at its two ports, and go back
into it: the kernel then forwards them as it would have done at once.
"""

from __future__ import annotations

import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SET, _TUN, _PLAIN = 0x400454CA, 0x0001, 0x1000
_NAME = "relay0"
_TABLES = ("101", "102")
_LATER_NS = 3_000_000
"""How much longer a packet takes that is to come out of order."""
_MOST = 100_000
"""Packets on their way: more are lost, as on any long line."""
_LLDP = b"\x01\x80\xc2\x00\x00\x0e" + b"\x02" * 6 + b"\x88\xcc" + bytes(50)
_EACH_S = 0.05
_SIZE = 1000
_FOREVER_S = 600.0
"""The lab ends before; whoever is left over then goes by itself."""


def main() -> int:
    """Do what the job says until killed."""
    job = json.loads(sys.stdin.readline())
    work: Callable[[], None]
    if job["kind"] == "relay":
        work = _relay(job)
    elif job["kind"] == "frames":
        work = _frames(job)
    else:
        work = _traffic(job)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    work()
    return 0


def _relay(job: dict[str, str]) -> Callable[[], None]:
    number = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(number, _SET, struct.pack("16sH14x", _NAME.encode(), _TUN | _PLAIN))
    for words in (
        ("ip", "link", "set", "dev", _NAME, "up", "txqueuelen", "10000"),
        *(("ip", "route", "add", "default", "dev", _NAME, "table", table) for table in _TABLES),
    ):
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return lambda: _forward(number, _Treatment(job))


class _Treatment:
    """What becomes of one packet."""

    def __init__(self, job: dict[str, str]) -> None:
        self._delay_ns = int(job.get("delay", "0")) * 500_000
        self._damage = int(job.get("damage", "0")) / 100
        self._reorder = int(job.get("reorder", "0")) / 100
        self._peer = socket.inet_aton(job["peer"])
        self._random = random.Random(int(job.get("seed", "1")))  # noqa: S311  # the same faults every time

    def of(self, packet: bytes) -> tuple[bytes, int]:
        """The packet as it goes on, and how long it is kept."""
        delay = self._delay_ns
        if packet[16:20] != self._peer:
            return packet, delay
        if self._damage and len(packet) > 64 and self._random.random() < self._damage:
            at = self._random.randrange(48, len(packet))
            packet = packet[:at] + bytes((packet[at] ^ 0x5A,)) + packet[at + 1 :]
        if self._reorder and self._random.random() < self._reorder:
            delay += _LATER_NS
        return packet, delay


def _forward(number: int, treatment: _Treatment) -> None:
    waiting: list[tuple[int, int, bytes]] = []
    count, until = 0, time.monotonic() + _FOREVER_S
    while time.monotonic() < until:
        now = time.monotonic_ns()
        while waiting and waiting[0][0] <= now:
            _put(number, heapq.heappop(waiting)[2])
        left = max(0.0, (waiting[0][0] - now) / 1e9) if waiting else 1.0
        if not select.select([number], [], [], left)[0]:
            continue
        for _ in range(64):
            try:
                packet, delay = treatment.of(os.read(number, 65536))
            except BlockingIOError:
                break
            if not delay:
                _put(number, packet)
            elif len(waiting) < _MOST:
                count += 1
                heapq.heappush(waiting, (time.monotonic_ns() + delay, count, packet))


def _put(number: int, packet: bytes) -> None:
    try:
        os.write(number, packet)
    except OSError:  # a packet that the kernel does not take is lost
        return


def _frames(job: dict[str, str]) -> Callable[[], None]:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((job["device"], 0))

    def send() -> None:
        until = time.monotonic() + _FOREVER_S
        while time.monotonic() < until:
            sock.send(_LLDP)
            time.sleep(_EACH_S)

    return send


def _traffic(job: dict[str, str]) -> Callable[[], None]:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    gap_s = (_SIZE + 42) * 8 / int(job["rate_bps"])

    def send() -> None:
        due = time.monotonic()
        until, data = due + _FOREVER_S, bytes(_SIZE)
        while (now := time.monotonic()) < until:
            due = max(due, now - 0.05)
            while due <= now:
                sock.sendto(data, (job["peer"], 9))
                due += gap_s
            time.sleep(max(0.0005, due - now))

    return send
