"""The next iteration overwrites a file while this one may still use it.

Why: Iterations overlap as far as edges, `max_staleness` and `in_flight` permit. A file without
`{iteration}` in its name is one file for all of them: a Step of the next iteration writes it again before
the readers of this one have finished, and they compute with the wrong data. Nothing fails.

Bad (yaml):
    # ds_config.yaml
    iterations: {count: 3, max_staleness: 2}
    steps:
      - {id: sample, run: python sample.py, timeout: 60s, outputs: ["{run}/batch"]}
      - {id: train, run: python train.py, timeout: 60s, inputs: ["{run}/batch"]}

Good (yaml):
    # ds_config.yaml
    iterations: {count: 3, max_staleness: 2}
    steps:
      - {id: sample, run: python sample.py, timeout: 60s, outputs: ["{run}/batch-{iteration}"]}
      - {id: train, run: python train.py, timeout: 60s, inputs: ["{run}/batch-{iteration}"]}

Source: the scheduler's own rule: what one Step writes and another reads is ordered within an iteration;
across iterations only a carried edge, or `in_flight: 1`, orders them.
"""

from __future__ import annotations

from dsec.core.paths import normal
from dsec.record import Record
from dsec_cli.dag.paths import Outputs
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Iterations, Step
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.source.tree import Path

MOST = 100
"""Writers that are followed through the graph; nobody reads more findings of one kind."""


class _Use(Record):
    """A Step that reads or writes a file, and where it says so."""

    step: str
    path: Path
    reads: bool


def check(facts: Facts) -> Iterator[Finding]:
    """Outputs that have one name in all iterations."""
    iterations = facts.contract.iterations
    if iterations is None or iterations.count < 2 or iterations.in_flight < 2:
        return
    steps = facts.contract.steps
    fixed = [(step, *one) for step in steps for one in step.outputs if _fixed(one[1])]
    users = _users(steps) if fixed else {}
    shared = [
        (step, path, text)
        for step, path, text in fixed
        if any(use.step != step.id for use in users.get(normal(text), ()))
    ]
    if not shared:
        return
    times = _Times(facts.graph(), iterations)
    for step, path, text in shared[:MOST]:
        late = [
            use
            for use in users[normal(text)]
            if use.step != step.id and use.step not in times.done_before_next(step.id)
        ]
        if late:
            yield _fixed_by_order(facts, _finding(step, path, text, late, iterations))


def _fixed(text: str) -> bool:
    return "{iteration}" not in text and "{previous}" not in text


def _users(steps: tuple[Step, ...]) -> dict[str, list[_Use]]:
    """Per output without an iteration, the Steps that write it or read it."""
    found: dict[str, list[_Use]] = {}
    for step in steps:
        for path, text in step.outputs:
            users = found.setdefault(normal(text), []) if _fixed(text) else []
            if not text.endswith("/"):  # a folder is made for many
                users.append(_Use(step.id, path, reads=False))
    outputs = Outputs(steps)
    for step in steps:
        for path, text in step.inputs:
            if _fixed(text) and outputs.writers(text):
                for output in _touched(normal(text), found):
                    found[output].append(_Use(step.id, path, reads=True))
    return found


def _touched(name: str, outputs: dict[str, list[_Use]]) -> list[str]:
    """The outputs that are the path itself, a folder around it, or in it."""
    parts = name.split("/")
    around = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
    inside = [output for output in outputs if output.startswith(f"{name}/")] if len(outputs) <= MOST else []
    return [*(one for one in around if one in outputs), *inside]


class _Times:
    """Which Steps are done before a Step of the next iteration starts."""

    def __init__(self, graph: StepGraph, iterations: Iterations) -> None:
        self._graph = graph
        self._before: list[list[int]] = [[] for _ in graph.steps]
        for at, after in enumerate(graph.successors):
            for other in after:
                self._before[other].append(at)
        self._carried: list[list[int]] = [[] for _ in graph.steps]
        if iterations.max_staleness == 0:  # with more, an edge reaches past the next iteration
            for edge in graph.carried:
                self._carried[graph.numbers[edge.target]].append(graph.numbers[edge.source])
        self._known: dict[str, frozenset[str]] = {}

    def done_before_next(self, step: str) -> frozenset[str]:
        """Steps of an iteration that are over when `step` of the one after it starts."""
        if step not in self._known:
            here = self._reached([self._graph.numbers[step]])
            earlier = [*here, *(source for at in here for source in self._carried[at])]
            names = [one.id for one in self._graph.steps]
            self._known[step] = frozenset(names[at] for at in self._reached(earlier))
        return self._known[step]

    def _reached(self, starts: list[int]) -> set[int]:
        seen, waiting = set(starts), list(starts)
        while waiting:
            for at in self._before[waiting.pop()]:
                if at not in seen:
                    seen.add(at)
                    waiting.append(at)
        return seen


def _finding(step: Step, path: Path, text: str, late: list[_Use], iterations: Iterations) -> Finding:
    first = late[0]
    verb = say("reads") if first.reads else say("writes")
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=path,
        message=say(
            "Step {step} of the next iteration overwrites {text} while {user} of this one still {verb} it",
            "overwrites",
            step=step.id,
            text=text,
            user=first.step,
            verb=verb,
        ),
        reason=say(
            "up to {count} iterations overlap (iterations.in_flight, by default max_staleness + 2), "
            "and this file has one name in all of them",
            count=min(iterations.in_flight, iterations.count),
        ),
        help=say(
            "write {named} here, in the commands and where it is read; or set iterations.in_flight: 1",
            named=_named(text),
        ),
        related=tuple(
            Related(use.path, say("{step} {verb} it here", step=use.step, verb=verb)) for use in late[:3]
        ),
    )


def _named(text: str) -> str:
    """The path with the iteration in its last part: `{run}/policy-{iteration}.npz`."""
    folder, slash, name = text.rstrip("/").rpartition("/")
    end = "/" if text.endswith("/") else ""
    stem, dot, suffix = name.partition(".") if not name.startswith((".", "{")) else (name, "", "")
    return f"{folder}{slash}{stem}-{{iteration}}{dot}{suffix}{end}"


def _fixed_by_order(facts: Facts, found: Finding) -> Finding:
    """The finding with the fix that keeps iterations apart; the other way changes commands, too."""
    from dsec_cli.lint.mend import with_entry, with_value  # only a finding pays for it

    where: Path = ("iterations",)
    if facts.states((*where, "in_flight")):
        return with_value(facts, found, (*where, "in_flight"), 1)
    return with_entry(facts, found, where, "in_flight", 1)


RULE = Rule("DS521", "output-overwritten", Severity.ERROR, check, when=("iterations", "output"))
