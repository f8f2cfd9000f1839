"""`dsec netcheck lab`: two hosts and a router within this machine, to try netcheck on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from dsec import __version__
from dsec.codec import decode
from dsec.interpreter import apart
from dsec_cli.commands.netcheck_run import flow_in, wish_of
from dsec_cli.commands.netchecking import show, wants_of
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import Terminated, UsageError
from dsec_cli.netcheck.document import FORMAT, Report
from dsec_cli.netcheck.flows import HERE, Wants
from dsec_cli.netcheck.lab import DIES, TUN, LabProblem, fault_of
from dsec_cli.netcheck.replay import Floor, Leg
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args

_UNSHARE = ("unshare", "-Urnmpf", "--mount-proc", "--kill-child", "--propagation", "private")
_DEAF = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""No Ctrl-C while Python starts; afterwards labinside says what one means."""
_PEER = "b"
_TOOLS = ("unshare", "ip", "tc", "mount", "sysctl")


def main(args: Args) -> int:
    """Build the lab, measure in it or run a command, and print."""
    try:
        faults = [fault_of(text) for text in args.fault]
    except LabProblem as problem:
        raise UsageError(problem.what, hint=problem.hint) from None
    wants, wish = wants_of(args, Wants()), wish_of(args)
    if {(flow := flow_in(args.flow)).source, flow.target} != {HERE, _PEER}:
        raise UsageError(
            say("{flow}: the lab has only here and b", flow=args.flow), hint="here:b:256KiB@10/s"
        )
    for fault, value in faults:
        if fault.name == DIES and value not in wish.probes:
            raise UsageError(
                say("{fault}: no such probe is made", fault=f"{DIES}={value}"), hint=", ".join(wish.probes)
            )
    signal.signal(signal.SIGTERM, _terminated)
    _able({fault.needs for fault, _ in faults})
    job = {
        "faults": list(args.fault),
        "command": list(args.command),
        "flow": args.flow,
        "wants": list(wants),
        **wish._asdict(),
    }
    begun = int(time.time())
    code, answer = _carried_out(job)
    if args.command and answer is None:
        return code
    if answer is None or "failed" in answer:
        raise LabProblem(
            say("the lab could not be built: {why}", why=(answer or {}).get("failed", f"exit status {code}")),
            hint=(answer or {}).get("hint", ""),
        )
    floor = decode(Floor, answer["floor"], where="the lab's floor")
    legs = tuple(decode(Leg, leg, where="the lab's reading") for leg in answer["legs"])
    report = Report(FORMAT, f"dsec {__version__}", begun, socket.gethostname(), wants, floor, legs)
    code = show(report, args)
    if args.format == "text" and args.output is None:
        counts = answer["router"]
        line = say(
            "the router itself dropped {queue} in its queues, and its rules met {rules} packets",
            queue=counts["queue_drops"],
            rules=counts["rule_packets"],
        )
        sys.stdout.write(f"{listener(args.lang)(line)}\n")
    return code


def _able(needs: set[str]) -> None:
    if TUN in needs and not os.access(TUN, os.R_OK | os.W_OK):
        raise LabProblem(say("the lab needs {path}", path=TUN), hint="sudo modprobe tun")
    for name in (*_TOOLS, *sorted(needs - {TUN})):
        if shutil.which(name, path=_search()) is None:
            raise LabProblem(
                say("the lab needs the program {name}", name=name),
                hint="apt install util-linux iproute2 procps nftables",
            )
    done = subprocess.run([*_UNSHARE, "true"], capture_output=True, text=True, check=False, env=_environ())
    if done.returncode:
        raise LabProblem(
            say("namespaces are not allowed here: {why}", why=" ".join(done.stderr.split())),
            hint=say("`dsec doctor` says what forbids them"),
        )


def _search() -> str:
    """Programs of the network lie where ordinary users do not search."""
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _environ() -> dict[str, str]:
    return {**os.environ, "PATH": _search()}


def _carried_out(job: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
    """The exit status, and what was answered; None: a command of the user had the terminal."""
    own = bool(job["command"])
    if own:
        signal.signal(signal.SIGINT, _left_to_it)
    child = subprocess.Popen(
        [*_UNSHARE, *_DEAF, *apart("dsec_cli.netcheck.labinside")],
        stdin=subprocess.PIPE,
        stdout=None if own else subprocess.PIPE,
        text=True,
        env=_environ(),
        start_new_session=not own,  # Ctrl-C comes to this process alone, which ends the lab
    )
    try:
        said, _ = child.communicate(json.dumps(job) + "\n")
    except BaseException:
        child.kill()
        child.wait()
        raise
    if own:
        return child.returncode, None
    try:
        return child.returncode, json.loads(said)
    except ValueError:
        return child.returncode, None


def _left_to_it(_number: int, _frame: object) -> None:
    """Ctrl-C is for the user's command: a shell in the lab goes on."""


def _terminated(_number: int, _frame: object) -> None:
    raise Terminated
