"""The graph as one JSON document, for programs: `dsec.dag/1`, keys are only ever added."""

from __future__ import annotations

import json as encoder

from dsec.codec import encode
from dsec_cli.dag.findings import cut_lines, edge_text
from dsec_cli.dag.view import Picture, View, cycles_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.overlap import Overlap
    from dsec_cli.dag.analysis import Analysis
    from dsec_cli.dag.cycles import Cut, Cycle
    from dsec_cli.dag.idle import Idle
    from dsec_cli.dag.use import Use
    from dsec_cli.dag.view import Run

FORMAT = "dsec.dag/1"


def render(picture: Picture) -> str:
    """Indented JSON with sorted keys; lists in document order."""
    document = {
        "format": FORMAT,
        "name": picture.title,
        "acyclic": not cycles_of(picture),
        "iterations": picture.iterations,
        "steps": _steps(picture),
        "edges": _edges(picture),
        "links": [encode(link) for link in picture.links],
        "cycles": [_cycle(picture, cycle) for cycle in cycles_of(picture)],
        "analysis": _analysis(picture, picture.analysis) if picture.analysis is not None else None,
        "run": _run(picture.run) if picture.run is not None else None,
    }
    return encoder.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _steps(picture: Picture) -> list[dict[str, object]]:
    found = picture.analysis
    critical = set(found.critical_path) if found is not None else set()
    return [
        {
            "id": step.id,
            "name": step.name,
            "level": picture.levels[at],
            "demand": encode(picture.demands[at]),
            "place": encode(picture.locate(step.path)),
            **(_times(found, at, at in critical) if found is not None else {}),
        }
        for at, step in enumerate(picture.graph.steps)
    ]


def _times(found: Analysis, at: int, critical: bool) -> dict[str, object]:
    return {
        "critical": critical,
        "estimate_ms": found.estimates[at].ms,
        "estimate_source": found.estimates[at].source,
        "rank_ms": found.ranks_ms[at],
        "upward_rank_ms": found.upward_ms[at],
        "earliest_start_ms": found.starts_ms[at],
        "slack_ms": found.slacks_ms[at],
        "start_ms": found.slices[at].start,
        "end_ms": found.slices[at].end,
    }


def _edges(picture: Picture) -> list[dict[str, object]]:
    cuts = set(picture.graph.cuts)
    return [
        {
            "source": edge.source,
            "target": edge.target,
            "kind": edge.kind,
            "via": edge.via or None,
            "carried": carried,
            "cut": edge in cuts,
            "place": encode(picture.locate(edge.path)),
        }
        for edges, carried in ((picture.graph.edges, False), (picture.graph.carried, True))
        for edge in edges
    ]


def _cycle(picture: Picture, cycle: Cycle) -> dict[str, object]:
    return {
        "members": list(cycle.members),
        "loop": [
            {
                "source": edge.source,
                "target": edge.target,
                "text": edge_text(edge),
                "place": encode(picture.locate(edge.path)),
            }
            for edge in cycle.loop
        ],
        "proposals": [_cut(cut) for cut in cycle.proposals],
        "remedy": [_cut(cut) for cut in cycle.remedy],
        "complete": cycle.complete,
    }


def _cut(cut: Cut) -> dict[str, object]:
    return {
        "source": cut.source,
        "target": cut.target,
        "breaks_all": cut.breaks_all,
        "reason": cut.reason,
        "add": list(cut_lines(cut._replace(readings=()))),
        "read": [{"path": list(one.path), "old": one.old, "new": one.instead} for one in cut.readings],
    }


def _analysis(picture: Picture, found: Analysis) -> dict[str, object]:
    ids = [step.id for step in picture.graph.steps]
    return {
        "basis": picture.basis,
        "levels": [[ids[at] for at in level] for level in found.levels],
        "critical_path": [ids[at] for at in found.critical_path],
        "critical_path_ms": found.critical_path_ms,
        "bounds_ms": dict(found.bounds_ms),
        "lower_bound_ms": found.lower_bound_ms,
        "makespan_ms": found.makespan_ms,
        "gpus": found.gpus,
        "gpu_idle_permille": found.gpu_idle_permille,
        "gpu_idle_because": [_idle(ids, one) for one in picture.idle],
        "use": {use.name: _use(use) for use in picture.uses},
        "overlap": _overlap(ids, found.overlap) if found.overlap is not None else None,
    }


def _idle(ids: list[str], one: Idle) -> dict[str, object]:
    return {"reason": one.reason, "gpu_ms": one.gpu_ms, "steps": [ids[at] for at in one.steps]}


def _use(use: Use) -> dict[str, object]:
    return {
        "levels": list(use.widths),
        "widest": use.width,
        "peak": use.peak,
        "available": use.available,
    }


def _overlap(ids: list[str], found: Overlap) -> dict[str, object]:
    loop = found.loop
    return {
        "total_ms": found.total,
        "period_ms": found.period,
        "gpu_idle_permille": found.gpu_idle_permille,
        "loop": [ids[at] for at in loop.path] if loop is not None else None,
        "loop_lag": loop.lag if loop is not None else None,
        "loop_period_ms": loop.period if loop is not None else None,
    }


def _run(run: Run) -> dict[str, object]:
    return {
        "job": run.job,
        "outcome": run.outcome,
        "steps": {name: dict(seen._asdict()) for name, seen in run.steps.items()},
    }


VIEW = View("json", render)
