"""A simulation as one JSON document: the figures, and every attempt where they are few."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.simmeasures import Spread
    from dsec.core.simulated import Piece, Recovery
    from dsec_cli.simulation.played import Played

VERSION = 1
MOST_ATTEMPTS = 2000
"""Beyond this many attempts are counted, not listed; the trace has them all."""


def document(played: Played) -> str:
    """The document, with a version of its own."""
    found, use, manners = played.measures, played.measures.use, played.scene.manners
    body = {
        "version": VERSION,
        "title": played.title,
        "kind": played.kind,
        "seed": played.seed,
        "machines": [machine.name for machine in played.machines],
        "assumed": {
            "detect_ms": manners.detect_ms,
            "restore_ms": manners.restore_ms,
            "preempt": manners.preempt,
        },
        "makespan_ms": found.end_ms,
        "planned_ms": played.planned_ms,
        "steps": {"done": found.steps, "not_done": found.never},
        "jobs": {"all": found.jobs, "done": found.jobs_done},
        "use_permille": {
            "gpu": use.gpu,
            "gpu_shared": use.shared,
            "gpu_of_not_lost": use.gpu_there,
            "gpu_idle_workers": use.kept,
            "cpu": use.cpu,
            "gpu_over_time": list(use.over_time),
        },
        "waits_ms": _spread(found.waits),
        "job_waits_ms": _spread(found.job_waits),
        "job_times_ms": _spread(found.job_times),
        "hunger_permille": _spread(found.hunger),
        "hungry_steps": found.hungry,
        "stops": dict(found.stops),
        "done_again_ms": found.again_ms,
        "elastic": {"fewer": found.resized[0], "more": found.resized[1]},
        "workers_evicted": found.evicted,
        "cost_millionths": {"all": found.cost.all, "idle": found.cost.idle},
        "unpriced": list(found.cost.unpriced),
        "faults": [_recovery(one) for one in played.history.recoveries],
        **_attempts(played),
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _spread(spread: Spread) -> dict[str, int] | None:
    return spread._asdict() if spread.many else None


def _recovery(one: Recovery) -> dict[str, object]:
    waits = sorted(one.waits_ms)
    return {
        "fault": one.fault.text,
        "hit": one.hit,
        "never_again": one.open,
        "recovery_ms": {"median": waits[(len(waits) - 1) // 2], "longest": waits[-1]} if waits else None,
    }


def _attempts(played: Played) -> dict[str, object]:
    pieces = [piece for piece in played.history.pieces if piece.at not in played.scene.work.arrivals]
    if len(pieces) > MOST_ATTEMPTS:
        return {"attempts": len(pieces)}
    return {"attempts": len(pieces), "attempt": [_attempt(played, piece) for piece in pieces]}


def _attempt(played: Played, piece: Piece) -> dict[str, object]:
    return {
        "step": played.scene.work.steps[piece.at].id,
        "iteration": piece.iteration,
        "attempt": piece.attempt,
        "ready_ms": piece.ready_ms,
        "from_ms": piece.from_ms,
        "to_ms": piece.to_ms,
        "machine": played.machines[piece.machine].name,
        "devices": list(piece.devices),
        "outcome": piece.cause,
    }
