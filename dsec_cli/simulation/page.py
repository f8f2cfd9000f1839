"""A simulation of a plan as the page of its graph: the time line as planned, and as it was played."""

from __future__ import annotations

from statistics import median_low

from dsec.core.overlap import thousandths
from dsec_cli.dag.picture import device_name
from dsec_cli.dag.planpicture import picture_of_plan
from dsec_cli.dag.view import Bar, Observed, Run
from dsec_cli.dag.views.html import render
from dsec_cli.simulation.text import effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.simulated import Piece
    from dsec.plan import Plan, PlannedStep
    from dsec_cli.simulation.played import Played


def page(plan: Plan, played: Played) -> str:
    """The page; it loads nothing, as that of `ds-dag-analyze --output html`."""
    drawn = picture_of_plan(plan, _run(plan, played))
    return render(drawn._replace(iterations=played.scene.work.iterations.count))


def _run(plan: Plan, played: Played) -> Run:
    steps, [machine] = played.scene.work.steps, played.machines
    pieces: list[list[Piece]] = [[] for _ in steps]
    bars = []
    for piece in played.history.pieces:
        pieces[piece.at].append(piece)
        bars.append(
            Bar(
                steps[piece.at].id,
                piece.iteration,
                piece.attempt,
                piece.from_ms,
                piece.to_ms,
                piece.devices,
                piece.cause,
            )
        )
    span = played.measures.end_ms
    whole, rounds = span * len(machine.inventory.devices), played.scene.work.iterations.count
    return Run(
        job=plan.name,
        outcome="not all done" if played.history.never else "done",
        steps={
            step.id: _seen(step, of_step, rounds=rounds, whole=whole)
            for step, of_step in zip(steps, pieces, strict=True)
        },
        bars=tuple(sorted(bars, key=lambda bar: (bar.from_ms, bar.step, bar.iteration))),
        span_ms=span,
        devices=tuple((device.uuid, device_name(device)) for device in machine.inventory.devices),
        account=_account(played),
        simulated=True,
    )


def _seen(step: PlannedStep, pieces: Sequence[Piece], *, rounds: int, whole: int) -> Observed:
    """What became of one Step; `whole`: the time of all GPUs together."""
    ended = [piece for piece in pieces if piece.cause == "ok"]
    stopped = [piece for piece in pieces if piece.cause != "ok"]
    firsts = [piece.from_ms - piece.ready_ms for piece in pieces if piece.attempt == 1]
    held = sum((piece.to_ms - piece.from_ms) * len(piece.devices) for piece in pieces)
    gpu = held if step.demand.gpu_count else None
    return Observed(
        state="done" if len(ended) >= rounds else "failed" if stopped else "waiting",
        done=len(ended),
        attempts=len(pieces),
        median_ms=median_low([piece.to_ms - piece.from_ms for piece in ended]) if ended else None,
        retries=len(pieces) - len({piece.iteration for piece in pieces}),
        failures=len(stopped),
        cause=stopped[-1].cause if stopped else "",
        waited_ms=median_low(firsts) if firsts else None,
        gpu_ms=gpu,
        gpu_permille=thousandths(gpu, whole) if gpu is not None and whole else None,
    )


def _account(played: Played) -> dict[str, object] | None:
    """The faults that came, as what happened; None without any. Nothing of the rest was measured."""
    remarks = [
        {"at_ms": one.fault.at_ms, "kind": "fault", "text": f"{one.fault.text}: {effect(one)}"}
        for one in played.history.recoveries
    ]
    if not remarks:
        return None
    return {
        "wall_ms": played.measures.end_ms,
        "cpu_ms": None,
        "settlement": None,
        "heat": [],
        "curves": [],
        "failures": [],
        "more_failures": 0,
        "remarks": remarks,
        "contention": None,
    }
