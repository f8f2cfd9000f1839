"""A version without quotes that YAML reads as a number.

Why: To a YAML reader `1.10` without quotes is the number 1.1, and `1.2` is a number and not a text.
DSec takes the text as it is written, but other tools that read the same file do not.

Bad (yaml):
    # agent-train-sandbox.yaml
    version: 1.10
    base: deepseek/dsec-python311-cu121:1.4.0

Good (yaml):
    # agent-train-sandbox.yaml
    version: "1.10.0"
    base: deepseek/dsec-python311-cu121:1.4.0

Source: seed B section 2 (`version: 1.2`), seed A section 2.2 (versions are semantic).
"""

from __future__ import annotations

from dsec.versions import coerced, reads_as_float
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.source.tree import Scalar, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Path


def check(facts: Facts) -> Iterator[Finding]:
    """Every `version` of the contract, its dependencies and its plugins."""
    for path in _versions(facts):
        node = facts.node(path)
        if not isinstance(node, Scalar) or node.style != "plain" or not reads_as_float(node.text):
            continue
        found = Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=path,
            message=say(
                "version {text} has no quotes, so YAML reads the number {text2}",
                "version-quotes-so",
                text=node.text,
                text2=_number(node.text),
            ),
            reason=say("tools that read this file as plain YAML see a number, and 1.10 becomes 1.1"),
            help=_advice(facts, path, node.text),
        )
        from dsec_cli.lint.edits import quoted  # only a finding pays for them
        from dsec_cli.lint.mend import with_fix

        title = say("put quotes around {version}", version=node.text)
        yield with_fix(found, title, quoted(facts, path), safe=True)


def _advice(facts: Facts, path: Path, text: str) -> str:
    """Quotes, and for all but packages the parts that a semantic version lacks."""
    meant = coerced(text)
    if meant and not facts.states((*path[:-1], "package")):
        return say('write "{meant}": in quotes, as MAJOR.MINOR.PATCH', meant=meant)
    return say('write "{text}" in quotes', text=text)


def _versions(facts: Facts) -> Iterator[Path]:
    yield ("version",)
    for section in ("dependencies", "plugins"):
        entries = facts.node((section,))
        if isinstance(entries, Sequence):
            for at in range(len(entries.items)):
                yield (section, at, "version")


def _number(text: str) -> str:
    return f"{float(text):g}"


RULE = Rule("DS103", "version-reads-as-number", Severity.WARNING, check, when=("odd-version",))
