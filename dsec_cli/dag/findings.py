"""What a graph's cycles and useless cuts are called, in lint and in `ds-dag-analyze` alike."""

from __future__ import annotations

from dsec_cli.dag.cycles import Cut, Cycle, Cycles, Order
from dsec_cli.dag.graph import Edge, MisplacedCut, StepGraph
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.words import joined, say

_SHOWN = 12
"""Steps of a loop that are spelled out; a longer one is shortened in the middle."""
MOST_EDGES = 100
"""Edges of a loop that are pointed at; of a longer one only its first ones."""
MOST_TOLD = 100
"""Cycles that are told one by one; the others are counted."""
_CUTS = 4
"""Cuts that are spelled out."""


def loop_text(cycle: Cycle) -> str:
    """`S1 -> S2 -> S3 -> S1`: each Step waits for the one before it."""
    names = [edge.source for edge in cycle.loop]
    if len(names) > _SHOWN:
        left_out = len(names) - _SHOWN
        names = [*names[: _SHOWN - 2], say("({count} more)", count=left_out), *names[-2:]]
    return joined(" -> ", [*names, cycle.loop[0].source])


def edge_text(edge: Edge) -> str:
    """What the contract says where the edge is stated."""
    if edge.kind == "data":
        return say(
            "{target} reads {via}, which {source} writes",
            target=edge.target,
            via=edge.via,
            source=edge.source,
        )
    if edge.kind == "communication":
        protocol = say(" over {via}", via=edge.via) if edge.via else ""
        return say(
            "{source} sends to {target}{protocol}", source=edge.source, target=edge.target, protocol=protocol
        )
    return say("{target} needs {source}", target=edge.target, source=edge.source)


def cut_lines(cut: Cut) -> tuple[str, ...]:
    """What stands in Step `cut.target` when the cycle is broken there."""
    lines = ("break_cycle: true", f"break_point: {cut.source}") if cut.breaks else ()
    return (*lines, *(f"inputs: {reading.instead}" for reading in cut.readings))


def cut_text(cut: Cut) -> str:
    """One proposal as an instruction."""
    lines = cut_lines(cut._replace(readings=()))
    told = [
        say(
            "let Step {target} read {instead} instead of {old}",
            target=cut.target,
            instead=one.instead,
            old=one.old,
        )
        for one in cut.readings
    ]
    if lines:
        first, second = lines
        told.insert(
            0, say("add to Step {target}: {first}, {second}", target=cut.target, first=first, second=second)
        )
    return joined("; ", told)


def cycle_findings(result: Order | Cycles) -> tuple[Finding, ...]:
    """DS503, one per component, and one for those beyond `MOST_TOLD`; none for an order."""
    if isinstance(result, Order):
        return ()
    told = [_cycle_finding(cycle) for cycle in result.found[:MOST_TOLD]]
    if len(result.found) > MOST_TOLD:
        told.append(_others_finding(result.found[MOST_TOLD:]))
    return tuple(told)


def cut_findings(graph: StepGraph) -> tuple[Finding, ...]:
    """DS504, one per `break_cycle` or `break_point` that cannot do what it says."""
    return tuple(_cut_finding(misplaced) for misplaced in graph.misplaced)


def _cycle_finding(cycle: Cycle) -> Finding:
    best = cycle.proposals[0]
    where = next(edge for edge in cycle.loop if (edge.source, edge.target) == (best.source, best.target))
    return Finding(
        code="DS503",
        severity=Severity.ERROR,
        where=where.path,
        message=say("cycle: {cycle}", "cycle", cycle=loop_text(cycle)),
        reason=_reason(cycle),
        help=_help(cycle),
        related=tuple(Related(edge.path, edge_text(edge)) for edge in cycle.loop[:MOST_EDGES]),
    )


def _others_finding(others: tuple[Cycle, ...]) -> Finding:
    first = others[0].loop[-1]
    return Finding(
        code="DS503",
        severity=Severity.ERROR,
        where=first.path,
        message=say(
            "{count} more cycles, the first through Step {step}",
            "others",
            count=len(others),
            step=first.target,
        ),
        reason=say("the first {most} are told one by one", most=MOST_TOLD),
        help=say("break those first, or see them all with: ds-dag-analyze --output json"),
    )


def _reason(cycle: Cycle) -> str:
    if len(cycle.members) == 1:
        return say("{members} waits for itself, so it can never start", members=cycle.members[0])
    others = len(cycle.members) - len(cycle.loop)
    more = ""
    if others == 1:
        more = say("; 1 more Step is tied into it by other loops")
    elif others:
        more = say("; {others} more Steps are tied into it by other loops", others=others)
    return say("each Step waits for the one before it, so none can start{more}", more=more)


def _help(cycle: Cycle) -> str:
    """The remedy, and what it means for the Steps that then read an earlier iteration."""
    best = cycle.proposals[0]
    shown = [cut_text(cut) for cut in cycle.remedy[:_CUTS]]
    if len(cycle.remedy) > _CUTS:
        shown.append(say("and {count} more cuts", count=len(cycle.remedy) - _CUTS))
    if not cycle.complete:
        shown.append(remains_text(cycle))
    return say(
        "{lines} ({target} then reads what {source} left an iteration earlier; this edge {why})",
        lines=joined("; ", shown),
        target=best.target,
        source=best.source,
        why=best.reason,
    )


def remains_text(cycle: Cycle) -> str:
    """What a remedy that is not complete leaves behind."""
    if len(cycle.remedy) == 1:
        return say("other loops remain after that cut")
    return say("loops remain after these {count} cuts", count=len(cycle.remedy))


def _cut_finding(misplaced: MisplacedCut) -> Finding:
    if misplaced.instead:
        return Finding(
            code="DS504",
            severity=Severity.ERROR,
            where=misplaced.path,
            message=misplaced.problem,
            reason=say("the Step would find no such file in any iteration"),
            help=_instead(misplaced),
        )
    could = ", ".join(misplaced.candidates)
    one = len(misplaced.candidates) == 1
    word = say("break_point could be") if one else say("break_point could be one of")
    return Finding(
        code="DS504",
        severity=Severity.ERROR,
        where=misplaced.path,
        message=misplaced.problem,
        reason=say("a cut that cuts nothing hides a graph other than the one meant"),
        help=say("{word} {could}", word=word, could=could)
        if could
        else say("remove it from Step {step}", step=misplaced.step),
    )


def _instead(misplaced: MisplacedCut) -> str:
    if misplaced.is_useless:
        return say(
            "write {instead} without break_cycle and break_point, and let the command read that file",
            instead=misplaced.instead,
        )
    return say("write {instead}, and let the command read that file", instead=misplaced.instead)
