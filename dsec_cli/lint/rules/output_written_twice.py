"""Two Steps write the same file, and nothing says which one first.

Why: Steps that do not wait for each other run side by side, in an order that differs from run to
run. What stands in the file then is the work of whoever came last, or half of each; who reads it
cannot tell. One Step that rewrites what another wrote is fine when it waits for it.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: left, run: python left.py, outputs: ["{run}/policy.npz"], timeout: 60s}
      - {id: right, run: python right.py, outputs: ["{run}/policy.npz"], timeout: 60s}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: left, run: python left.py, outputs: ["{run}/policy.npz"], timeout: 60s}
      - {id: right, run: python right.py, needs: [left], outputs: ["{run}/policy.npz"], timeout: 60s}

Source: SPEC A5 (a file that two Steps write leads to both of them).
"""

from __future__ import annotations

from itertools import pairwise

from dsec.core.paths import normal
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.source.tree import Path

    Writer = tuple[str, Path]
    """A Step's id, and where it states the output."""

MOST = 100
"""Writers of one file that are looked at; nobody reads more findings of one kind."""


def check(facts: Facts) -> Iterator[Finding]:
    """Outputs of two Steps of which neither waits for the other."""
    shared = {text: some for text, some in _writers(facts.contract.steps).items() if len(some) > 1}
    if not shared:
        return
    graph = facts.graph()
    for text, writers in shared.items():
        for first, second in pairwise(writers[:MOST]):
            if not _ordered(graph, first[0], second[0]):
                yield _finding(text, first, second)


def _writers(steps: tuple[Step, ...]) -> dict[str, list[Writer]]:
    """Per file, the Steps that write it, each once; a folder (`out/`) is made for many."""
    found: dict[str, list[Writer]] = {}
    for step in steps:
        for path, text in step.outputs:
            writers = found.setdefault(normal(text), [])
            if not text.endswith("/") and (not writers or writers[-1][0] != step.id):
                writers.append((step.id, path))
    return found


def _ordered(graph: StepGraph, one: str, other: str) -> bool:
    """Whether one of the two Steps waits for the other, over however many Steps."""
    left, right = graph.numbers[one], graph.numbers[other]
    return left == right or _leads(graph, left, right) or _leads(graph, right, left)


def _leads(graph: StepGraph, start: int, end: int) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        for after in graph.successors[waiting.pop()]:
            if after == end:
                return True
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return False


def _finding(text: str, first: Writer, second: Writer) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=second[1],
        message=say(
            "{first} and {second} both write {text}, and neither waits for the other",
            "both-write-neither",
            first=first[0],
            second=second[0],
            text=text,
        ),
        reason=say("whoever ends last decides what is in the file"),
        help=say(
            "add `needs: [{first}]` to Step {second}, or let each write a file of its own",
            first=first[0],
            second=second[0],
        ),
        related=(Related(first[1], say("{first} writes it here", first=first[0])),),
    )


RULE = Rule("DS513", "output-written-twice", Severity.WARNING, check, when=("output",))
