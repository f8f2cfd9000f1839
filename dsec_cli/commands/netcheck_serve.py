"""`dsec netcheck serve`: let other hosts measure the network to this one."""

from __future__ import annotations

import ipaddress
import signal
import sys
import time

from dsec import units
from dsec_cli.commands.netchecking import LEAST_BPS, address_of, quantity, seconds, token_of, token_path
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import YES, Terminated, UsageError
from dsec_cli.netcheck.line import Limits, shown
from dsec_cli.netcheck.serving import Server
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args

_DAY_S = 86_400.0


def main(args: Args) -> int:
    """Answer until ended, or for as long as was asked."""
    rate = int(quantity(units.BitsPerSecond, "max-rate", args.max_rate))
    if rate < LEAST_BPS:
        raise UsageError(say("--max-rate {text}: at least 64kbps", text=args.max_rate))
    limits = Limits(rate, max(1, round(seconds("max-time", args.max_time))))
    until = None if args.stop_after is None else seconds("stop-after", args.stop_after, most=30 * _DAY_S)
    allow = tuple(_allowed(text) for text in args.allow)
    path = token_path(args.token_file)
    server = Server(address_of(args.listen), token_of(path, make=True), limits=limits, allow=allow)
    signal.signal(signal.SIGTERM, _terminated)
    tell = listener(args.lang)
    try:
        line = say(
            "ds-netcheck: listening on {address}; the token is in {path}",
            address=shown(server.address),
            path=path,
        )
        sys.stdout.write(f"{tell(line)}\n")
        sys.stdout.flush()
        server.serve(until_s=None if until is None else time.monotonic() + until, once=args.once)
    finally:
        server.close()
    return YES


def _allowed(text: str) -> str:
    """An address as the kernel writes it: one that is written otherwise would let nobody in."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise UsageError(say("--allow {text}: no address", text=text), hint="10.0.0.1, fd00::1") from None


def _terminated(_number: int, _frame: object) -> None:
    raise Terminated
