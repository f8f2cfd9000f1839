"""`--durations`: what Steps took, from a run, a plan, a trace or a file of learned durations."""

from __future__ import annotations

import json
import os
from statistics import median_low

from dsec.durations import MOST_MS
from dsec.errors import FileProblem, StoredFormError
from dsec_cli.exit import UsageError
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

DECLARED = "declared"
"""Asks for what the contract declares, whatever earlier runs took."""
_LARGEST = 256 * 2**20


def durations_of(spec: str, steps: Collection[str], *, folder: str) -> dict[str, int]:
    """Milliseconds by Step id; `spec` is a job, a run's folder, or a file. Raises DSecError."""
    found = _of_file(spec, steps) if os.path.isfile(spec) else _of_run(spec, folder)
    known = {step: ms for step, ms in found.items() if _is_of(step, steps)}
    if not known:
        raise UsageError(
            say("--durations {spec}: it has no duration of a Step of this contract", spec=spec),
            hint=say("name a run, plan or trace of the same Steps"),
        )
    return known


def _is_of(step: str, steps: Collection[str]) -> bool:
    """Whether it is one of the Steps or a part of one: these are called `S2.0`, `S2.all-reduce`."""
    return step in steps or step.rpartition(".")[0] in steps


def _of_run(job: str, folder: str) -> dict[str, int]:
    """Medians of the attempts that succeeded."""
    from dsec_cli.commands.overlay import overlay

    steps = overlay(job, folder=folder, environ=os.environ).run.steps
    return {step: seen.median_ms for step, seen in steps.items() if seen.median_ms is not None}


def _of_file(path: str, steps: Collection[str]) -> dict[str, int]:
    """Where durations of several contracts are kept, those of the one with most of these Steps."""
    data = _read(path)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise _not_understood(path) from None
    if not isinstance(document, dict):
        raise _not_understood(path)
    if str(document.get("format", "")).startswith("dsec.plan/"):
        from dsec.planfile import parse_plan

        steps_ = parse_plan(data, where=path).steps
        return {step.id: step.estimate_ms for step in steps_ if 0 <= step.estimate_ms <= MOST_MS}
    if "traceEvents" in document:
        return _of_trace(document["traceEvents"])
    if "contracts" in document or "steps" in document:
        from dsec.durations import parse_durations

        kept = parse_durations(data, where=path).values()
        most = max(kept, key=lambda one: sum(_is_of(step, steps) for step in one), default={})
        return {step: every[0].ms for step, every in most.items()}
    raise _not_understood(path)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as problem:
        raise FileProblem(f"{path}: {problem.strerror}", hint=say("name a run, a plan or a trace")) from None
    if len(data) > _LARGEST:
        raise StoredFormError(say("{path} is larger than {most} MiB", path=path, most=_LARGEST >> 20))
    return data


def _not_understood(path: str) -> StoredFormError:
    return StoredFormError(
        say("{path} is no plan, no trace and no file of learned durations", path=path),
        hint=say("dsec plan -o writes a plan, dsec dag --output trace a trace"),
    )


def _of_trace(events: object) -> dict[str, int]:
    """Medians of complete events by name; of a run where there is one (process 2), else as planned."""
    found: dict[int, dict[str, list[int]]] = {}
    for event in events if isinstance(events, list) else ():
        one = _complete(event)
        if one is not None:
            process, name, ms = one
            found.setdefault(process, {}).setdefault(name, []).append(ms)
    chosen: Mapping[str, list[int]] = found[max(found)] if found else {}
    return {name: median_low(times) for name, times in chosen.items()}


def _complete(event: object) -> tuple[int, str, int] | None:
    """Process, name and milliseconds of an event that ended well; None for any other."""
    if (
        not isinstance(event, dict)
        or event.get("ph") != "X"
        or event.get("cat") in ("failed", "lost", "running")
    ):
        return None
    name, process, lasted = event.get("name"), event.get("pid"), event.get("dur")
    if not isinstance(name, str) or type(process) is not int:
        return None
    if not isinstance(lasted, int | float) or isinstance(lasted, bool) or not 0 <= lasted / 1000 <= MOST_MS:
        return None
    return process, name, int(lasted) // 1000
