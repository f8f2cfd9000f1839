"""`dsec status`: how far a run is, read from its journal; the executor is never asked."""

from __future__ import annotations

import json
import os
import sys
import time

from dsec.outcomes import words
from dsec.progress import span
from dsec.quickplan import read_plan
from dsec.resume import is_alive, read_run
from dsec.rundir import find
from dsec_cli.exit import YES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.plan import Plan
    from dsec.resume import Told
    from dsec_cli.options import Args

_SHOWN = 40


def main(args: Args) -> int:
    """Print the state of the run named, or of the latest one."""
    run = find(os.getcwd(), os.environ, args.job)
    found = describe(read_plan(run.plan), read_run(run), now_ms=time.time_ns() // 1_000_000)
    if args.json:
        sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines(found)))
    return YES


def describe(plan: Plan, told: Told, *, now_ms: int) -> dict[str, Any]:
    """The state as plain data."""
    state = told.state
    alive = is_alive(told)
    session = state.sessions[-1] if state.sessions else None
    failed = {at: end for at, end in state.failed.items() if end.cause != "interrupted"}
    begun_ms = session.wall_ms if session else now_ms
    return {
        "job": told.header.job,
        "plan": told.header.plan,
        "state": word(told, alive=alive),
        "executor": session.pid if session and alive else None,
        "sessions": len(state.sessions),
        "begun_ms": told.header.wall_ms,
        "total": len(plan.steps) * plan.iterations.count,
        "done": len(state.finished),
        "failed": len(failed),
        "stopped": len(state.failed) - len(failed),
        "dropped": len(state.dropped),
        "running": [
            {
                "step": one.step,
                "iteration": one.iteration,
                "attempt": one.attempt,
                "pid": one.pid,
                "devices": list(one.devices),
                "for_ms": max(0, now_ms - begun_ms - one.at_us // 1000),
            }
            for one in (state.running.values() if alive else ())
        ],
        "failures": [
            {
                "step": step,
                "iteration": iteration,
                "text": words(end.cause, code=end.code, signal=end.signal, detail=end.detail),
                "log": state.logs.get((step, iteration), ""),
            }
            for (step, iteration), end in failed.items()
        ],
    }


def word(told: Told, *, alive: bool) -> str:
    """`running`, `dead` (its executor is gone without a last word) or the outcome."""
    if told.state.end is not None:
        return told.state.end.outcome
    return "running" if alive else "dead"


def lines(found: dict[str, Any]) -> list[str]:
    """The state for people."""
    counts = [f"{found['done']} of {found['total']} done"]
    counts += [f"{found[name]} {name}" for name in ("failed", "stopped", "dropped") if found[name]]
    told = [f"{found['job']}: {found['state']}, {', '.join(counts)}"]
    for one in found["running"][:_SHOWN]:
        again = f" attempt {one['attempt']}" if one["attempt"] > 1 else ""
        devices = f" on {', '.join(one['devices'])}" if one["devices"] else ""
        told.append(
            f"  {one['step']}@{one['iteration']}{again} running for {span(one['for_ms'] / 1000)}{devices}"
            f" (pid {one['pid']})"
        )
    told += [f"  {one['step']}@{one['iteration']} {one['text']}" for one in found["failures"][:_SHOWN]]
    if found["state"] in ("dead", "interrupted", "cancelled", "stopped", "failed"):
        told.append(f"go on with: dsec resume {found['job']}")
    return told
