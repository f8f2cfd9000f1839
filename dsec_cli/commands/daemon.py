"""`dsec daemon`: the broker of this user's runs in the foreground, and a look at it."""

from __future__ import annotations

import json
import os
import signal
import sys

from dsec.broker import place
from dsec.broker.asked import members
from dsec.errors import FileProblem
from dsec.progress import span
from dsec.words import system
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import INTERRUPTED, NO, TERMINATED, YES
from dsec_cli.report.output import emit, to_stderr
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from dsec.broker.asked import Member
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell

    T = TypeVar("T")
    U = TypeVar("U")

_HUNG_UP = 129
_US_PER_HOUR = 3_600_000_000


def main(args: Args) -> int:
    """Be the broker, or show it."""
    tell = listener(args.lang)
    if args.show:
        return _show(_usable(place.named, os.environb), tell, as_json=args.json)
    return _serve(_usable(place.folder, os.environb), tell)


def _usable(ask: Callable[[T], U], what: T) -> U:
    """The answer; a folder that cannot be used is told in words."""
    try:
        return ask(what)
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=problem.filename, why=system(problem)),
            hint=say("remove it, or name another folder in {name}", name="XDG_RUNTIME_DIR"),
        ) from None


def _serve(folder: str, tell: Tell) -> int:
    from dsec.broker.serving import serve

    elected = _usable(place.elect, folder)
    if elected is None:
        line = say(
            "there is a broker already: process {pid} ({folder})", pid=place.holder(folder), folder=folder
        )
        to_stderr(tell(line) + "\n")
        return NO
    line = say("process {pid} shares the GPUs of this machine ({folder})", pid=os.getpid(), folder=folder)
    to_stderr(tell(line) + "\n")
    number = serve(folder, elected, idle_s=None)
    if not number:
        return YES  # its folder was removed
    return {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}.get(signal.Signals(number), _HUNG_UP)


def _show(folder: str, tell: Tell, *, as_json: bool) -> int:
    found = members(os.environb)
    if as_json:
        runs = [_data(one) for one in found or ()]
        broker = None if found is None else place.holder(folder)
        document = {"format": "dsec.sharing/1", "broker": broker, "folder": folder, "runs": runs}
        emit(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    elif found is None:
        emit(tell(say("no broker: no run of yours uses GPUs here")) + "\n")
    else:
        sys.stdout.writelines(f"{tell(line)}\n" for line in _lines(found, folder))
    return NO if found is None else YES


def _data(one: Member) -> dict[str, object]:
    return {**one._asdict(), "waiting": [each._asdict() for each in one.waiting]}


def _lines(found: list[Member], folder: str) -> list[str]:
    lines: list[str] = [
        say(
            "broker: process {pid}, runs: {runs} ({folder})",
            pid=place.holder(folder),
            runs=len(found),
            folder=folder,
        )
    ]
    for one in found:
        facts = [
            say("GPUs: {gpus}", gpus=len(one.devices)),
            say("{hours} GPU-hours on its account", hours=f"{one.used_us / _US_PER_HOUR:.3f}"),
        ]
        if one.waiting:
            waiting, since = one.waiting[0], span(one.waiting[0].waited_us / 1e6)
            facts.append(say("has waited {time} for {gpus}", gpus=waiting.gpus, time=since))
        if not one.connected:
            facts.append(say("its executor is gone"))
        lines.append(say("{job}: {facts} ({path})", job=one.job, facts=joined(", ", facts), path=one.path))
        lines += [f"  {uuid}" for uuid in one.devices]
    return lines
