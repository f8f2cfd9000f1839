"""`dsec simulate`: a contract, a plan or a fleet on a simulated clock, with faults where they are wanted."""

from __future__ import annotations

from dsec.core.planscene import of_plan
from dsec.core.simmeasures import measure
from dsec.core.simulated import Manners
from dsec.core.simulation import simulate
from dsec.units import Duration, UnitProblem, parse
from dsec_cli.commands.outlook import Planned, outlook
from dsec_cli.commands.pipeline import Refused, show
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.report.output import emit
from dsec_cli.simulation.document import document
from dsec_cli.simulation.faults import faults_of
from dsec_cli.simulation.played import Played
from dsec_cli.simulation.prices import prices_of
from dsec_cli.simulation.scenes import of_fleet
from dsec_cli.simulation.text import render
from dsec_cli.simulation.trace import trace
from dsec_cli.simulation.values import Fleet, Machine
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Play, measure and show; exit 1 where something was refused or never done."""
    if args.file == "-":
        raise UsageError(
            "a simulation needs a file, not standard input", hint="name a contract, plan or fleet"
        )
    if args.iterations is not None and not 1 <= args.iterations <= 1_000_000:
        raise UsageError("--iterations must be from 1 to 1000000")
    found = outlook(args.file, args.inventory)
    if isinstance(found, Refused):
        show(found, args.lang)
        return NO
    played = _of_fleet(args, found) if isinstance(found, Fleet) else _of_plan(args, found)
    if args.html is not None and isinstance(found, Planned):
        from dsec_cli.simulation.page import page

        emit(page(found.plan, played), args.html)
    if args.trace is not None:
        emit(trace(played), args.trace)
    emit(document(played) if args.json else render(played, listener(args.lang)), args.output)
    return NO if played.history.never else YES


def _of_fleet(args: Args, fleet: Fleet) -> Played:
    for name in ("inventory", "iterations"):
        if getattr(args, name) is not None:
            raise UsageError(
                say("--{name} is for contracts and plans: a fleet states its own", name=name),
                hint="change the fleet's file",
            )
    if args.html is not None:
        raise UsageError(
            "--html draws the graph of a contract or a plan: a fleet has none",
            hint="--trace FILE has every attempt of every agent",
        )
    fleet = fleet._replace(
        seed=fleet.seed if args.seed is None else args.seed,
        hold=fleet.hold if args.hold is None else args.hold,
    )
    scene = of_fleet(fleet._replace(manners=_manners(args, fleet.manners)))
    scene = scene._replace(faults=faults_of((*fleet.faults, *args.fault), scene.work, fleet.machines))
    prices = {**dict(fleet.prices), **prices_of(args.price)}
    history = simulate(scene)
    return Played(
        fleet.name, "fleet", scene, fleet.machines, history, measure(scene, history, prices), None, fleet.seed
    )


def _of_plan(args: Args, found: Planned) -> Played:
    plan, other = found
    for name in ("seed", "hold"):
        if getattr(args, name) is not None:
            raise UsageError(
                say("--{name} is for fleets: a plan's Steps take what is expected of them", name=name),
                hint="dsec simulate --help",
            )
    scene = of_plan(plan, iterations=args.iterations, manners=_manners(args, Manners()), other=other)
    machine = Machine("machine", scene.machines[0])
    scene = scene._replace(faults=faults_of(args.fault, scene.work, (machine,)))
    history = simulate(scene)
    alike = scene.work.iterations.count == 1 and not scene.faults and other is None and not scene.work.spans
    return Played(
        plan.name,
        "plan",
        scene,
        (machine,),
        history,
        measure(scene, history, prices_of(args.price)),
        plan.analysis.makespan_ms if alike else None,
        None,
    )


def _manners(args: Args, stated: Manners) -> Manners:
    """What is assumed, as the command line has it."""
    return stated._replace(
        detect_ms=_ms("detect", args.detect) if args.detect else stated.detect_ms,
        restore_ms=_ms("restore", args.restore) if args.restore else stated.restore_ms,
    )


def _ms(name: str, text: str) -> int:
    try:
        return parse(Duration, text).ms
    except UnitProblem as problem:
        raise UsageError(
            say("--{name} {text}: {reason}", name=name, text=text, reason=problem.reason),
            hint=say("write a time, such as {text}", text="5s"),
        ) from None
