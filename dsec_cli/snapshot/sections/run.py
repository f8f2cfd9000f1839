"""The run: its plan, how far it came, and the hashes of what it made."""

from __future__ import annotations

import os

from dsec.errors import DSecError, FileProblem
from dsec.rundir import fill
from dsec_cli.snapshot.manifest import ABSENT, START
from dsec_cli.snapshot.planned import plan_of
from dsec_cli.snapshot.section import Captured, Difference, Part, absent, judged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.core.fold import RunState
    from dsec.plan import Plan
    from dsec.rundir import RunDir
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Pair, Scene

MOST_RESULTS = 200


def capture(scene: Scene) -> Captured:
    """Take down what the run's plan and journal say."""
    if scene.run is None:
        return absent("there is no run here")
    try:
        plan = plan_of(scene)
        from dsec.resume import read_run  # only who has a run pays for reading one

        state = read_run(scene.run).state
    except DSecError as problem:
        return absent(str(problem.what))
    assert plan is not None, "a run has a plan"
    reasons: list[str] = []
    contents = _plan(scene)
    results = [] if scene.wanted.kind == START else _results(scene, plan, scene.run, reasons)
    data = {
        "job": scene.run.job,
        "plan": plan.hash,
        "contract": {"file": plan.contract_file, "hash": plan.contract_hash, "name": plan.name},
        "inventory": plan.inventory_hash,
        "iterations": plan.iterations.count,
        "outcome": state.end.outcome if state.end is not None else "unfinished",
        "steps": _steps(plan, state),
        "results": results,
    }
    return judged(reasons, data, contents=contents)


def _plan(scene: Scene) -> tuple[tuple[str, str], ...]:
    """The plan's file: as it is, or where it holds secrets without them (and then under another label)."""
    assert scene.run is not None, "asked for only with one"
    with open(scene.run.plan, "rb") as file:
        data = file.read()
    clean, found = scene.redactor.file(data, "plan.json")
    scene.redactions.extend(("plan", one) for one in found)
    return (("plan-redacted" if found else "plan", scene.store.put_bytes(clean)),)


def _steps(plan: Plan, state: RunState) -> list[Plain]:
    rows = []
    for step in plan.steps:
        tally = state.tallies.get(step.id)
        rows.append(
            {
                "id": step.id,
                "key": step.key,
                "attempts": tally.attempts if tally else 0,
                "failures": tally.failures if tally else 0,
            }
        )
    return rows


def _results(scene: Scene, plan: Plan, run: RunDir, reasons: list[str]) -> list[Plain]:
    """Hashes of the outputs of the last iteration that are there."""
    found: list[Plain] = []
    last = plan.iterations.count - 1
    for output in (output for step in plan.steps for output in step.outputs):
        path = fill(output, work=run.work, iteration=last)
        full = os.path.join(scene.folder, path)
        if len(found) >= MOST_RESULTS or not os.path.lexists(full):
            continue
        name = path.removeprefix(run.work).lstrip("/") if path.startswith(run.work) else path
        try:
            found.append({"path": name, "in_run": path.startswith(run.work), "hash": scene.hashes.of(full)})
        except FileProblem as problem:
            reasons.append(str(problem.what))
    return found


def compare(pair: Pair) -> Iterator[Difference]:
    """The plans, then what came out of them; the state of now has no results."""
    if ABSENT in (pair.before.status, pair.after.status) or pair.live:
        return
    one, two = pair.before.data, pair.after.data
    if one["plan"] != two["plan"]:
        before, after = ({row["id"]: row["key"] for row in data["steps"]} for data in (one, two))
        steps = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        told = f"Steps {', '.join(steps[:8])}" if steps else "the machine or the estimates"
        yield Difference("run", "changed", "plan", one["plan"][:16], f"{two['plan'][:16]} ({told})", 35)
    if one["outcome"] != two["outcome"]:
        yield Difference("run", "changed", "outcome", one["outcome"], two["outcome"], 30)
    yield from results(one["results"], two["results"])


def results(one: list[Plain], two: list[Plain]) -> Iterator[Difference]:
    """What a run made, against what another made."""
    before, after = ({row["path"]: row["hash"] for row in rows} for rows in (one, two))
    for name in sorted({*before} & {*after}):
        if before[name] != after[name]:
            yield Difference("run", "changed", f"result {name}", before[name][:23], after[name][:23], 50)


PART = Part("run", "run", 90, capture, compare)
