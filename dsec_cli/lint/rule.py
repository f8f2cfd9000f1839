"""What a lint rule is, what it is given, and the few questions that most rules ask."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.discovery import instances
from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.tree import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dsec.inventory import Inventory
    from dsec_cli.contract.values import Contract
    from dsec_cli.lint.suppress import Suppression
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Document, Node, Path, Scalar, Tree

TEXT, DOCUMENT, AFTER = "text", "document", "after"
"""A rule runs once per text, once per document, or once when all other findings are known."""


class Crash(Record):
    """A rule that raised instead of answering."""

    code: str
    name: str
    error: str


class Facts(Record):
    """All that is known about one document of a text; a rule decides from nothing else."""

    text: SourceText
    tree: Tree
    document: Document
    contract: Contract
    structural: tuple[Finding, ...]
    """What `contract.build` could not accept."""
    inventory: Inventory | None
    file_name: str
    codes: frozenset[str]
    """Codes of all rules there are."""
    suppressions: tuple[Suppression, ...]
    unused: tuple[Suppression, ...] = ()
    """Suppressions that matched no finding; filled for rules that run afterwards, like `crashes`."""
    crashes: tuple[Crash, ...] = ()

    def node(self, path: Path) -> Scalar | Sequence | Mapping | None:
        """What stands at `path`, through aliases and merge keys; None where nothing does."""
        here = follow(self.document.root)
        for part in path:
            here = follow(_child(here, part))
        return here

    def states(self, path: Path) -> bool:
        """Whether `path` is stated at all, rightly or wrongly."""
        return self.node(path) is not None


def _child(node: Node | None, part: str | int) -> Node | None:
    if isinstance(node, Mapping):
        return next((pair.value for pair in pairs(node) if pair.key == part), None)
    if isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
        return node.items[part]
    return None


class Rule(Record):
    """One question about a contract; its module's docstring is its documentation page."""

    code: str
    name: str
    severity: Severity
    check: Callable[[Facts], Iterable[Finding]]
    scope: str = DOCUMENT


def find_rules() -> tuple[Rule, ...]:
    """Every rule there is, by code; a file in `lint/rules/` with a `Rule` value is one."""
    return tuple(sorted(instances("dsec_cli.lint.rules", Rule), key=lambda rule: rule.code))


def structural(facts: Facts, code: str) -> Iterator[Finding]:
    """The findings of `code` that building the contract has already made."""
    return (finding for finding in facts.structural if finding.code == code)


def problems(facts: Facts, code: str, severity: Severity) -> Iterator[Finding]:
    """What the reader of the text could not accept, as findings of `code`."""
    for problem in facts.tree.problems:
        if problem.code == code:
            yield Finding(
                code=code,
                severity=severity,
                where=problem.span,
                message=problem.message,
                help=problem.help,
                related=tuple(Related(span, label) for span, label in problem.related),
            )
