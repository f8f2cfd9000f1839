"""`dsec status`: how far a run is, read from its journal; the executor is never asked."""

from __future__ import annotations

import json
import os
import time

from dsec.core import endings
from dsec.events import STANDING, Notice
from dsec.outcomes import recorded, state, why
from dsec.progress import instance, span
from dsec.quickplan import read_plan
from dsec.resume import is_alive, read_run
from dsec.words import joined, say
from dsec_cli.commands.statefolder import find
from dsec_cli.exit import YES, UsageError
from dsec_cli.report.output import emit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.core.fold import RunState
    from dsec.events import Exit
    from dsec.plan import Plan
    from dsec.resume import Told
    from dsec_cli.options import Args

_SHOWN = 40
_NOTICES = 10
"""The latest that are shown."""


def main(args: Args) -> int:
    """Print the state of the run named, or of the latest one."""
    run = find(os.getcwd(), os.environ, args.job)
    plan, read = read_plan(run.plan), read_run(run)
    found = describe(plan, read, now_ms=time.time_ns() // 1_000_000)
    reasons: list[str] = []
    if args.why:
        found["why"], reasons = _why(plan, read, args.why, path=run.path)
    if args.json:
        emit(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
    else:
        from dsec_cli.commands.speaking import listener

        tell = listener(args.lang)
        emit("".join(f"{tell(line)}\n" for line in (reasons or lines(found))))
    return YES


def _why(plan: Plan, read: Told, name: str, *, path: str) -> tuple[dict[str, Any], list[str]]:
    from dsec.broker.asked import members
    from dsec_cli.commands.reasoning import reasons

    names = [step.id for step in plan.steps]
    if name not in names:
        from dsec_cli.contract.suggest import nearest

        meant = nearest(name, names)
        hint = say("did you mean {name}?", name=meant.word) if meant else ""
        raise UsageError(say("the plan has no Step {name}", name=name), hint=hint)
    gpus = any(step.demand.gpu_count for step in plan.steps)
    alive = is_alive(read)
    sharing = (members(os.environb) or ()) if gpus and alive else ()
    dead = not alive and read.state.end is None
    return reasons(plan, read.state, name, path=path, sharing=sharing, dead=dead)


def describe(plan: Plan, told: Told, *, now_ms: int) -> dict[str, Any]:
    """The state as plain data."""
    state = told.state
    alive = is_alive(told)
    session = state.sessions[-1] if state.sessions else None
    begun_ms = session.wall_ms if session else now_ms
    retrying = endings.retrying(state) if alive else {}
    failed = endings.failed(state, alive=alive)
    timeouts = {step.id: step.timeout_ms for step in plan.steps}
    return {
        "job": told.header.job,
        "plan": told.header.plan,
        "state": word(told, alive=alive),
        "executor": session.pid if session and alive else None,
        "sessions": len(state.sessions),
        "begun_ms": told.header.wall_ms,
        "iterations": plan.iterations.count,
        "total": len(plan.steps) * plan.iterations.count,
        "done": len(state.finished),
        "failed": len(failed),
        "stopped": len(endings.stopped(state)),
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
        "retrying": [
            {
                **_failure(state, state.failed[at], timeouts),
                "attempt": one.attempt,
                "in_ms": max(0, begun_ms + one.at_us // 1000 + one.delay_ms - now_ms),
            }
            for at, one in retrying.items()
        ],
        "paused": [
            {"step": one.step, "iteration": one.iteration, "how": one.how, "reason": one.reason}
            for one in (state.paused.values() if alive else ())
        ],
        "devices": [
            {"device": one.device, "state": one.state, "reason": one.reason}
            for one in (state.devices.values() if alive else ())
            if one.state != "ok"
        ],
        "moved": [
            {"step": one.step, "iteration": one.iteration, "detail": one.detail}
            for one in state.remarks
            if isinstance(one, Notice) and one.kind == "moved"
        ],
        "cut_off": [] if alive else endings.cut_off(state),
        "failures": [_failure(state, end, timeouts) for end in failed.values()],
        "notices": [one._asdict() for one in state.remarks if isinstance(one, Notice)],
    }


def _failure(state: RunState, end: Exit, timeouts: dict[str, int]) -> dict[str, Any]:
    return {
        "step": end.step,
        "iteration": end.iteration,
        "cause": end.cause,
        "code": end.code,
        "text": why(end, timeouts[end.step]),
        "log": state.logs.get((end.step, end.iteration), ""),
    }


def word(told: Told, *, alive: bool) -> str:
    """`running`, `dead` (its executor is gone without a last word) or the outcome."""
    if told.state.end is not None:
        return told.state.end.outcome
    return "running" if alive else "dead"


def lines(found: dict[str, Any]) -> list[str]:
    """The state for people."""
    told: list[str] = [
        say(
            "{job}: {state}, {counts}",
            job=found["job"],
            state=state(found["state"]),
            counts=joined(", ", _counts(found)),
        )
    ]
    told += [_running(found, one) for one in found["running"][:_SHOWN]]
    told += [_waiting(found, one) for one in found["retrying"][:_SHOWN]]
    told += [_paused(found, one) for one in found["paused"][:_SHOWN]]
    told += [
        say(
            "  GPU {device} is {state}: {reason}",
            device=one["device"],
            state=state(one["state"]),
            reason=one["reason"],
        )
        for one in found["devices"][:_SHOWN]
    ]
    told += [
        say("  {step} {detail}", step=_called(found, one), detail=recorded(one["detail"]))
        for one in found["moved"][-_SHOWN:]
    ]
    told += [
        say("  {step} {why}", step=_called(found, one), why=one["text"]) for one in found["failures"][:_SHOWN]
    ]
    told += [
        say(
            "  {step} attempt {number} was cut off when the executor ended",
            step=_called(found, one),
            number=one["attempt"],
        )
        for one in found["cut_off"][:_SHOWN]
    ]
    told += [_noticed(found, one) for one in found["notices"][-_NOTICES:]]
    if found["state"] == "failed":
        told.append(
            say(
                "without a change it fails again; fix the cause and go on with: dsec resume {job}",
                job=found["job"],
            )
        )
    elif found["state"] in ("dead", "interrupted", "cancelled", "stopped"):
        told.append(say("go on with: dsec resume {job}", job=found["job"]))
    if any(endings.may_lie_in_plan(one["cause"], one["code"]) for one in found["failures"]):
        told.append(say("a run keeps its own plan: after a change of the contract start a new one: dsec run"))
    return told


def _counts(found: dict[str, Any]) -> list[str]:
    """How many instances are what; nothing is said of none."""
    counts: list[str] = [say("{done} of {total} done", done=found["done"], total=found["total"])]
    if found["failed"]:
        counts.append(say("{count} failed", count=found["failed"]))
    if found["stopped"]:
        counts.append(say("{count} stopped", count=found["stopped"]))
    if found["dropped"]:
        counts.append(say("{count} dropped", count=found["dropped"]))
    if found["retrying"]:
        counts.append(say("{count} waiting to retry", count=len(found["retrying"])))
    if found["cut_off"]:
        counts.append(say("{count} cut off", count=len(found["cut_off"])))
    return counts


def _running(found: dict[str, Any], one: dict[str, Any]) -> str:
    return say(
        "  {step}{again} running for {time}{devices} (pid {pid})",
        step=_called(found, one),
        again=say(" attempt {number}", number=one["attempt"]) if one["attempt"] > 1 else "",
        time=span(one["for_ms"] / 1000),
        devices=say(" on {devices}", devices=", ".join(one["devices"])) if one["devices"] else "",
        pid=one["pid"],
    )


def _paused(found: dict[str, Any], one: dict[str, Any]) -> str:
    step, reason = _called(found, one), recorded(one["reason"])
    if one["how"] in STANDING:
        return say("  {step} stands still: {reason}", step=step, reason=reason)
    if one["how"] == "saved":
        return say("  {step} saved its state and waits to go on: {reason}", step=step, reason=reason)
    return say("  {step} was ended and waits to start again: {reason}", step=step, reason=reason)


def _waiting(found: dict[str, Any], one: dict[str, Any]) -> str:
    step, why, number = _called(found, one), one["text"], one["attempt"]
    if not one["in_ms"]:
        return say(
            "  {step} {why}; waiting to retry (attempt {number}, as soon as there is room)",
            step=step,
            why=why,
            number=number,
        )
    return say(
        "  {step} {why}; waiting to retry (attempt {number} in {time})",
        step=step,
        why=why,
        number=number,
        time=span(one["in_ms"] / 1000),
    )


def _noticed(found: dict[str, Any], one: dict[str, Any]) -> str:
    detail = recorded(one["detail"])
    if not one["step"]:
        return say("  {detail}", detail=detail)
    return say("  {step}: {detail}", step=_called(found, one), detail=detail)


def _called(found: dict[str, Any], one: dict[str, Any]) -> str:
    return instance(one["step"], one["iteration"], of=found["iterations"])
