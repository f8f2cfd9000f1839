"""`dsec doctor`: whether this machine is fit for runs, what earlier ones left on it, and their end."""

from __future__ import annotations

import contextlib
import os
import sys

from dsec import cgroups, orphans
from dsec.errors import DSecError, FileProblem
from dsec.wholefile import write_whole
from dsec_cli.commands.speaking import listener
from dsec_cli.commands.statefolder import home
from dsec_cli.doctor.check import find_checks
from dsec_cli.doctor.examining import examine
from dsec_cli.doctor.host import Host
from dsec_cli.doctor.requiring import chosen, code_of
from dsec_cli.doctor.telling import document, text
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.report.output import emit, to_stderr
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.doctor.check import Check
    from dsec_cli.doctor.gpufacts import Gpus
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell

_GRACE_S = 2.0
_LARGEST = 64 << 20


def main(args: Args) -> int:
    """Ask every check, or end what is left."""
    tell = listener(args.lang)
    if args.reap:
        if args.fix or args.json or args.only or args.require or args.smi is not None:
            raise UsageError(
                say("--reap ends what is left, and looks at nothing else"), hint="dsec doctor --reap --yes"
            )
        return _reap(tell, sure=args.yes)
    if args.yes:
        raise UsageError(say("--yes answers what --reap asks"), hint="dsec doctor --reap --yes")
    if args.fix and args.smi is not None:
        raise UsageError(say("--fix mends this machine, --smi judges another one's output"))
    host = Host(os.environ, home(os.getcwd(), os.environ), gpus=_facts(args.smi))
    checks = find_checks()
    required = chosen(checks, args.require)
    asked = _asked(checks, args, required)
    found = examine(asked, host)
    if args.fix:
        done = _fixed([one.check for one in found if one.answer.status in ("problem", "note")], host, tell)
        found = examine(asked, host) if done else found
    said = document(found, required)
    if not args.only and args.smi is None:
        _keep(host.folder, said)
    emit(said if args.json else text(found, required, tell=tell, width=_width()))
    short = next((one.short for one in found if one.short is not None), None)
    if short is not None:  # what was found is printed; whether all is well could not be found out
        raise DSecError(short[0], hint=short[1])
    return code_of(found, required)


def _asked(checks: Sequence[Check], args: Args, required: frozenset[str]) -> tuple[Check, ...]:
    """What is asked: all, those of --only, or those that another machine's output can answer."""
    only = chosen(checks, args.only)
    asked = [check for check in checks if not only or check.name in only | required]
    return tuple(check for check in asked if args.smi is None or check.of_gpus)


def _facts(path: str | None) -> Gpus | None:
    """The GPUs' facts in saved output; None: this machine is asked."""
    if path is None:
        return None
    from dsec_cli.doctor.smifacts import read

    try:
        if path == "-":
            return read(sys.stdin.buffer.read(_LARGEST).decode("utf-8", "replace"), where="<stdin>")
        with open(path, "rb") as file:
            return read(file.read(_LARGEST).decode("utf-8", "replace"), where=path)
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint="nvidia-smi -q > machine.txt"
        ) from None


def _keep(state: str, said: str) -> None:
    """Leave the report where snapshots of runs find it; where there are no runs yet it is left out."""
    if os.path.isdir(state):
        with contextlib.suppress(OSError):  # a report that cannot be kept is no reason to give no report
            write_whole(os.path.join(state, "doctor.json"), [said.encode()], durable=False)


def _fixed(checks: Sequence[Check], host: Host, tell: Tell) -> bool:
    """Mend what harms nothing; whether anything was tried."""
    tried = False
    for check in checks:
        if check.fix is not None:
            to_stderr(f"{check.name}: {tell(check.fix(host))}\n")
            tried = True
    return tried


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((100, 24)).columns


def _reap(tell: Tell, *, sure: bool) -> int:
    """Show what is left, ask, and end it."""
    from dsec_cli.doctor.checks.orphans import device_memory, told

    lefts, empty = orphans.find(), orphans.empty_cgroups(os.environb)
    answer = told(lefts, empty, held=device_memory)
    emit("".join(f"{tell(line)}\n" for line in answer.lines))
    if answer.status == "ok":
        return YES
    if not sure and not _agreed(tell):
        return NO
    stubborn = orphans.end(lefts, grace_s=_GRACE_S)
    kept = [path for path in empty if not cgroups.remove(path)]
    for process in stubborn:
        emit(tell(say("process {pid} could not be ended", pid=process.pid)) + "\n")
    if stubborn or kept:
        return NO
    emit(tell(say("nothing is left")) + "\n")
    return YES


def _agreed(tell: Tell) -> bool:
    """Whether whoever sits there says yes; where nobody sits nothing is ended."""
    if not sys.stdin.isatty():
        emit(tell(say("nothing was ended: --yes ends them without asking")) + "\n")
        return False
    emit(tell(say("End them? [y/N] ")))
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
