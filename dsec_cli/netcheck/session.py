"""The process that answers one connection: its `main` takes two descriptors, settings on stdin.

The descriptors are those of the connection, on which the server has made sure that the client knows the
token, and of the rate that all sessions share.

Each session has a process of its own, so that two measurements at a time do not wait for each other
and one that fails takes nothing along.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import time
from typing import Any, NoReturn

from dsec_cli.netcheck import wire
from dsec_cli.netcheck.facts import facts
from dsec_cli.netcheck.line import Ask, End, Limits, connect
from dsec_cli.netcheck.names import resolve
from dsec_cli.netcheck.probe import find_probes
from dsec_cli.netcheck.rate_budget import RateBudget
from dsec_cli.netcheck.wire import LineLost, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_IDLE_S = 60.0
_SESSION_S = 1800.0
"""Nothing goes on for longer, whoever asks."""
_DEATH_SIGNAL = 1
_LEAST_BPS = 64_000


def main() -> NoReturn:
    """Answer until the other end leaves; ends the process, as nothing is to be put in order."""
    signal.signal(signal.SIGTERM, _ended)
    code = _answered()
    sys.stderr.flush()
    os._exit(code)


def _answered() -> int:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)  # the server's end is ours
    if os.getppid() != settings["parent"]:
        return 1
    sock = socket.socket(fileno=int(sys.argv[1]))
    token = bytes.fromhex(settings["token"])
    limits = Limits(settings["rate_bps"], settings["span_s"])
    who = sock.getpeername()[0]
    note = _silence if settings["quiet"] else _note
    channel = wire.taken_over(sock, settings["keys"])
    budget = RateBudget(limits.rate_bps, fd=int(sys.argv[2]))
    try:
        channel.send({"rate_bps": limits.rate_bps, "span_s": limits.span_s})
        _answer(End(channel, limits, budget), token, note)
    except LineLost as problem:
        note(f"{who}: {problem.what}")
        return 1
    finally:
        channel.close()
    return 0


def _answer(end: End, token: bytes, note: Callable[[str], None]) -> None:
    probes = {probe.name: probe for probe in find_probes()}
    until = time.monotonic() + _SESSION_S
    while time.monotonic() < until:
        try:
            asked = end.channel.receive(within_s=_IDLE_S)
        except LineLost as problem:
            if problem.what == "the other end closed the connection":
                return
            raise
        what = str(asked.get("do"))
        note(f"{end.peer}: {what[:40] if what.isprintable() else '?'}")
        try:
            end.channel.send(_done(end, asked, what=what, token=token, probes=probes))
        except (OSError, ValueError, KeyError, TypeError, ArithmeticError) as problem:
            end.channel.send({"failed": f"{what}: {problem}"})


def _done(
    end: End, asked: dict[str, Any], *, what: str, token: bytes, probes: dict[str, Any]
) -> dict[str, Any]:
    if what == "facts":
        return facts(end.here)
    if what == "resolve":
        known = resolve([str(name)[:253] for name in asked["names"]])
        return {"known": {name: list(addresses) for name, addresses in known.items()}}
    if what == "clock":
        return {"at_ns": time.time_ns()}
    if what == "relay":
        return _relay(end, asked, token)
    if what == "iperf3":
        from dsec_cli.netcheck.iperf import answer

        return answer(end)
    if what not in probes:
        return {"failed": f"there is no probe {what[:40]!r} here"}
    answered: dict[str, Any] = probes[what].answer(end, asked)
    return answered


def _relay(end: End, asked: dict[str, Any], token: bytes) -> dict[str, Any]:
    """Measure from here to a third host, which must know the token, too."""
    from dsec_cli.netcheck.measuring import measured, told

    host = str(asked["host"]) or end.peer
    ask = Ask(**{name: int(asked["ask"][name]) for name in Ask._fields})
    try:
        line = connect((host, int(asked["port"])), token)
    except (LineLost, Refused) as problem:
        return {"lost": problem.what, "hint": problem.hint, "refused": isinstance(problem, Refused)}
    # What this end allows counts for what it sends, too.
    limits = Limits(*map(min, line.limits, end.limits))
    granted = end.budget.promise(limits.rate_bps)
    try:
        if granted < _LEAST_BPS:
            return {"lost": "other sessions there use all of its --max-rate", "refused": True}
        line.limits = limits._replace(rate_bps=granted)
        names = tuple(map(str, asked["probes"]))
        return {"measured": told(measured(line, ask, names, token=token, port=int(asked["port"])))}
    finally:
        end.budget.release(granted)
        line.close()


def _silence(_text: str) -> None:
    """Nobody reads what a server within a measuring program says."""


def _note(text: str) -> None:
    try:
        sys.stderr.write(f"ds-netcheck: {text}\n")
        sys.stderr.flush()
    except OSError:
        return


def _ended(_number: int, _frame: object) -> None:
    os._exit(143)
