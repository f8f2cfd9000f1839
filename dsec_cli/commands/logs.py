"""`dsec logs`: what the attempts of a run printed."""

from __future__ import annotations

import os
import time

from dsec import holes
from dsec.containment import open_beneath
from dsec.core import endings
from dsec.errors import RunProblem
from dsec.events import Exit, Spawn, decode
from dsec.journal import read
from dsec.progress import instance
from dsec.resume import is_alive, read_run
from dsec_cli.commands.printing import Part, printer
from dsec_cli.commands.speaking import listener
from dsec_cli.commands.statefolder import find
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.words import joined, say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.events import Event
    from dsec.plan import Plan
    from dsec.rundir import RunDir
    from dsec_cli.commands.printing import Printer
    from dsec_cli.options import Args

_PIECE = 1 << 16
_SHOWN_REASONS = 3


def main(args: Args) -> int:
    """Print the logs of a run, a Step or one iteration of it; `-f` goes on until the run ends."""
    run = find(os.getcwd(), os.environ, args.job)
    parts = [part for part in parts_of(_events(run)) if _wanted(part, args)]
    if not parts:
        _explain_nothing(run, args)
    out = printer(args.grep, single=len(parts) == 1, tell=listener(args.lang))
    shown: dict[tuple[str, int, int], int] = {}
    for part in parts:
        out.begin(part)
        shown[part[:3]] = _copy(run, part, out)
        out.end()
    if args.follow:
        _follow(run, args, shown, out)
    return YES if out.any else NO


def _events(run: RunDir) -> Iterable[Event]:
    with open(run.journal, "rb") as file:
        recorded = read(file.read(), name=run.journal)
    return map(decode, recorded.payloads[1:])


def parts_of(events: Iterable[Event]) -> list[Part]:
    """Where the output of each attempt lies, in the order in which they began."""
    begun: dict[tuple[str, int, int], Part] = {}
    ends: dict[str, int] = {}
    for event in events:
        if isinstance(event, Spawn):
            begin = ends.get(event.log, 0) if event.worker else 0
            part = Part(event.step, event.iteration, event.attempt, event.log, begin, None)
            begun[event.step, event.iteration, event.attempt] = part
        elif isinstance(event, Exit):
            key = (event.step, event.iteration, event.attempt)
            if key in begun and event.log_from is not None and event.log_to is not None:
                ends[begun[key].path] = event.log_to
                begun[key] = begun[key]._replace(begin=event.log_from, end=event.log_to)
    return list(begun.values())


def _wanted(part: Part, args: Args) -> bool:
    if args.step is not None and part.step != args.step:
        return False
    return args.iteration is None or part.iteration == args.iteration


def _explain_nothing(run: RunDir, args: Args) -> None:
    from dsec.quickplan import read_plan

    plan = read_plan(run.plan)
    ids = [step.id for step in plan.steps]
    if args.step is not None and args.step not in ids:
        raise UsageError(
            say("run {job} has no Step {step!r}", job=run.job, step=args.step),
            hint=say("Steps: {ids}", ids=", ".join(ids[:12])),
        )
    last = plan.iterations.count - 1
    if args.iteration is not None and args.iteration > last:
        raise UsageError(
            say("run {job} has no iteration {iteration}", job=run.job, iteration=args.iteration),
            hint=say("iterations: 0 to {last}", last=last),
        )
    if args.follow:
        return
    if told := _not_begun(run, plan, args):
        raise RunProblem(told, hint=say("dsec report {job} shows it all", job=run.job))
    when = "" if args.iteration is None else say(" for iteration {number}", number=args.iteration)
    if args.step is None:
        raise RunProblem(say("no Step has started in run {job}{when}", job=run.job, when=when))
    raise RunProblem(
        say("{step} has not started in run {job}{when}", step=args.step, job=run.job, when=when),
        hint=say("dsec status {job} --why {step} says why", job=run.job, step=args.step),
    )


def _not_begun(run: RunDir, plan: Plan, args: Args) -> str:
    """Why what is asked for printed nothing, where it could not start or was dropped; "": it still waits."""
    state, many = read_run(run).state, plan.iterations.count
    told = [*endings.told(plan, state, state.failed), *endings.dropped(state)]
    found = [
        say("{step} {why}", step=instance(one["step"], one["iteration"], of=many), why=one["text"])
        for one in told
        if args.step in (None, one["step"]) and args.iteration in (None, one["iteration"])
    ]
    return joined("; ", found[:_SHOWN_REASONS])


def _copy(run: RunDir, part: Part, out: Printer, *, begin: int | None = None) -> int:
    """Write the part out; gives back where it ended in its file."""
    at = part.begin if begin is None else begin
    try:
        handle = open_beneath(run.path, part.path)  # the journal, which names it, may be anybody's
    except FileNotFoundError:
        return at
    except OSError as problem:
        raise RunProblem(
            say("{path} is not shown: {why}", path=f"{run.path}/{part.path}", why=system(problem)),
            hint="a run's files are within its folder; copy the run anew: cp -r",
        ) from None
    try:
        size = os.fstat(handle).st_size
        end = size if part.end is None else min(size, part.end)
        for first, last, given_back in holes.parts(handle, at, end):
            if given_back:
                out.missing(last - first)
                continue
            at = first
            while at < last and (piece := os.pread(handle, min(_PIECE, last - at), at)):
                out.write(piece)
                at += len(piece)
    finally:
        os.close(handle)
    return max(at, end)


def _follow(run: RunDir, args: Args, seen: dict[tuple[str, int, int], int], out: Printer) -> None:
    """Print what is added, and attempts that begin, until the executor is gone.

    `seen`: how far each attempt's output was shown.
    """
    while True:
        over = not is_alive(read_run(run))
        for part in parts_of(_events(run)):
            if not _wanted(part, args):
                continue
            if part[:3] not in seen:
                out.begin(part)
            begin = seen.get(part[:3], part.begin)
            more = part.end is None or begin < part.end
            seen[part[:3]] = _copy(run, part, out, begin=begin) if more else begin
        if over:
            out.end()
            return
        time.sleep(0.2)
