"""An anchor `&name` that no alias uses.

Why: An anchor is there to be used again. One that nobody uses is left over from an edit, or the
alias that should use it is misspelt or was written out by hand, and the copy will drift.

Bad (yaml):
    # ds_config.yaml
    steps:
      - &load {id: load, run: python load.py, timeout: 60s}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: load, run: python load.py, timeout: 60s}

Source: linters' users on anchors (actionlint and cfn-lint check for unused ones).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.source.tree import Alias, Mapping, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Node, Scalar

    Anchored = Scalar | Sequence | Mapping


def check(facts: Facts) -> Iterator[Finding]:
    """Anchored nodes that are no alias's target; nothing is said where part could not be read."""
    if "&" not in facts.text.text or facts.document.gaps:
        return
    anchored, used, unknown = _seen(facts.document.root)
    for node in anchored:
        if id(node) in used or node.anchor in unknown:
            continue
        start = facts.text.text.rfind(f"&{node.anchor}", 0, node.span.start + len(node.anchor or "") + 1)
        end = start + len(node.anchor or "") + 1
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=node.span._replace(start=start, end=end) if start >= 0 else node.span,
            message=say("the anchor &{name} is used by no alias", "unused", name=node.anchor),
            reason=say("a left-over anchor, or a misspelt alias: what was meant to be shared is not"),
            help=say("remove &{name}, or use *{name} where its value is repeated", name=node.anchor),
        )


def _seen(root: Node | None) -> tuple[list[Anchored], set[int], set[str]]:
    """Anchored nodes in document order, the ids of aliases' targets, and names that lead nowhere."""
    anchored: list[Anchored] = []
    used: set[int] = set()
    unknown: set[str] = set()
    waiting: list[Node] = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, Alias):
            if node.target is None:
                unknown.add(node.name)
            else:
                used.add(id(node.target))
            continue
        if node.anchor is not None:
            anchored.append(node)
        if isinstance(node, Sequence):
            waiting.extend(reversed(node.items))
        elif isinstance(node, Mapping):
            for entry in reversed(node.entries):
                waiting += [entry.value, entry.key]
    return anchored, used, unknown


RULE = Rule("DS011", "unused-anchor", Severity.WARNING, check, when=("&",))
