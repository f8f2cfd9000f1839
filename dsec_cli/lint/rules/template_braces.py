"""The text holds template braces `{{ ... }}`: it is the template of a contract, not a contract.

Why: Unquoted, the braces are a YAML mapping inside a mapping and the file means something nobody
wrote. Render the template first and lint the result, or quote the value if the braces belong to it.

Bad (yaml):
    # ds_config.yaml
    data_source: {{ store }}/autodrive-v3

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a

Source: robustness; no seed.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import TEXT, Facts, Rule, problems
from dsec_cli.source.tree import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Node


def check(facts: Facts) -> Iterator[Finding]:
    """Braces that break the syntax, and `{{ name }}` that happens to be YAML: a mapping as a key."""
    yield from problems(facts, RULE.code, RULE.severity)
    for document in facts.tree.documents:
        for node in _braces(document.root):
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=node.span,
                message="`{{ ... }}` is a template's placeholder, and YAML reads a mapping in its place",
                reason="this is the template of a contract, not a contract",
                help="render the template first and lint the result, or quote the value",
            )


def _braces(root: Node | None) -> Iterator[Mapping]:
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, Sequence):
            waiting.extend(node.items)
        elif isinstance(node, Mapping):
            waiting.extend(entry.value for entry in node.entries)
            if node.flow and node.entries and _doubled(node):
                yield node


def _doubled(node: Mapping) -> bool:
    """Whether the mapping's first key is a mapping in braces that opens right behind its own."""
    key = node.entries[0].key
    return isinstance(key, Mapping) and key.flow and key.span.start == node.span.start + 1


RULE = Rule("DS009", "template-braces", Severity.ERROR, check, TEXT)
