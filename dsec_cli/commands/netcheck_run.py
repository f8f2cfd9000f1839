"""`dsec netcheck run`: replay flows between hosts, and judge the network by them."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import time

from dsec import __version__, units
from dsec.planfile import load_plan
from dsec_cli.commands.netchecking import (
    LEAST_BPS,
    history_folder,
    keep,
    peers_of,
    probes_of,
    quantity,
    seconds,
    show,
    token_of,
    token_path,
    wants_of,
)
from dsec_cli.exit import Terminated, UsageError
from dsec_cli.netcheck.document import FORMAT, Report
from dsec_cli.netcheck.flows import (
    HERE,
    MESSAGE_BYTES,
    Flow,
    FlowProblem,
    Wants,
    flows_of,
    overridden,
    parse_flow,
)
from dsec_cli.netcheck.replay import MOST_STREAMS, Replay, Wish, replayed
from dsec_cli.report.output import to_stderr
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec.plan import Plan
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Measure, keep, print."""
    wish = wish_of(args)
    peers = peers_of(args.peers)
    plan = load_plan(args.plan) if args.plan is not None else None
    flows = _flows(plan, args, peers)
    wants = wants_of(args, _stated(plan))
    # Within this host alone there is nobody to agree with.
    token = token_of(token_path(args.token_file)) if set(peers) - {HERE} else secrets.token_bytes(32)
    signal.signal(signal.SIGTERM, _terminated)
    begun = int(time.time())
    known = {name: address for name, address in peers.items() if name != HERE}
    replay = Replay(known, token, wish=wish, tell=str if args.quiet else _told)
    try:
        floor, legs = replayed(replay, flows, wants)
    finally:
        replay.close()
    report = Report(FORMAT, f"dsec {__version__}", begun, socket.gethostname(), wants, floor, legs)
    try:
        return show(report, args)
    finally:  # what was measured is kept, whether or not it can be shown
        if not args.no_history:
            keep(report, history_folder(args.history))


def wish_of(args: Args) -> Wish:
    """How to measure, as the options say."""
    if args.streams is not None and not 1 <= args.streams <= MOST_STREAMS:
        raise UsageError(say("--streams {count}: from 1 to {most}", count=args.streams, most=MOST_STREAMS))
    rate = int(quantity(units.BitsPerSecond, "rate", args.rate))
    if rate < LEAST_BPS:
        raise UsageError(say("--rate {text}: at least 64kbps", text=args.rate))
    return Wish(
        probes=probes_of(args.probes),
        span_ms=int(seconds("duration", args.duration, most=60.0) * 1000),
        stream_bps=rate,
        streams=args.streams or 0,
        engine=args.engine,
    )


def _flows(plan: Plan | None, args: Args, peers: Mapping[str, object]) -> tuple[Flow, ...]:
    """The plan's and the stated ones; without both, one to each peer, or through this host alone."""
    stated = [flow_in(text) for text in args.flow]
    planned = flows_of(plan, peers) if plan is not None else ()
    flows = overridden(planned, stated)
    if plan is not None and not flows:
        raise UsageError(
            say("no flow of {plan} crosses a network: its Steps run on one machine", plan=args.plan),
            hint=say("--peers STEP=HOST says where a Step will run; or --flow states one"),
        )
    if flows:
        return flows
    targets = sorted({*peers} - {HERE}) or [HERE]
    return tuple(Flow(HERE, name, MESSAGE_BYTES, 0, 1, "tcp", "no plan and no flow") for name in targets)


def flow_in(text: str) -> Flow:
    """A flow of the command line."""
    try:
        return parse_flow(text)
    except FlowProblem as problem:
        raise UsageError(problem.what, hint=problem.hint) from None


def _stated(plan: Plan | None) -> Wants:
    network = plan.network if plan is not None else None
    return Wants() if network is None else Wants(*network)


def _told(what: str) -> None:
    to_stderr(f"ds-netcheck: {what}\n")
    sys.stderr.flush()


def _terminated(_number: int, _frame: object) -> None:
    raise Terminated
