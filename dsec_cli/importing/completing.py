"""What a contract must say and the source did not: time limits, commands, the standing resources."""

from __future__ import annotations

from dsec_cli.importing.draft import Command, Draft, Gpu, Step
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec_cli.importing.notes import Notes

SECOND_NS = 10**9
_SCRIPTS = "run: scripts are read by bash, else by sh, and stop at the first command that fails"
MINUTE_NS = 60 * SECOND_NS
DAY_NS = 24 * 60 * MINUTE_NS
MOST = {
    "gpu": 10**6,
    "cpu_m": 10**9,
    "memory_bytes": 2**60,
    "disk_bytes": 2**60,
    "timeout_ns": 10**18,
    "expected_ns": 10**17,
}
TIMES = 10
"""A Step that took a minute is given ten before it is stopped."""
NO_COMMAND = ("sh", "-c", "echo 'the imported file has no command for this Step' >&2; exit 1")


def complete(draft: Draft, notes: Notes) -> Draft:
    """The draft with a command and a time limit for every Step, and needs on Steps that exist."""
    ids = {step.id for step in draft.steps}
    return draft._replace(steps=tuple(_step(step, ids, notes) for step in draft.steps))


def _bounded(step: Step, notes: Notes) -> Step:
    """The Step without demands that no machine could ever meet: slips of the pen, or malice."""
    dropped: dict[str, Any] = {}
    for field, most in MOST.items():
        value = getattr(step, field)
        amount = value.count if isinstance(value, Gpu) else value
        if amount is not None and amount > most:
            notes.taken(
                say(
                    "{partition}: left out where it is more than any machine has",
                    partition=field.partition("_")[0],
                )
            )
            dropped[field] = None
    return step._replace(**dropped)


def _step(step: Step, ids: set[str], notes: Notes) -> Step:
    step = _bounded(step, notes)
    needs = tuple(dict.fromkeys(need for need in step.needs if need in ids and need != step.id))
    if not any(step.command):
        notes.taken("run: a command that fails, where the file has none")
        step = step._replace(command=Command(argv=NO_COMMAND))
    if step.command.script:
        notes.taken(_SCRIPTS)
    return step._replace(needs=needs, timeout_ns=step.timeout_ns or _limit(step, notes))


def _limit(step: Step, notes: Notes) -> int:
    if step.expected_ns is None:
        notes.taken("timeout: 1d, where the file has no time limit")
        return DAY_NS
    notes.taken(say("timeout: {times} times what the Step took, at least 1m", times=TIMES))
    return -(-max(step.expected_ns * TIMES, MINUTE_NS) // MINUTE_NS) * MINUTE_NS


def standing_gpu(draft: Draft) -> Gpu | None:
    """The GPUs that the largest Step holds: the baseline; a Step that names a type comes first."""
    found = [step.gpu for step in draft.steps if step.gpu is not None and step.gpu.count]
    if not found:
        return None
    most = max(gpu.count for gpu in found)
    named = [gpu for gpu in found if gpu.type] or found
    best = max(named, key=lambda gpu: gpu.count)
    return best._replace(count=most)


def standing_cpu_m(draft: Draft) -> int:
    """Thousandths of a processor that the largest Step holds, at least one whole."""
    return max([1000, *(step.cpu_m for step in draft.steps if step.cpu_m)])


def standing_memory(draft: Draft) -> int | None:
    """Memory that the largest Step holds; None where none says."""
    return max((step.memory_bytes for step in draft.steps if step.memory_bytes), default=None)
