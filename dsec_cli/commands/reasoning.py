"""`dsec status --why STEP`: why a Step waits, and its hunger with the numbers it is made of."""

from __future__ import annotations

import os

from dsec.core.hunger import HUNGRY, LONG_US
from dsec.core.why import why
from dsec.outcomes import state as state_word
from dsec.progress import instance, span
from dsec.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dsec.broker.asked import Member
    from dsec.core.fold import RunState
    from dsec.core.why import Holder, Why
    from dsec.plan import Plan

_SHOWN = 12
_NAMED = 4


def reasons(
    plan: Plan, state: RunState, name: str, *, path: str, sharing: Sequence[Member] = (), dead: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """As data, and in lines; `sharing`: the runs that share this machine, that in `path` among them.

    `dead`: the executor is gone without an end.
    """
    others = [one for one in sharing if one.path != path]
    found = why(plan, state, name, elsewhere={uuid for one in others for uuid in one.devices}, dead=dead)
    data = {**_data(found), "other_runs": [_member(one) for one in others]}
    if dead and found.state != "done":
        gone = say("  the run's executor is gone: dsec resume {job} goes on", job=os.path.basename(path))
        return data, [*_lines(found, plan.iterations.count, [], hungry=False), gone]
    if found.state != "ready" or not found.gpus_asked:
        return data, _lines(found, plan.iterations.count, [])
    me = next((one for one in sharing if one.path == path), None)
    return data, _lines(found, plan.iterations.count, [*_elsewhere(me, others)])


def _member(one: Member) -> dict[str, Any]:
    return {**one._asdict(), "waiting": [each._asdict() for each in one.waiting]}


def _elsewhere(me: Member | None, others: Sequence[Member]) -> Iterator[str]:
    """Which runs have GPUs, and whose turn it is."""
    for one in others:
        if one.devices and one.connected:
            yield say(
                "  run {job} has {gpus} GPUs ({path})", job=one.job, gpus=len(one.devices), path=one.path
            )
        elif one.devices:
            yield say(
                "  {gpus} GPUs come back when nothing is left of run {job} ({path})",
                job=one.job,
                gpus=len(one.devices),
                path=one.path,
            )
    if me is not None and me.waiting:
        before = sum(bool(one.waiting) and one.used_us < me.used_us for one in others)
        time = span(me.waiting[0].waited_us / 1e6)
        if before:
            yield say(
                "  it has waited {time}; {before} runs that have had less GPU time come first",
                time=time,
                before=before,
            )
        else:
            yield say("  it has waited {time} and comes next", time=time)


def _data(found: Why) -> dict[str, Any]:
    return {
        **found._asdict(),
        "missing": [list(one) for one in found.missing],
        "first": [list(one) for one in found.first],
        "appetite": found.appetite._asdict(),
        "holders": [one._asdict() for one in found.holders],
        "out_of_service": dict(found.out_of_service),
    }


def _lines(found: Why, count: int, elsewhere: list[str], *, hungry: bool = True) -> list[str]:
    if found.state == "done":
        return [say("{step}: every instance is done", step=found.step)]
    called = instance(found.step, found.iteration, of=count)
    lines: list[str] = [say("{step}: {state}", step=called, state=state_word(found.state))]
    if found.obstacle:
        lines.append(say("  {what}", what=found.obstacle))
    if found.state == "ready":
        lines += [*_room(found, count), *elsewhere]
    return lines + _hunger(found) if hungry else lines


def _room(found: Why, count: int) -> list[str]:
    """Who has what it asks for."""
    lines = _order(found, count)
    for one in found.holders[:_SHOWN]:
        step = instance(one.step, one.iteration, of=count)
        if one.stands_still:
            lines.append(say("  {step} stands still and keeps {gpus} GPUs", step=step, gpus=one.gpus))
        elif one.gpus:
            lines.append(
                say("  {step} runs on {gpus} GPUs{level}", step=step, gpus=one.gpus, level=_level(one))
            )
        else:
            lines.append(say("  {step} runs{level}", step=step, level=_level(one)))
    lines += [
        say("  GPU {device} is out of service: {state}", device=uuid, state=state_word(state))
        for uuid, state in found.out_of_service
    ]
    return lines


def _level(one: Holder) -> str:
    return "" if one.level == "pauseable" else f" ({one.level})"


def _order(found: Why, count: int) -> list[str]:
    """What its level means for its turn."""
    lines: list[str] = []
    if found.level == "critical":
        lines.append(say("  it is critical: running Steps that are not make room where they can"))
    if found.first:
        names = [instance(step, at, of=count) for step, at in found.first[:_NAMED]]
        if len(found.first) > _NAMED:
            names.append(say("{count} more", count=len(found.first) - _NAMED))
        lines.append(
            say(
                "  before it: {steps} (critical Steps and what they need go first, discardable ones last)",
                steps=joined(", ", names),
            )
        )
    return lines


def _hunger(found: Why) -> list[str]:
    """The formula with its numbers."""
    one = found.appetite
    return [
        say(
            "  hunger {hunger} = d x (q + 1 - r) / 2, with d = {done} of {needs} needs done, "
            "q = {waiting} waiting of {open}, r = {granted} of {asked} granted",
            hunger=f"{found.hunger / 1000:.3f}",
            done=one.needs_done,
            needs=one.needs,
            waiting=one.waiting,
            open=one.waiting + one.running,
            granted=one.granted,
            asked=one.asked,
        ),
        say(
            "  above {mark} for {minutes} minutes it goes first and others make room",
            mark=f"{HUNGRY / 1000:g}",
            minutes=LONG_US // 60_000_000,
        ),
    ]
