"""`dsec doctor`: what earlier runs left on this machine, and their end."""

from __future__ import annotations

import json
import os
import sys

from dsec import cgroups, orphans
from dsec_cli.commands.speaking import listener
from dsec_cli.doctor.check import find_checks
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.check import Answer, Check
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell

_GRACE_S = 2.0


def main(args: Args) -> int:
    """Ask every check, or end what is left."""
    tell = listener(args.lang)
    if args.reap:
        return _reap(tell, sure=args.yes)
    if args.yes:
        raise UsageError(say("--yes answers what --reap asks"), hint="dsec doctor --reap --yes")
    answers = [(check, check.look()) for check in find_checks()]
    sys.stdout.write(_document(answers) if args.json else _text(answers, tell))
    return YES if all(answer.status == "ok" for _, answer in answers) else NO


def _text(answers: list[tuple[Check, Answer]], tell: Tell) -> str:
    lines: list[str] = []
    for check, answer in answers:
        first, *rest = map(tell, answer.lines)
        lines += [f"{check.name}: {first}", *rest]
        if answer.mend:
            lines.append(tell(answer.mend))
    return "".join(f"{line}\n" for line in lines)


def _document(answers: list[tuple[Check, Answer]]) -> str:
    checks = [
        {
            "name": check.name,
            "status": answer.status,
            "lines": list(map(str, answer.lines)),
            "mend": answer.mend,
        }
        for check, answer in answers
    ]
    return json.dumps({"format": "dsec.doctor/1", "checks": checks}, ensure_ascii=False, indent=2) + "\n"


def _reap(tell: Tell, *, sure: bool) -> int:
    """Show what is left, ask, and end it."""
    from dsec_cli.doctor.checks.orphans import device_memory, told

    lefts, empty = orphans.find(), orphans.empty_cgroups(os.environb)
    answer = told(lefts, empty, held=device_memory)
    sys.stdout.write("".join(f"{tell(line)}\n" for line in answer.lines))
    if answer.status == "ok":
        return YES
    if not sure and not _agreed(tell):
        return NO
    stubborn = orphans.end(lefts, grace_s=_GRACE_S)
    kept = [path for path in empty if not cgroups.remove(path)]
    for process in stubborn:
        sys.stdout.write(tell(say("process {pid} could not be ended", pid=process.pid)) + "\n")
    if stubborn or kept:
        return NO
    sys.stdout.write(tell(say("nothing is left")) + "\n")
    return YES


def _agreed(tell: Tell) -> bool:
    """Whether whoever sits there says yes; where nobody sits nothing is ended."""
    if not sys.stdin.isatty():
        sys.stdout.write(tell(say("nothing was ended: --yes ends them without asking")) + "\n")
        return False
    sys.stdout.write(tell(say("End them? [y/N] ")))
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
